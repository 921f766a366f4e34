/**
 * EC2NodeClasses that match the account of a replay. The subnets, security groups, roles and images of the recorded
 * cluster do not exist in this account. The selectors of a NodeClass are therefore replaced, and all other fields stay
 * the same.
 */

import type { EC2NodeClass } from '../api/ec2-nodeclass.ts';
import { EC2_NODE_CLASS } from '../api/kinds.ts';
import type { KubeObject } from '../api/kubernetes.ts';

const DEFAULT_ALIAS = 'al2023@latest';

const isNodeClass = (object: KubeObject): object is EC2NodeClass =>
  object.kind === EC2_NODE_CLASS.kind && object.apiVersion.startsWith(`${EC2_NODE_CLASS.group}/`);

/** Returns an EC2NodeClass with selectors for the account of the replay. Other objects are returned unchanged. */
export function fitToAccount<T extends KubeObject>(object: T, clusterName: string): T {
  if (!isNodeClass(object)) return object;
  const {
    role: _role,
    instanceProfile: _profile,
    capacityReservationSelectorTerms: _reservations,
    placementGroupSelector: _placement,
    ...spec
  } = object.spec as EC2NodeClass['spec'] & { readonly placementGroupSelector?: unknown };
  const discovery = [{ tags: { 'karpenter.sh/discovery': clusterName } }];
  const alias = spec.amiSelectorTerms?.find((term) => term.alias !== undefined)?.alias ?? aliasOf(spec.amiFamily);
  return {
    ...object,
    spec: {
      ...spec,
      amiSelectorTerms: [{ alias: `${alias.split('@', 1)[0]}@latest` }],
      subnetSelectorTerms: discovery,
      securityGroupSelectorTerms: discovery,
      role: `KarpenterNodeRole-${clusterName}`,
    },
  } as T;
}

const FAMILIES: Readonly<Record<string, string>> = {
  AL2: 'al2@latest',
  AL2023: 'al2023@latest',
  Bottlerocket: 'bottlerocket@latest',
  Windows2019: 'windows2019@latest',
  Windows2022: 'windows2022@latest',
  Windows2025: 'windows2025@latest',
};

const aliasOf = (family: string | undefined): string =>
  family !== undefined && Object.hasOwn(FAMILIES, family) ? (FAMILIES[family] ?? DEFAULT_ALIAS) : DEFAULT_ALIAS;
