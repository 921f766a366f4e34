/** Scenarios of `test/operator` that do not run on a real control plane, with the reason. */

const WAITS = 'its deadlines are minutes long, and a real control plane runs in real time';
const FAULTS =
  'the local API server fails on demand; for a real one see faults.test.ts and stale.test.ts in test/cluster';

const AWS = 'it tests AWS, which is local here as well, and its delays would take real time';
const ENOUGH =
  'each crash takes a minute of real time; those that run kill the operator with a replacement, and in a drain';
const SAME_READS = 'the server only returns the objects that the first test of the file reads as well';
const STEERING =
  'it waits minutes for marks; the test that runs sets and removes them, and the ReplicaSet controller uses them';
const COLLECTOR = 'it tests the collector of traces, which is local here as well';
const SPREADS = 'kube-scheduler may bind the pods to other nodes than the engine planned';
const DECISION = 'it tests a decision of the engine; another test of its file sends the same requests and runs here';
const SETTING =
  'it changes a price or a policy of the engine; consolidation.test.ts sends the same requests and runs here';
/** Tests that kill the operator while it replaces a single node. */
const REPLACING = 'an operator that is killed while it replaces a node';

export interface LeftOut {
  /** Name of the file in `test/operator`. */
  readonly file: string;
  /** Prefix of the full name of the tests. Undefined: the whole file. */
  readonly test?: string;
  readonly why: string;
}

