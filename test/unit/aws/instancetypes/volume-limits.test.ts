import type { InstanceTypeInfo } from '@aws-sdk/client-ec2';
import { describe, expect, it } from '@jest/globals';
import type { EC2NodeClass } from '#api/objects';
import { sumOf } from '#engine/model';
import { ruleBuiltCatalogue } from '#local/machines';
import { familyOf } from '../../../../src/aws/amis/families.ts';
import { volumeTerms } from '../../../../src/aws/instancetypes/volume-limits.ts';
import { parseKubelet } from '../../../../src/aws/kubelet/block.ts';
import { podTerms } from '../../../../src/aws/kubelet/pod-limit.ts';

const CATALOGUE = new Map(
  ruleBuiltCatalogue([{ name: 'us-west-2a', id: 'usw2-az1' }], 1).types.map((info) => [
    info.InstanceType as string,
    info,
  ]),
);

function infoOf(name: string): InstanceTypeInfo {
  const info = CATALOGUE.get(name);
  if (info === undefined) throw new Error(`${name} is not in the catalogue`);
  return info;
}

const nodeClass = (spec: Partial<EC2NodeClass['spec']> = {}): EC2NodeClass => ({
  apiVersion: 'karpenter.k8s.aws/v1',
  kind: 'EC2NodeClass',
  metadata: { name: 'default' },
  spec: {
    role: 'r',
    amiSelectorTerms: [{ alias: 'al2023@latest' }],
    subnetSelectorTerms: [{ id: 's' }],
    securityGroupSelectorTerms: [{ id: 'g' }],
    ...spec,
  },
});

function limitOf(
  info: InstanceTypeInfo,
  spec: Partial<EC2NodeClass['spec']> = {},
  reservedEnis = 0,
): number | undefined {
  const owner = nodeClass(spec);
  const family = familyOf(owner);
  const pods = sumOf(podTerms(info, owner, parseKubelet(owner.spec.kubelet), { family, reservedEnis }));
  return sumOf(volumeTerms(info, owner, { family, pods, reservedEnis })['ebs.csi.aws.com']);
}

const mapping = (deviceName: string, parts: object = {}) => ({ deviceName, ebs: { volumeSize: '20Gi' }, ...parts });

describe('volumeTerms', () => {
  it.each([
    ['m6i.large', 24, 'three interfaces share the limit'],
    ['m5d.large', 23, 'a local disk uses an attachment'],
    ['g5.xlarge', 21, 'a local disk and an accelerator use attachments, and there are four interfaces'],
    ['m7i.large', 31, 'the limit is dedicated'],
    ['m7i.48xlarge', 127, 'the dedicated limit is larger'],
    ['m7i.metal-24xl', 38, 'the limit is dedicated, although EC2 reports a shared limit'],
    ['m5.metal', 16, 'bare metal shares the limit with 15 interfaces'],
  ])('returns for %s %i, because %s', (name, most) => {
    expect(limitOf(infoOf(name))).toBe(most);
  });

  it('ignores interfaces of types without Nitro', () => {
    expect(limitOf({ ...infoOf('m6i.large'), Hypervisor: 'xen' })).toBe(38);
  });

  it('assumes the default limit if EC2 reports none', () => {
    const { EbsInfo: _, ...info } = infoOf('m6i.large');
    expect(limitOf(info)).toBe(24);
  });

  it('subtracts the volumes of the NodeClass and of its AMI family', () => {
    expect(limitOf(infoOf('m7i.large'), { amiSelectorTerms: [{ alias: 'bottlerocket@latest' }] })).toBe(30);
    expect(limitOf(infoOf('m7i.large'), { blockDeviceMappings: [mapping('/dev/xvda')] })).toBe(31);
    expect(limitOf(infoOf('m7i.large'), { blockDeviceMappings: [mapping('/dev/xvda'), mapping('/dev/xvdb')] })).toBe(
      30,
    );
    // the image keeps its own root volume
    expect(limitOf(infoOf('m7i.large'), { blockDeviceMappings: [mapping('/dev/xvdb')] })).toBe(30);
  });

  it('subtracts a root volume of custom images in addition to mappings that do not name it', () => {
    const amiSelectorTerms = [{ id: 'ami-1' }];
    const of = (...blockDeviceMappings: ReturnType<typeof mapping>[]) =>
      limitOf(infoOf('m7i.large'), { amiSelectorTerms, amiFamily: 'Custom', blockDeviceMappings });
    expect(of()).toBe(31);
    expect(of(mapping('/dev/sda1'))).toBe(31);
    expect(of(mapping('/dev/sdf'))).toBe(30);
    expect(of(mapping('/dev/sdf', { rootVolume: true }))).toBe(31);
  });

  it('subtracts only the interfaces that the pods of the node can need', () => {
    expect(limitOf(infoOf('m6i.24xlarge'))).toBe(12);
    expect(limitOf(infoOf('m6i.24xlarge'), { kubelet: { maxPods: 110 } })).toBe(22);
    expect(limitOf(infoOf('m6i.24xlarge'), { kubelet: { maxPods: 110 } }, 1)).toBe(21);
  });

  it('subtracts interfaces that the NodeClass adds on other cards', () => {
    const networkInterfaces = [
      { networkCardIndex: 0, deviceIndex: 0, interfaceType: 'interface' as const },
      { networkCardIndex: 1, deviceIndex: 0, interfaceType: 'efa-only' as const },
    ];
    expect(limitOf(infoOf('m6i.large'), { networkInterfaces })).toBe(23);
  });

  it('returns at least one volume', () => {
    const EbsInfo = { MaximumEbsAttachments: 3, AttachmentLimitType: 'shared' as const };
    expect(limitOf({ ...infoOf('m6i.large'), EbsInfo })).toBe(1);
  });
});
