/** Kinds of objects in a trace, all of which the cluster of a replay handles. */
import {
  apiVersionOf,
  CAPACITY_BUFFER,
  CONFIG_MAP,
  DAEMON_SET,
  DEPLOYMENT,
  DEVICE_CLASS,
  DEVICE_TAINT_RULE,
  EC2_NODE_CLASS,
  JOB,
  type Kind,
  NAMESPACE,
  NODE_OVERLAY,
  NODE_POLICY,
  NODE_POOL,
  PERSISTENT_VOLUME,
  PERSISTENT_VOLUME_CLAIM,
  POD,
  POD_DISRUPTION_BUDGET,
  POD_TEMPLATE,
  PRIORITY_CLASS,
  PROVISIONING_REQUEST,
  REPLICA_SET,
  RESOURCE_CLAIM,
  RESOURCE_CLAIM_TEMPLATE,
  SERVICE,
  STATEFUL_SET,
  STORAGE_CLASS,
} from '#api/objects';
import { type Field, nearestName, own, quoted } from '#lib';
import { textOf } from './fields.ts';

/** Kinds in the order in which objects are applied: an object comes after the objects that it refers to. */
export const TRACE_KINDS: readonly Kind[] = [
  NAMESPACE,
  PRIORITY_CLASS,
  STORAGE_CLASS,
  PERSISTENT_VOLUME,
  PERSISTENT_VOLUME_CLAIM,
  EC2_NODE_CLASS,
  NODE_POOL,
  NODE_OVERLAY,
  NODE_POLICY,
  CONFIG_MAP,
  DEVICE_CLASS,
  DEVICE_TAINT_RULE,
  RESOURCE_CLAIM_TEMPLATE,
  RESOURCE_CLAIM,
  POD_TEMPLATE,
  CAPACITY_BUFFER,
  PROVISIONING_REQUEST,
  POD_DISRUPTION_BUDGET,
  SERVICE,
  DAEMON_SET,
  STATEFUL_SET,
  DEPLOYMENT,
  REPLICA_SET,
  JOB,
  POD,
];

/** Namespace of the operator in a replay. */
export const OPERATOR_NAMESPACE = 'kube-system';

/** Kinds whose number of pods a `scale` event changes. */
export const SCALED_KINDS: ReadonlySet<string> = new Set(
  [DEPLOYMENT, REPLICA_SET, STATEFUL_SET].map(({ kind }) => kind),
);

/** Kinds with a pod template at `spec.template`. */
export const TEMPLATE_KINDS: ReadonlySet<string> = new Set(
  [DEPLOYMENT, REPLICA_SET, STATEFUL_SET, DAEMON_SET, JOB].map(({ kind }) => kind),
);

/** Kinds whose pods end by themselves. */
export const ENDING_KINDS: ReadonlySet<string> = new Set([POD, JOB].map(({ kind }) => kind));

/** Remedies for kinds that a replay does not play. */
const NOT_PLAYED: Readonly<Record<string, string>> = {
  CronJob: 'write the Jobs that it created, each at its time',
  HorizontalPodAutoscaler: 'write its actions as scale events',
  VerticalPodAutoscaler: 'apply the workload again with the requests that it set',
  ScaledObject: 'write its actions as scale events',
  ReplicationController: 'write a ReplicaSet or a Deployment',
  Node: 'the replay launches the nodes itself',
  NodeClaim: 'the replay launches the nodes itself',
  ResourceSlice: 'apply a DaemonSet that stands for the DRA driver, which publishes the devices of the nodes',
};

const BY_NAME = new Map(TRACE_KINDS.map((kind) => [kind.kind, kind]));

/**
 * Returns the kind of an object or reference.
 * @throws FieldFault if a trace cannot contain objects of the kind
 */
export function kindOf(object: Field): Kind {
  const [apiVersion, name] = [textOf(object.at('apiVersion')), textOf(object.at('kind'))];
  const kind = BY_NAME.get(name);
  if (kind === undefined) {
    const remedy = own(NOT_PLAYED, name);
    if (remedy !== undefined) object.at('kind').fail(`${name} is not supported in a trace: ${remedy}`);
    const near = nearestName(name, [...BY_NAME.keys()]);
    const remedyFor = near === undefined ? `use one of ${[...BY_NAME.keys()].join(', ')}` : `did you mean ${near}?`;
    return object.at('kind').fail(`${quoted(name)} is not a supported kind; ${remedyFor}`);
  }
  const expected = apiVersionOf(kind);
  if (apiVersion !== expected) object.at('apiVersion').fail(`of a ${name} is ${quoted(apiVersion)}; use ${expected}`);
  return kind;
}