export const LEFT_OUT: readonly LeftOut[] = [
  { file: 'absent-kinds.test.ts', why: WAITS },
  { file: 'awsfaults.test.ts', why: AWS },
  { file: 'awshealth.test.ts', why: AWS },
  { file: 'balanced.test.ts', why: SETTING },
  { file: 'buffers.test.ts', test: 'a CapacityBuffer keeps empty nodes', why: WAITS },
  { file: 'capacity.test.ts', why: AWS },
  { file: 'ceilings.test.ts', test: 'a CapacityQuota bounds', why: WAITS },
  { file: 'consolidation.test.ts', test: 'an interruption during a consolidation rolls the command back', why: WAITS },
  { file: 'consolidation.test.ts', test: 'scaling down replaces a single node', why: DECISION },
  { file: 'consolidation.test.ts', test: 'scaling down deletes a node whose pods fit', why: DECISION },
  { file: 'consolidation.test.ts', test: 'scaling down keeps nodes that are not empty', why: DECISION },
  { file: 'constraints.test.ts', why: 'placement.test.ts in test/cluster covers more' },
  { file: 'cost.test.ts', test: 'is one price of a node', why: SAME_READS },
  { file: 'cost.test.ts', test: 'includes the same surplus CPU credits', why: SAME_READS },
  { file: 'cost.test.ts', test: 'the history', why: WAITS },
  { file: 'crashes.test.ts', test: `${REPLACING} before it taints`, why: ENOUGH },
  { file: 'crashes.test.ts', test: `${REPLACING} before it creates`, why: ENOUGH },
  { file: 'crashes.test.ts', test: `${REPLACING} after it tainted`, why: ENOUGH },
  { file: 'crashes.test.ts', test: `${REPLACING} after it deleted`, why: ENOUGH },
  { file: 'crashes.test.ts', test: `${REPLACING} after it wrote`, why: ENOUGH },
  { file: 'crashes.test.ts', test: `${REPLACING} after it created`, why: ENOUGH },
  { file: 'crashes.test.ts', test: `${REPLACING} before it deletes the old claim`, why: ENOUGH },
  { file: 'crashes.test.ts', test: `${REPLACING} before it deletes the old node`, why: ENOUGH },
  { file: 'crashes.test.ts', test: `${REPLACING} after it launched`, why: ENOUGH },
  { file: 'crashes.test.ts', test: `${REPLACING} before it terminates`, why: ENOUGH },
  { file: 'crashes.test.ts', test: `${REPLACING} after it terminated`, why: ENOUGH },
  { file: 'crashes.test.ts', test: `${REPLACING} before it removes`, why: ENOUGH },
  { file: 'crashes.test.ts', test: `${REPLACING} completes the rollback`, why: ENOUGH },
  {
    file: 'crashes.test.ts',
    test: `${REPLACING} removes the marks if the reason is gone after only`,
    why: ENOUGH,
  },
  { file: 'crashes-of-several.test.ts', why: ENOUGH },
  {
    file: 'devices.test.ts',
    test: 'the example launches a node for the claim of a GPU',
    why: 'the other examples launch nodes for claims as well; for a manifest of a GPU see dra-guide.test.ts in test/cluster',
  },
  { file: 'devices.test.ts', test: 'a pod with a claim gets a node with the devices', why: WAITS },
  { file: 'devices.test.ts', test: 'a node without the promised devices', why: WAITS },
  { file: 'differential.test.ts', why: 'its clusters are created while the clock is stopped' },
  { file: 'drift.test.ts', test: 'an edit of a NodePool causes no drift', why: WAITS },
  { file: 'drift.test.ts', test: 'an edit of a NodePool drifts the nodes', why: DECISION },
  { file: 'drift.test.ts', test: 'a newer image behind the alias', why: AWS },
  { file: 'drift.test.ts', test: 'an image that becomes deprecated', why: WAITS },
  { file: 'drift.test.ts', test: 'expiry', why: WAITS },
  { file: 'drift.test.ts', test: 'a budget keeps every node', why: WAITS },
  { file: 'drift.test.ts', test: 'a budget is closed only', why: WAITS },
  { file: 'drift.test.ts', test: 'a budget does not block other reasons', why: DECISION },
  { file: 'efficiency.test.ts', why: 'metrics-server does not run there, and the API is the same' },
  { file: 'ended-nodepools.test.ts', why: WAITS },
  { file: 'explain.test.ts', test: 'a node that never joins', why: WAITS },
  { file: 'gangs.test.ts', test: 'a gang of eight pods that fill a node each returns', why: AWS },
  { file: 'gangs.test.ts', test: 'a running gang on drifted nodes', why: WAITS },
  { file: 'gangs.test.ts', test: 'a PodGroup', why: 'gangs.test.ts in test/cluster has PodGroups of kube-scheduler' },
  { file: 'gangs.test.ts', test: 'a gang of six pods', why: 'kube-scheduler binds pods without a PodGroup one by one' },
  { file: 'garbage.test.ts', why: WAITS },
  { file: 'lost-nodes.test.ts', why: WAITS },
  { file: 'initialization.test.ts', why: WAITS },
  { file: 'isolation.test.ts', why: WAITS },
  { file: 'kops.test.ts', why: AWS },
  { file: 'launch-answers.test.ts', why: WAITS },
  { file: 'launch-budget.test.ts', why: WAITS },
  { file: 'leadership.test.ts', why: 'its proxy between operators and API server does not support TLS' },
  { file: 'limits.test.ts', why: WAITS },
  { file: 'live-page.test.ts', why: 'its answers come from caches of the operator, which all other scenarios fill' },
  { file: 'logs.test.ts', why: 'its log of an hour takes an hour of real time' },
  { file: 'mainjob.test.ts', why: 'mainjob.test.ts in test/cluster covers more' },
  {
    file: 'memory-pressure.test.ts',
    why: 'the test sets the memory in use, and the API server only receives an event',
  },
  { file: 'metrics.test.ts', why: WAITS },
  { file: 'networks.test.ts', why: 'the addresses and zones of a real control plane are those of the machine' },
  { file: 'node-capacity.test.ts', why: 'a real kubelet reports its own disks' },
  { file: 'node-fee.test.ts', why: SETTING },
  { file: 'node-policy.test.ts', test: 'a NodePolicy is optional', why: 'it removes a kind that other tests need' },
  { file: 'node-policy.test.ts', test: 'an operator with MODE=observe', why: AWS },
  { file: 'nominations.test.ts', test: 'a nomination is left out without the right', why: FAULTS },
  {
    file: 'pause.test.ts',
    test: 'karpenter pause',
    why: 'its kubeconfig is the one of the operator, which has no right to write the ConfigMap',
  },
  { file: 'preferences.test.ts', test: 'a preference keeps nodes', why: WAITS },
  { file: 'provisioning-requests.test.ts', test: 'a ProvisioningRequest of the class check-capacity', why: WAITS },
  { file: 'provisioning-requests.test.ts', test: 'a ProvisioningRequest of the class best-effort', why: AWS },
  { file: 'price-book.test.ts', test: 'a price book launches covered types', why: WAITS },
  {
    file: 'protection.test.ts',
    test: 'a PodDisruptionBudget without allowed disruptions blocks the termination',
    why: WAITS,
  },
  {
    file: 'protection.test.ts',
    test: 'a PodDisruptionBudget without allowed disruptions delays the drift',
    why: WAITS,
  },
  { file: 'protection.test.ts', test: 'do-not-disrupt protects the node of a pod', why: DECISION },
  { file: 'protection.test.ts', test: 'do-not-disrupt keeps the node for its duration', why: WAITS },
  { file: 'protection.test.ts', test: 'do-not-disrupt is reported and ignored', why: DECISION },
  { file: 'protection.test.ts', test: 'do-not-disrupt protects only the annotated node', why: DECISION },
  {
    file: 'record.test.ts',
    test: 'karpenter record writes existing objects',
    why: "recording needs further permissions; the operator's account, which scenarios use, may not list PriorityClasses",
  },
  { file: 'replay-fidelity.test.ts', why: WAITS },
  { file: 'repair.test.ts', why: WAITS },
  { file: 'reservations.test.ts', why: WAITS },
  { file: 'resize.test.ts', why: 'it tests how the kubelets of the local world carry out resizes' },
  { file: 'restarts.test.ts', test: 'the connection to the API server', why: FAULTS },
  { file: 'restarts.test.ts', test: 'a lost response', why: 'faults.test.ts in test/cluster covers more' },
  {
    file: 'restarts.test.ts',
    test: 'a pair of operators',
    why: 'replicas.test.ts and faults.test.ts in test/cluster cover more',
  },
  {
    file: 'scheduled-events.test.ts',
    test: 'an event of EC2 that is scheduled for all instances replaces no node',
    why: WAITS,
  },
  {
    file: 'simulation-worker.test.ts',
    why: 'the commands of a pass depend on its time; the threads are the same, and consolidation.test.ts is included',
  },
  { file: 'rollout.test.ts', why: WAITS },
  { file: 'skew.test.ts', why: 'the clocks of a real control plane cannot be set' },
  { file: 'soak.test.ts', why: 'it needs hours of time' },
  { file: 'spot-policy.test.ts', test: 'the maximum price of spot', why: WAITS },
  { file: 'spot-policy.test.ts', test: 'the wait for spot capacity', why: WAITS },
  { file: 'spot-risk.test.ts', test: 'a spot pool whose instances were interrupted is used again', why: DECISION },
  { file: 'stateful-sets.test.ts', test: 'a StatefulSet of four pods keeps this node', why: WAITS },
  { file: 'static.test.ts', test: 'a static NodePool replaces drifted', why: DECISION },
  { file: 'static.test.ts', test: 'a static NodePool keeps drifted', why: WAITS },
  { file: 'steering.test.ts', test: 'steering removes the marks', why: STEERING },
  { file: 'steering.test.ts', test: 'steering keeps new pods', why: STEERING },
  { file: 'steering.test.ts', test: 'a deletion cost of steering ends when the operator', why: STEERING },
  {
    file: 'surge.test.ts',
    test: 'a Deployment of one pod that requests a surge is evicted at the deadline',
    why: WAITS,
  },
  { file: 'swap.test.ts', why: SPREADS },
  { file: 'takeover-back.test.ts', why: 'the recorded account is the local one' },
  { file: 'takeover-orphans.test.ts', why: WAITS },
  { file: 'takeover.test.ts', why: 'it takes an hour, and the recorded account is the local one' },
  { file: 'traces.test.ts', why: COLLECTOR },
  { file: 'unbound.test.ts', why: WAITS },
  {
    file: 'volumes.test.ts',
    why: 'a real control plane has no driver that provisions volumes; the clusters of soundness.test.ts have bound ones',
  },
  { file: 'whynot.test.ts', why: WAITS },
  ...(process.env.KUBERNETES
    ? [
        { file: 'devices.test.ts', why: 'it needs resource.k8s.io/v1, which older control planes do not serve' },
        { file: 'nominations.test.ts', why: 'API servers before 1.34 keep the nomination of a pod that is bound' },
      ]
    : []),
];
