/** Compares the permissions of the chart's roles with the requests of the operator. */
import type { Cluster } from './cluster.ts';
import type { AuditedRequest } from './controlplane.ts';

/** Returns the requests that RBAC denied, with the message. */
export const forbidden = (requests: readonly AuditedRequest[]): readonly string[] => [
  ...new Set(
    requests
      .filter(({ responseStatus }) => responseStatus?.code === 403)
      .map(({ verb, requestURI, responseStatus }) => `${verb} ${requestURI}: ${responseStatus?.message ?? ''}`),
  ),
];

interface Rule {
  readonly apiGroups?: readonly string[];
  readonly resources?: readonly string[];
  readonly verbs: readonly string[];
}

interface Role {
  readonly metadata: { readonly name: string };
  readonly rules?: readonly Rule[] | null;
}

const RBAC = '/apis/rbac.authorization.k8s.io/v1';

/** Returns every `verb group/resource` that the chart's bound roles grant. */
export async function grantedRules({ kube }: Cluster): Promise<ReadonlySet<string>> {
  const paths = [
    `${RBAC}/clusterroles/karpenter`,
    `${RBAC}/clusterroles/karpenter-core`,
    `${RBAC}/namespaces/kube-system/roles/karpenter`,
    `${RBAC}/namespaces/kube-system/roles/karpenter-dns`,
  ];
  const roles = await Promise.all(paths.map(async (path) => (await kube.raw('GET', path)) as Role));
  return new Set(
    roles.flatMap(({ rules }) =>
      (rules ?? []).flatMap(({ apiGroups = [], resources = [], verbs }) =>
        apiGroups.flatMap((group) =>
          resources.flatMap((resource) => verbs.map((verb) => `${verb} ${group}/${resource}`)),
        ),
      ),
    ),
  );
}

/** Returns grants that no request used. */
export function unusedGrants(granted: ReadonlySet<string>, requests: readonly AuditedRequest[]): readonly string[] {
  const used = new Set(
    requests.map(({ verb, objectRef = {} }) => {
      const { apiGroup = '', resource = '', subresource } = objectRef;
      return `${verb} ${apiGroup}/${resource}${subresource ? `/${subresource}` : ''}`;
    }),
  );
  return [...granted].filter((grant) => !used.has(grant)).sort();
}
