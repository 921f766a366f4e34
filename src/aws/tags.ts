/** Tags of all resources that the provider creates in AWS. */
import { EC2_NODECLASS_LABEL, type EC2NodeClass, NODEPOOL_LABEL, type StringMap } from '#api/objects';

export const NAME_TAG = 'Name';
export const NODECLAIM_TAG = 'karpenter.sh/nodeclaim';
export const CLUSTER_NAME_TAG = 'eks:eks-cluster-name';
/** UID of the cluster, see `identity.ts`. Karpenter does not write this tag. */
export const CLUSTER_UID_TAG = 'karpenter.k8s.aws/cluster-uid';
export const clusterOwnerTag = (cluster: string): string => `kubernetes.io/cluster/${cluster}`;

const OWNER_KEY = /^kubernetes\.io\/cluster\/[0-9A-Za-z][A-Za-z0-9\-_]*$/;
const RESTRICTED = new Set<string>([
  NODEPOOL_LABEL,
  CLUSTER_NAME_TAG,
  CLUSTER_UID_TAG,
  EC2_NODECLASS_LABEL,
  NODECLAIM_TAG,
]);

/** Values of the tags that identify the cluster. */
interface TaggedCluster {
  readonly name: string;
  /** If the UID cannot be read, it is undefined and the tag is omitted. */
  readonly uid?: string | undefined;
}

export const identityTags = ({ uid }: TaggedCluster): StringMap =>
  uid === undefined ? {} : { [CLUSTER_UID_TAG]: uid };

/** Returns the keys of the NodeClass's tags that only the provider may set, sorted. */
export const restrictedTags = (tags: StringMap | undefined): readonly string[] =>
  Object.keys(tags ?? {})
    .filter((key) => OWNER_KEY.test(key) || RESTRICTED.has(key))
    .sort();

/**
 * Returns the tags of instances, volumes, network interfaces, fleets and launch templates. The provider's tags take
 * precedence over those of the NodeClass.
 */
export function launchTags(nodeClass: EC2NodeClass, cluster: TaggedCluster, nodePool: string): StringMap {
  return {
    ...nodeClass.spec.tags,
    [clusterOwnerTag(cluster.name)]: 'owned',
    [NODEPOOL_LABEL]: nodePool,
    [CLUSTER_NAME_TAG]: cluster.name,
    ...identityTags(cluster),
    [EC2_NODECLASS_LABEL]: nodeClass.metadata.name,
  };
}

export const tagList = (tags: StringMap): { Key: string; Value: string }[] =>
  Object.entries(tags)
    .map(([Key, Value]) => ({ Key, Value }))
    .sort((a, b) => (a.Key < b.Key ? -1 : 1));

export const tagMap = (
  tags: readonly { readonly Key?: string | undefined; readonly Value?: string | undefined }[] = [],
): StringMap => Object.fromEntries(tags.map(({ Key = '', Value = '' }) => [Key, Value]));

/** Returns the filters of a tag selector. The value `*` matches any value of the key. */
export const tagFilters = (tags: StringMap | undefined): { Name: string; Values: string[] }[] =>
  Object.entries(tags ?? {}).map(([key, value]) =>
    value === '*' ? { Name: 'tag-key', Values: [key] } : { Name: `tag:${key}`, Values: [value] },
  );
