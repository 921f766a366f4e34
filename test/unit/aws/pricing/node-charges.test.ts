import { describe, expect, it } from '@jest/globals';
import type { EC2NodeClass } from '#api/objects';
import { familyOf } from '../../../../src/aws/amis/families.ts';
import { nodeCharges } from '../../../../src/aws/pricing/node-charges.ts';

type Spec = Partial<EC2NodeClass['spec']>;
type Ebs = NonNullable<NonNullable<Spec['blockDeviceMappings']>[number]['ebs']>;

const chargesOf = (spec: Spec, publicShare = 0, amiFamily = 'AL2023') => {
  const nodeClass = { spec: { amiFamily, amiSelectorTerms: [], ...spec } } as unknown as EC2NodeClass;
  return nodeCharges(nodeClass, familyOf(nodeClass), publicShare);
};
const monthly = (...volumes: readonly Ebs[]): number =>
  chargesOf({ blockDeviceMappings: volumes.map((ebs) => ({ deviceName: '/dev/xvda', ebs })) }).volumesUsdPerHour * 730;

describe('the sum of AWS charges for a node besides its instance', () => {
  it.each<[string, Ebs, number]>([
    ['gp3 with what is included', { volumeType: 'gp3', volumeSize: '100Gi', iops: 3000, throughput: 125 }, 8],
    ['gp3 with more', { volumeType: 'gp3', volumeSize: '100Gi', iops: 5000, throughput: 225 }, 8 + 10 + 4],
    ['gp2', { volumeType: 'gp2', volumeSize: '100Gi' }, 10],
    ['no type, which EC2 takes for gp2', { volumeSize: '100Gi' }, 10],
    ['io1', { volumeType: 'io1', volumeSize: '10Gi', iops: 1000 }, 1.25 + 65],
    ['io2 beyond both steps', { volumeType: 'io2', volumeSize: '10Gi', iops: 70_000 }, 1.25 + 2080 + 1456 + 191.1],
    ['a size of a part of a GiB', { volumeType: 'gp3', volumeSize: '19.5Gi' }, 1.6],
    ['a snapshot of unknown size', { volumeType: 'gp3', snapshotID: 'snap-1' }, 0],
  ])('includes a volume: %s', (_, ebs, usd) => {
    expect(monthly(ebs)).toBeCloseTo(usd, 6);
  });

  it('includes all volumes', () => {
    expect(monthly({ volumeType: 'gp3', volumeSize: '4Gi' }, { volumeType: 'gp3', volumeSize: '96Gi' })).toBeCloseTo(8);
  });

  it('includes the volumes of the AMI family if the NodeClass names none', () => {
    expect(chargesOf({}).volumesUsdPerHour * 730).toBeCloseTo(1.6);
    expect(chargesOf({}, 0, 'Bottlerocket').volumesUsdPerHour * 730).toBeCloseTo(1.92);
    expect(chargesOf({}, 0, 'Custom').volumesUsdPerHour).toBe(0);
  });

  it('includes a public IPv4 address according to the NodeClass or else its subnets', () => {
    expect(chargesOf({ associatePublicIPAddress: true }).publicIpv4UsdPerHour).toBe(0.005);
    expect(chargesOf({ associatePublicIPAddress: false }, 1).publicIpv4UsdPerHour).toBe(0);
    expect(chargesOf({}, 0.5).publicIpv4UsdPerHour).toBe(0.0025);
    expect(chargesOf({}).publicIpv4UsdPerHour).toBe(0);
  });
});
