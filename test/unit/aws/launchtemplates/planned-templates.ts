/** Launch templates for a NodeClass and a NodeClaim, with defaults for unset fields. */
import type { InstanceTypeInfo } from '@aws-sdk/client-ec2';

import type { EC2NodeClass, NodeClaim } from '#api/objects';
import type { InstanceType, Offering } from '#engine/model';
import { sumsOf } from '#engine/testing';
import { silent } from '#observe/logger';
import { familyOf } from '../../../../src/aws/amis/families.ts';
import { capacityTerms } from '../../../../src/aws/instancetypes/capacity.ts';
import { typeRequirements } from '../../../../src/aws/instancetypes/labels.ts';
import { parseKubelet } from '../../../../src/aws/kubelet/block.ts';
import { resolveReserved } from '../../../../src/aws/kubelet/expressions.ts';
import { podTerms } from '../../../../src/aws/kubelet/pod-limit.ts';
import { planTemplates, type TemplatePlanInput } from '../../../../src/aws/launchtemplates/launchtemplates.ts';
import { recordings } from '../support/recordings.ts';

const infos: Record<string, InstanceTypeInfo> = recordings().world.instanceTypes;
export const CLUSTER = {
  name: 'demo',
  endpoint: 'https://cluster.example',
  caBundle: 'Y2VydA==',
  dnsIp: '10.100.0.10',
};
export const IPV6 = { ...CLUSTER, dnsIp: 'fd00::a' };

export type Spec = Partial<EC2NodeClass['spec']>;

export function nodeClassOf(spec: Spec): EC2NodeClass {
  return {
    apiVersion: 'karpenter.k8s.aws/v1',
    kind: 'EC2NodeClass',
    metadata: { name: 'golden' },
    spec: {
      role: 'node-role',
      subnetSelectorTerms: [{ id: 'subnet-1' }],
      securityGroupSelectorTerms: [{ id: 'sg-1' }],
      amiSelectorTerms: [{ id: 'ami-1' }],
      metadataOptions: {
        httpEndpoint: 'enabled',
        httpProtocolIPv6: 'disabled',
        httpPutResponseHopLimit: 1,
        httpTokens: 'required',
      },
      ...spec,
    },
    status: {
      subnets: [{ id: 'subnet-1', zone: 'us-east-1a', zoneID: 'use1-az6' }],
      securityGroups: [
        { id: 'sg-1', name: 'one' },
        { id: 'sg-2', name: 'two' },
      ],
      amis: [{ id: 'ami-1', name: 'image', requirements: [] }],
      instanceProfile: 'demo_1',
    },
  };
}

export const claimOf = (spec: Partial<NodeClaim['spec']> = {}): NodeClaim => ({
  apiVersion: 'karpenter.sh/v1',
  kind: 'NodeClaim',
  metadata: { name: 'golden-1', labels: { 'karpenter.sh/nodepool': 'golden', 'kubernetes.io/arch': 'amd64' } },
  spec: {
    nodeClassRef: { group: 'karpenter.k8s.aws', kind: 'EC2NodeClass', name: 'golden' },
    requirements: [],
    ...spec,
  },
});

function typeOf(name: string, nodeClass: EC2NodeClass, offerings: readonly Offering[]): InstanceType {
  const info = infos[name] ?? {};
  const family = familyOf(nodeClass);
  const kubelet = parseKubelet(nodeClass.spec.kubelet);
  const pods = podTerms(info, nodeClass, kubelet, { family, reservedEnis: 0 });
  return {
    name,
    requirements: typeRequirements(info, {
      region: 'us-east-1',
      family,
      zones: [],
      offeredIn: new Set(),
      reservations: [],
    }),
    capacity: sumsOf(capacityTerms(info, nodeClass, { family, pods, memoryOverheadPercent: 0.075 })),
    overhead: { kubeReserved: {}, systemReserved: {}, evictionThreshold: {} },
    offerings,
  };
}

export interface Situation extends Partial<TemplatePlanInput> {
  readonly spec?: Spec;
  readonly types?: never;
  readonly typeNames?: readonly string[];
  readonly offerings?: readonly Offering[];
  /** Name of the NodeClass. */
  readonly named?: string;
}

/** Returns the templates that a launch needs. */
export function planned({ spec = {}, typeNames = ['m5.large'], offerings = [], named, ...more }: Situation) {
  const plain = nodeClassOf(spec);
  const nodeClass = named === undefined ? plain : { ...plain, metadata: { name: named } };
  return planTemplates({
    nodeClass,
    claim: claimOf(),
    types: typeNames.map((name) => typeOf(name, nodeClass, offerings)),
    capacityType: 'on-demand',
    tenancy: 'default',
    tags: { team: 'a' },
    placementGroup: undefined,
    cluster: CLUSTER,
    cidr: '10.100.0.0/16',
    region: 'us-east-1',
    reservedCapacity: true,
    reservedOf: () => resolveReserved(parseKubelet(nodeClass.spec.kubelet)),
    log: silent,
    ...(more as Partial<TemplatePlanInput>),
  });
}

/** Returns the data of the templates that a launch needs, with decoded user data in a separate field. */
export function templates(situation: Situation) {
  return planned(situation).map(({ template }) => {
    const { UserData = '', ...data } = template.data;
    return { userData: Buffer.from(UserData, 'base64').toString(), data };
  });
}

export const userDataOf = (situation: Situation): string => templates(situation)[0]?.userData ?? '';
