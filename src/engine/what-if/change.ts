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

export type Change = ScaleChange | DrainChange;

const SCALE = /^scale\s+(?:(?<namespace>[^/\s]+)\/)?(?<kind>[^/\s]+)\/(?<name>[^/\s=]+)=(?<replicas>\d{1,6})$/;
const DRAIN = /^drain\s+(?<node>\S+)$/;

/** Returns undefined if the text is not a complete change of a workload or a node. */
export function parseChange(text: string): Change | undefined {
  const node = DRAIN.exec(text)?.groups?.node;
  if (node !== undefined) return { verb: 'drain', node };
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
