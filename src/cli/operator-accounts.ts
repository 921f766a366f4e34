/**
 * Finds the ServiceAccounts that an administrator has given the rights of the operator. A user of one namespace can create a
 * Lease and a pod with the names of the operator there, but not a ClusterRoleBinding.
 */
import type { Kind, KubeObject } from '#api/objects';
import type { HttpKubeReader } from '#kube/connection';

interface ClusterRole extends KubeObject {
  readonly rules?: readonly {
    readonly apiGroups?: readonly string[];
    readonly resources?: readonly string[];
    readonly verbs?: readonly string[];
  }[];
}

interface ClusterRoleBinding extends KubeObject {
  readonly roleRef: { readonly kind: string; readonly name: string };
  readonly subjects?: readonly { readonly kind: string; readonly name: string; readonly namespace?: string }[];
}

const rbac = <T extends KubeObject>(kind: string, plural: string): Kind<T> => ({
  group: 'rbac.authorization.k8s.io',
  version: 'v1',
  kind,
  plural,
  namespaced: false,
});
const CLUSTER_ROLE = rbac<ClusterRole>('ClusterRole', 'clusterroles');
const CLUSTER_ROLE_BINDING = rbac<ClusterRoleBinding>('ClusterRoleBinding', 'clusterrolebindings');

export interface ServiceAccountName {
  readonly namespace: string;
  readonly name: string;
}

/** Rights that the operator's ClusterRole names, and that no role for users or other controllers names together. */
const RIGHTS = [
  { group: 'karpenter.sh', resource: 'nodeclaims', verb: 'create' },
  { group: '', resource: 'nodes', verb: 'update' },
] as const;

/** Reports whether the rules name the rights. A wildcard does not count: it belongs to administrators. */
const isOperatorRole = ({ rules = [] }: ClusterRole): boolean =>
  RIGHTS.every(({ group, resource, verb }) =>
    rules.some(
      ({ apiGroups = [], resources = [], verbs = [] }) =>
        apiGroups.includes(group) && resources.includes(resource) && verbs.includes(verb),
    ),
  );

/** @throws ApiError if the user must not list ClusterRoles or ClusterRoleBindings */
export async function operatorAccounts(
  client: Pick<HttpKubeReader, 'listAll'>,
): Promise<readonly ServiceAccountName[]> {
  const [roles, bindings] = await Promise.all([client.listAll(CLUSTER_ROLE), client.listAll(CLUSTER_ROLE_BINDING)]);
  const trusted = new Set(roles.filter(isOperatorRole).map(({ metadata }) => metadata.name));
  const accounts = bindings
    .filter(({ roleRef }) => roleRef.kind === 'ClusterRole' && trusted.has(roleRef.name))
    .flatMap(({ subjects = [] }) => subjects)
    .flatMap(({ kind, name, namespace }) => (kind === 'ServiceAccount' && namespace ? [{ namespace, name }] : []));
  return [...new Map(accounts.map((account) => [`${account.namespace}/${account.name}`, account])).values()];
}
