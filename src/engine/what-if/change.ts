/** Changes in words, such as `scale deploy/web=50`. */

export type WorkloadKind = 'Deployment' | 'StatefulSet' | 'ReplicaSet';

export interface ScaleChange {
  readonly verb: 'scale';
  readonly namespace: string;
  /** Kind as the user typed it, such as `deploy`. */
  readonly kind: string;
  readonly name: string;
  readonly replicas: number;
}

export interface DrainChange {
  readonly verb: 'drain';
  /** Name of the Node or its NodeClaim, or the part of the Node's name before the first dot. */
  readonly node: string;
}

export interface LimitChange {
  readonly verb: 'limit';
  readonly nodePool: string;
  readonly resource: string;
  /** Quantity, such as `100` or `64Gi`. */
  readonly amount: string;
}

export interface RequireChange {
  readonly verb: 'require';
  readonly nodePool: string;
  readonly key: string;
  /** Allowed values. Empty if the requirement is removed. */
  readonly values: readonly string[];
}

export type NodePoolChange = LimitChange | RequireChange;
export type Change = ScaleChange | DrainChange | NodePoolChange;

const SCALE = /^scale\s+(?:(?<namespace>[^/\s]+)\/)?(?<kind>[^/\s]+)\/(?<name>[^/\s=]+)=(?<replicas>\d{1,6})$/;
const DRAIN = /^drain\s+(?<node>\S+)$/;
const LIMIT = /^limit\s+(?<nodePool>\S+)\s+(?<resource>[a-z0-9][a-z0-9./-]{0,80})=(?<amount>\S{1,30})$/;
const REQUIRE = /^require\s+(?<nodePool>\S+)\s+(?<key>[A-Za-z0-9][\w./-]{0,316})=(?<values>[\w.,-]{0,2000})$/;

/** Forms of the changes, for messages. */
export const CHANGE_FORMS =
  '"scale [NAMESPACE/]KIND/NAME=REPLICAS", "drain NODE", "limit NODEPOOL RESOURCE=AMOUNT" or "require NODEPOOL KEY=VALUE,VALUE"';
/** First words of changes. */
export const CHANGE_VERBS = ['scale', 'drain', 'limit', 'require'] as const satisfies readonly Change['verb'][];

/** Returns undefined if the text is not a complete change of a workload, a node or a NodePool. */
export function parseChange(text: string): Change | undefined {
  const node = DRAIN.exec(text)?.groups?.node;
  if (node !== undefined) return { verb: 'drain', node };
  const limit = LIMIT.exec(text)?.groups;
  if (limit !== undefined) {
    const { nodePool = '', resource = '', amount = '' } = limit;
    return { verb: 'limit', nodePool, resource, amount };
  }
  const required = REQUIRE.exec(text)?.groups;
  if (required !== undefined) {
    const { nodePool = '', key = '', values = '' } = required;
    return { verb: 'require', nodePool, key, values: values.split(',').filter((value) => value !== '') };
  }
  const { namespace = 'default', kind = '', name = '', replicas = '' } = SCALE.exec(text)?.groups ?? {};
  return name === '' ? undefined : { verb: 'scale', namespace, kind, name, replicas: Number(replicas) };
}

const KINDS: Readonly<Record<string, WorkloadKind>> = {
  deploy: 'Deployment',
  deployment: 'Deployment',
  deployments: 'Deployment',
  sts: 'StatefulSet',
  statefulset: 'StatefulSet',
  statefulsets: 'StatefulSet',
  rs: 'ReplicaSet',
  replicaset: 'ReplicaSet',
  replicasets: 'ReplicaSet',
};

/** Returns the kind of a name such as `deploy`, or undefined if the kind cannot be scaled. */
export const workloadKindOf = (name: string): WorkloadKind | undefined =>
  Object.hasOwn(KINDS, name.toLowerCase()) ? KINDS[name.toLowerCase()] : undefined;

/** Returns true for names of ReplicaSets of a Deployment, which end in a hash of the pod template. */
export const isReplicaSetName = (name: string, deployment: string): boolean =>
  name.startsWith(`${deployment}-`) && /^[a-z0-9]+$/.test(name.slice(deployment.length + 1));
