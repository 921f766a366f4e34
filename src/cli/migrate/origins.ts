/** Determines the controllers or groups that created the nodes of a cluster. */
import { NODEPOOL_LABEL, type Node } from '#api/objects';
import { own } from '#lib';

/** Label of alpha versions. */
export const PROVISIONER_LABEL = 'karpenter.sh/provisioner-name';
const MANAGED_GROUP = 'eks.amazonaws.com/nodegroup';
const EKSCTL_GROUP = 'alpha.eksctl.io/nodegroup-name';
/** Label with the value `fargate`, `auto` or `hybrid`. */
const COMPUTE_TYPE = 'eks.amazonaws.com/compute-type';

/** Origin of a node. `elsewhere`: a machine of AWS that was created by no group and by no controller in the cluster. */
export type OriginKind = 'nodepool' | 'provisioner' | 'managed-node-group' | 'auto-scaling-group' | 'elsewhere';

interface Origin {
  readonly kind: OriginKind;
  /** Name of the NodePool, Provisioner or group. Undefined if no label contains it. */
  readonly name: string | undefined;
}

export function originOf({ metadata }: Node): Origin {
  const label = (key: string): string | undefined => own(metadata.labels, key);
  const compute = label(COMPUTE_TYPE);
  if (compute !== undefined && compute !== 'ec2') return { kind: 'elsewhere', name: compute };
  if (label(NODEPOOL_LABEL) !== undefined) return { kind: 'nodepool', name: label(NODEPOOL_LABEL) };
  const machine = metadata.ownerReferences?.find(({ kind }) => kind === 'Machine');
  if (label(PROVISIONER_LABEL) !== undefined || machine !== undefined)
    return { kind: 'provisioner', name: label(PROVISIONER_LABEL) };
  if (label(MANAGED_GROUP) !== undefined) return { kind: 'managed-node-group', name: label(MANAGED_GROUP) };
  return { kind: 'auto-scaling-group', name: label(EKSCTL_GROUP) };
}

/** Groups nodes of one origin by the name of their group. The key is undefined if no label contains the name. */
export const groupsOf = (nodes: readonly Node[], kind: OriginKind): ReadonlyMap<string | undefined, readonly Node[]> =>
  Map.groupBy(
    nodes.filter((node) => originOf(node).kind === kind),
    (node) => originOf(node).name,
  );

const PROVIDER_ID = /^aws:\/\/\/[^/]+\/(i-[0-9a-f]+)$/;

export const instanceIdOfNode = ({ spec }: Node): string | undefined => PROVIDER_ID.exec(spec?.providerID ?? '')?.[1];
