/** Names, paths and tags of the instance profiles that the provider makes. */
import type { EC2NodeClass } from '../../api/ec2-nodeclass.ts';
import type { StringMap } from '../../api/kubernetes.ts';
import { EC2_NODECLASS_LABEL, REGION_LABEL } from '../../api/labels.ts';
import { hashText } from '../../lib/fnv.ts';
import { CLUSTER_NAME_TAG, clusterOwnerTag, identityTags } from '../tags.ts';

export interface Scope {
  readonly region: string;
  readonly cluster: string;
  /** Undefined if the UID cannot be read. */
  readonly clusterUid?: string | undefined;
}

/** `unique` is random for new profiles. Without it, the name that versions before paths gave. */
export const profileName = ({ region, cluster }: Scope, nodeClass: string, unique = ''): string =>
  `${cluster}_${hashText(`${region}${nodeClass}${unique}`)}`;

/** A role as IAM names it in a profile, without its path: `nodes` of `/team/nodes`. */
export const roleName = (role: string): string => role.slice(role.lastIndexOf('/') + 1);

/** What IAM accepts as a profile's name. */
export const isValidProfileName = (name: string): boolean => /^[\w+=,.@-]{1,128}$/.test(name);

export const clusterPath = ({ region, cluster }: Scope): string => `/karpenter/${region}/${cluster}/`;
export const classPath = (scope: Scope, nodeClassUid: string): string => `${clusterPath(scope)}${nodeClassUid}/`;

export const profileTags = ({ region, cluster, clusterUid }: Scope, nodeClass: EC2NodeClass): StringMap => ({
  ...nodeClass.spec.tags,
  [clusterOwnerTag(cluster)]: 'owned',
  [CLUSTER_NAME_TAG]: cluster,
  ...identityTags({ name: cluster, uid: clusterUid }),
  [EC2_NODECLASS_LABEL]: nodeClass.metadata.name,
  [REGION_LABEL]: region,
});
