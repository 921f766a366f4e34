/** User data of unrealistic size or depth. */
import { describe, expect, it } from '@jest/globals';
import type { EC2NodeClass } from '#api/objects';
import { silent } from '#observe/logger';
import { familyOf } from '../../../../src/aws/amis/families.ts';
import { type Bootstrap, InvalidUserData } from '../../../../src/aws/userdata/input.ts';
import { renderUserData } from '../../../../src/aws/userdata/userdata.ts';
import { nodeClassOf } from '../../../support/awsobjects.ts';
import { withinCpuTime } from '../../../support/cpu-time.ts';

const bootstrap = (custom: string): Bootstrap => ({
  cluster: { name: 'test', endpoint: 'https://test', caBundle: 'YQ==', dnsIp: undefined },
  cidr: '10.100.0.0/16',
  labels: {},
  taints: [],
  kubelet: {},
  rawKubelet: {},
  custom,
  raid0: false,
});
const family = (amiFamily: NonNullable<EC2NodeClass['spec']['amiFamily']>) =>
  familyOf(nodeClassOf('test', { amiFamily }));
const DEPTH = 30_000;

describe.each(['AL2023', 'AL2', 'Bottlerocket', 'Windows2022', 'Custom'] as const)('user data of %s', (name) => {
  it('is rejected if it is far larger than the limit of EC2', () => {
    const render = () => renderUserData(family(name), bootstrap('x: 1\n'.repeat(100_000)), silent);
    expect(render).toThrow(new InvalidUserData('it has 500000 characters, but EC2 allows 16384 bytes'));
  });

  it.each([
    ['nested lists', `a: ${'['.repeat(DEPTH)}`],
    ['nested tables', `a = ${'{ a = '.repeat(DEPTH / 6)}`],
    ['aliases of aliases', ['a: &a [x]', 'b: &b [*a,*a]', 'c: &c [*b,*b]', 'd: [*c,*c]'].join('\n')],
    ['headers', `Content-Type: multipart/mixed; boundary="a"\n${' x\n'.repeat(DEPTH / 2)}`],
    [
      'white space',
      `Content-Type: multipart/mixed; boundary=a\n\n--a\nContent-Transfer-Encoding: quoted-printable\n\n${' '.repeat(DEPTH)}x`,
    ],
  ])('is rendered with %s, or rejected as user data', (_, custom) => {
    withinCpuTime(5_000, () => {
      try {
        expect(typeof renderUserData(family(name), bootstrap(custom), silent)).toBe('string');
      } catch (error) {
        expect(error).toBeInstanceOf(InvalidUserData);
      }
    });
  });
});

describe('user data of AL2023', () => {
  const render = (custom: string) => () => renderUserData(family('AL2023'), bootstrap(custom), silent);

  it('is not parsed if it has more bytes than EC2 accepts', () => {
    expect(render(`a: ${'['.repeat(16_382)}`)).toThrow(
      'parsing custom UserData, it has 16385 bytes, but EC2 allows 16384',
    );
    expect(render(`a: ${'x'.repeat(16_381)}`)).not.toThrow();
  });
});
