/** Kinds that a snapshot contains, in the order of the file. The offline commands use these kinds. */
import {
  CAPACITY_BUFFER,
  CSI_NODE,
  DAEMON_SET,
  DEPLOYMENT,
  EC2_NODE_CLASS,
  EVENT,
  JOB,
  type Kind,
  NAMESPACE,
  NODE,
  NODE_CLAIM,
  NODE_OVERLAY,
  NODE_POOL,
  PERSISTENT_VOLUME,
  PERSISTENT_VOLUME_CLAIM,
  POD,
  POD_DISRUPTION_BUDGET,
  POD_TEMPLATE,
  PRIORITY_CLASS,
  REPLICA_SET,
  REPLICATION_CONTROLLER,
  SERVICE,
  STATEFUL_SET,
  STORAGE_CLASS,
  VOLUME_ATTACHMENT,
} from '../../api/kinds.ts';

/** Kind in the versions that a cluster may serve. */
export interface ReadKind {
  /** Versions by preference. The first served version is read. */
  readonly versions: readonly [Kind, ...Kind[]];
  /** Effect on results if the kind cannot be read. */
  readonly effect: string;
  /** Selector of the objects to read. All objects if undefined. */
  readonly fieldSelector?: string;
}

const kind = (group: string, version: string, name: string): Kind => ({
  group,
  version,
  kind: name,
  plural: `${name.toLowerCase()}s`,
  namespaced: false,
});

/** Kinds of Karpenter's versions before v1. */
export const PROVISIONER = kind('karpenter.sh', 'v1alpha5', 'Provisioner');
export const MACHINE = kind('karpenter.sh', 'v1alpha5', 'Machine');
export const AWS_NODE_TEMPLATE = kind('karpenter.k8s.aws', 'v1alpha1', 'AWSNodeTemplate');

const beta = (of: Kind): Kind => ({ ...of, version: 'v1beta1' });

const BUYING = 'what would be bought for pods cannot be computed without them';
const WORKLOADS = 'pods that it has not made yet are not counted, and capacity buffers may not find it';
const SPREAD = 'default topology spread constraints may select other pods';
const ALPHA = 'whether nodes of alpha versions are left cannot be said';

const only = (of: Kind, effect: string): ReadKind => ({ versions: [of], effect });

/** Kinds in order. NodePools are read before NodeClaims, whose hashes are compared with the hashes of NodePools. */
export const READ_KINDS: readonly ReadKind[] = [
  { versions: [NODE_POOL, beta(NODE_POOL)], effect: BUYING },
  { versions: [EC2_NODE_CLASS, beta(EC2_NODE_CLASS)], effect: BUYING },
  only(PROVISIONER, ALPHA),
  only(AWS_NODE_TEMPLATE, ALPHA),
  only(NODE_OVERLAY, 'prices and capacities may be others'),
  { versions: [NODE_CLAIM, beta(NODE_CLAIM)], effect: 'nodes seem to belong to nobody' },
  only(MACHINE, ALPHA),
  only(NODE, 'pods seem to have no node to go to'),
  only(CSI_NODE, 'nodes seem to take any number of volumes'),
  only(NAMESPACE, 'namespace selectors of affinities match nothing'),
  only(PRIORITY_CLASS, 'priorities of pods may be others'),
  only(STORAGE_CLASS, 'volumes may be bound to other zones'),
  only(PERSISTENT_VOLUME, 'pods may be placed in zones where their volumes are not'),
  only(PERSISTENT_VOLUME_CLAIM, 'pods may be placed in zones where their volumes are not'),
  only(VOLUME_ATTACHMENT, 'what a drain waits for cannot be said'),
  only(POD_DISRUPTION_BUDGET, 'nodes seem free to go that a PodDisruptionBudget keeps'),
  only(CAPACITY_BUFFER, 'room that is kept seems free'),
  only(POD_TEMPLATE, 'capacity buffers may not find it'),
  only(SERVICE, SPREAD),
  only(REPLICATION_CONTROLLER, SPREAD),
  only(DAEMON_SET, 'new nodes seem to have more room than they will'),
  only(DEPLOYMENT, WORKLOADS),
  only(STATEFUL_SET, WORKLOADS),
  only(REPLICA_SET, WORKLOADS),
  only(JOB, WORKLOADS),
  { ...only(EVENT, 'since when something blocks a node cannot be said'), fieldSelector: 'source=karpenter' },
  only(POD, 'nodes seem empty, and nothing seems to wait'),
];

/** API groups of custom resources, which the cluster may not serve. */
export const CUSTOM_GROUPS: ReadonlySet<string> = new Set(
  READ_KINDS.flatMap(({ versions }) => versions.map(({ group }) => group)).filter((group) =>
    /karpenter|x-k8s/.test(group),
  ),
);

/** CRDs that are read by name, because all CRDs of a cluster are many megabytes. */
export const DEFINITIONS: readonly string[] = [
  ...new Set(
    READ_KINDS.flatMap(({ versions: [{ group, plural }] }) => (CUSTOM_GROUPS.has(group) ? [`${plural}.${group}`] : [])),
  ),
];
