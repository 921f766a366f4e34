import { describe, expect, it } from '@jest/globals';
import type { PoolOfferings } from '#aws/instance-types';
import { describeCommand as described, everyCommand, wholeProgram } from '#cli/testing';
import type { MoveView } from '#controllers/testing';
import { OUTPUTS } from '../../../scripts/reference/outputs/catalogue.ts';
import { strictly } from './strictly.ts';

const schemaOf = (name: string) => OUTPUTS.find((each) => each.name === name)?.schema;

const move: MoveView = {
  id: '1',
  command: 'delete: [node-a]',
  method: 'emptiness',
  decision: 'delete',
  state: 'undone',
  startedAt: '2026-06-03T10:00:00Z',
  endsAt: '2026-06-03T10:30:00Z',
  nodePools: ['default'],
  workloads: ['default/Deployment/web'],
  undone: { at: '2026-06-03T10:10:00Z', because: 'bought-again', nodeClaim: 'default-x' },
  predictedUsdPerHour: 0.1,
  predictedUsd: 0.05,
  realisedUsd: -0.002,
};

const offerings: PoolOfferings = {
  nodePool: 'default',
  nodeClass: 'default',
  available: 3,
  out: [
    {
      instanceType: 'm5.large',
      zone: 'a',
      capacityType: 'spot',
      code: 'insufficient-capacity',
      until: '2026-06-03T11:00:00Z',
    },
  ],
  minValuesMissed: ['karpenter.k8s.aws/instance-family'],
};

describe('a schema of an output', () => {
  it('exists for every command that prints JSON', () => {
    const printing = async (): Promise<readonly string[]> =>
      everyCommand(described(await wholeProgram()))
        .filter(({ options }) => options.some(({ long, choices }) => long === '--output' && choices.includes('json')))
        .map(({ path }) => path.slice(1).join(' '));
    return expect(
      printing().then((verbs) => verbs.filter((verb) => !OUTPUTS.some((each) => each.verb === verb))),
    ).resolves.toEqual([]);
  });

  it.each([
    ['moves', [move]],
    ['offerings', [offerings]],
    ['doctor', [{ level: 'warning', subject: 'ec2:DescribeSubnets', message: 'is denied', fix: 'allow it' }]],
  ])('accepts the printed output of %s', (name, value) => {
    expect(strictly(schemaOf(name), value)).toEqual([]);
  });

  it.each([
    ['moves', [{ ...move, surprise: 1 }], /surprise|additional/],
    ['moves', [{ ...move, state: 'odd' }], /\/0\/state/],
    ['offerings', { ...offerings }, /array/],
    ['nothing', [], /no such schema/],
  ])('rejects invalid output of %s', (name, value, message) => {
    expect(strictly(schemaOf(name), value).join('; ')).toMatch(message);
  });
});
