/** Names, paths and tags of the instance profiles that the provider creates. */
import { EC2_NODECLASS_LABEL, type EC2NodeClass, REGION_LABEL, type StringMap } from '#api/objects';
import { hashText } from '#lib';
import { CLUSTER_NAME_TAG, clusterOwnerTag, identityTags } from '../tags.ts';

export interface Scope {
  readonly region: string;
  readonly cluster: string;
  /** Undefined if the UID cannot be read. */
  readonly clusterUid?: string | undefined;
}

/**
 * Returns the name of a profile.
 * @param unique random for new profiles, empty for the name that versions without profile paths used
 */
export const profileName = ({ region, cluster }: Scope, nodeClass: string, unique = ''): string =>
  `${cluster}_${hashText(`${region}${nodeClass}${unique}`)}`;

/** Returns the name of a role without its path: `nodes` for `/team/nodes`. */
export const roleName = (role: string): string => role.slice(role.lastIndexOf('/') + 1);

/** Returns true if IAM accepts the name of a profile. */
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
