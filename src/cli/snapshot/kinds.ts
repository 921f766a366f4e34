/** Kinds that a snapshot contains, in the order of the file. The offline commands use these kinds. */
import {
  CAPACITY_BUFFER,
  CAPACITY_QUOTA,
  CONFIG_MAP,
  CSI_NODE,
  DAEMON_SET,
  DEPLOYMENT,
  DEVICE_CLASS,
  DEVICE_TAINT_RULE,
  EC2_NODE_CLASS,
  EVENT,
  JOB,
  type Kind,
  NAMESPACE,
  NODE,
  NODE_CLAIM,
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
  REPLICATION_CONTROLLER,
  RESOURCE_CLAIM,
  RESOURCE_CLAIM_TEMPLATE,
  RESOURCE_SLICE,
  SERVICE,
  STATEFUL_SET,
  STORAGE_CLASS,
  VOLUME_ATTACHMENT,
} from '#api/objects';
import { DEVICE_TEMPLATES_LABEL } from '#state';

/** Field selector of the events that the operator writes. */
export const OPERATOR_EVENTS = 'source=karpenter';

/** Kind in the versions that a cluster may serve. */
export interface ReadKind {
  /** Versions by preference. The first served version is read. */
  readonly versions: readonly [Kind, ...Kind[]];
  /** Effect on results if this kind cannot be read. */
  readonly effect: string;
  /** Selector of the objects to read. All objects if undefined. */
  readonly fieldSelector?: string;
  readonly labelSelector?: string;
  /** True if the objects are also read if the namespaces are limited. */
  readonly isInAllNamespaces?: boolean;
}

const kind = (group: string, version: string, name: string): Kind => ({
  group,
  version,
  kind: name,
  plural: `${name.toLowerCase()}s`,
  namespaced: false,
});

/** Kinds of Karpenter's versions before v1. */
const PROVISIONER = kind('karpenter.sh', 'v1alpha5', 'Provisioner');
const MACHINE = kind('karpenter.sh', 'v1alpha5', 'Machine');
const AWS_NODE_TEMPLATE = kind('karpenter.k8s.aws', 'v1alpha1', 'AWSNodeTemplate');

const beta = (of: Kind): Kind => ({ ...of, version: 'v1beta1' });

const BUYING = 'simulations cannot compute launches without them';
const WORKLOADS = 'pods that do not exist yet are not counted, and capacity buffers may not find it';
const SPREAD = 'default topology spread constraints may select other pods';
const DEVICES = 'pods with resource claims may be placed differently';
const ALPHA = 'remaining nodes of alpha versions cannot be detected';

const only = (of: Kind, effect: string): ReadKind => ({ versions: [of], effect });

/** Kinds in order. NodePools are read before NodeClaims, whose hashes are compared with the hashes of NodePools. */
export const READ_KINDS: readonly ReadKind[] = [
  { versions: [NODE_POOL, beta(NODE_POOL)], effect: BUYING },
  { versions: [EC2_NODE_CLASS, beta(EC2_NODE_CLASS)], effect: BUYING },
  only(PROVISIONER, ALPHA),
  only(AWS_NODE_TEMPLATE, ALPHA),
  only(NODE_OVERLAY, 'prices and capacities may differ'),
  only(NODE_POLICY, 'settings of NodePools by policies are not considered'),
  { versions: [NODE_CLAIM, beta(NODE_CLAIM)], effect: 'nodes appear to have no owner' },
  only(MACHINE, ALPHA),
  only(NODE, 'pods appear to have no node'),
  only(CSI_NODE, 'nodes appear to accept any number of volumes'),
  only(NAMESPACE, 'namespace selectors of affinities match no namespace'),
  only(PRIORITY_CLASS, 'priorities of pods may differ'),
  only(STORAGE_CLASS, 'zones of volumes may differ'),
  only(PERSISTENT_VOLUME, 'pods may be placed in zones without their volumes'),
  only(PERSISTENT_VOLUME_CLAIM, 'pods may be placed in zones without their volumes'),
  only(VOLUME_ATTACHMENT, 'reasons for waiting drains are incomplete'),
  only(DEVICE_CLASS, DEVICES),
  only(RESOURCE_SLICE, DEVICES),
  only(DEVICE_TAINT_RULE, DEVICES),
  only(RESOURCE_CLAIM, DEVICES),
  only(RESOURCE_CLAIM_TEMPLATE, DEVICES),
  {
    ...only(CONFIG_MAP, 'declared devices of new nodes are unknown'),
    labelSelector: `${DEVICE_TEMPLATES_LABEL}=true`,
    isInAllNamespaces: true,
  },
  only(POD_DISRUPTION_BUDGET, 'nodes appear disruptable although a PodDisruptionBudget blocks them'),
  only(CAPACITY_BUFFER, 'reserved capacity appears to be free'),
  only(CAPACITY_QUOTA, 'launches may exceed limits'),
  only(PROVISIONING_REQUEST, 'booked capacity appears to be free'),
  only(POD_TEMPLATE, 'capacity buffers may not find it'),
  only(SERVICE, SPREAD),
  only(REPLICATION_CONTROLLER, SPREAD),
  only(DAEMON_SET, 'new nodes appear to have more free capacity than they will have'),
  only(DEPLOYMENT, WORKLOADS),
  only(STATEFUL_SET, WORKLOADS),
  only(REPLICA_SET, WORKLOADS),
  only(JOB, WORKLOADS),
  {
    ...only(EVENT, 'the start times of blocks of nodes are unknown'),
    // events about nodes are in the namespace default
    fieldSelector: OPERATOR_EVENTS,
    isInAllNamespaces: true,
  },
  only(POD, 'nodes appear empty, and no pods appear to be pending'),
];

const GROUPS = [...new Set(READ_KINDS.flatMap(({ versions }) => versions.map(({ group }) => group)))];

/** API groups of custom resources. */
export const CUSTOM_GROUPS: ReadonlySet<string> = new Set(GROUPS.filter((group) => /karpenter|x-k8s/.test(group)));

/** API groups that the cluster may not serve. */
export const OPTIONAL_GROUPS: ReadonlySet<string> = new Set([...CUSTOM_GROUPS, DEVICE_CLASS.group]);

/** CRDs that are read by name, because all CRDs of a cluster are many megabytes. */
export const DEFINITIONS: readonly string[] = [
  ...new Set(
    READ_KINDS.flatMap(({ versions: [{ group, plural }] }) => (CUSTOM_GROUPS.has(group) ? [`${plural}.${group}`] : [])),
  ),
];
