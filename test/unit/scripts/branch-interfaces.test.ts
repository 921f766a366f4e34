/** The generator of the table of branch network interfaces, with AWS's table as formatted by gofmt. */
import { describe, expect, it } from '@jest/globals';
import { BRANCH_INTERFACES } from '#aws/testing';
import { branchLimits, branchTable } from '../../../scripts/branch-interfaces.ts';

const entry = (type: string, trunking: boolean, limit: number): string => `	"${type}": {
		Interface:               4,
		IPv4PerInterface:        15,
		IsTrunkingCompatible:    ${trunking},
		BranchInterface:         ${limit},
		DefaultNetworkCardIndex: 0,
		NetworkCards: []NetworkCard{
			{
				MaximumNetworkInterfaces: 4,
				NetworkCardIndex:         0,
			},
		},
		Hypervisor:  "nitro",
		IsBareMetal: false,
	},
`;
const source = (...entries: readonly string[]): string =>
  `package vpc\n\nvar Limits = map[string]*VPCLimits{\n${entries.join('')}}\n`;

describe('the table of branch network interfaces', () => {
  it('contains the types that support trunking, by family and size', () => {
    const limits = branchLimits(
      source(
        entry('m7i-flex.large', true, 3),
        entry('c5.2xlarge', true, 38),
        entry('c5.large', true, 9),
        entry('c4.large', false, 0),
        entry('t3.large', false, 35),
        entry('c8g.metal-24xl', true, 107),
      ),
    );
    expect(branchTable(limits, '1.2.3')).toContain(
      "= {\n  c5: 'large:9 2xlarge:38',\n  c8g: 'metal-24xl:107',\n  'm7i-flex': 'large:3',\n};\n",
    );
  });

  it('does not change if it is generated from itself', () => {
    const entries = Object.entries(BRANCH_INTERFACES).flatMap(([family, sizes]) =>
      sizes.split(' ').map((pair) => {
        const [size = '', limit] = pair.split(':');
        return entry(`${family}.${size}`, true, Number(limit));
      }),
    );
    const limits = branchLimits(source(...entries.reverse()));
    const written = Object.fromEntries(
      [...branchTable(limits, '').matchAll(/^ {2}'?([\w-]+)'?: '(.*)',$/gm)].map(([, family = '', sizes]) => [
        family,
        sizes,
      ]),
    );
    expect(written).toEqual(BRANCH_INTERFACES);
  });
});
