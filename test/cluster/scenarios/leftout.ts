/** Scenarios of `test/operator` that are not played on a real control plane, and why. */

const WAITS = 'its deadlines are minutes long, and a real control plane keeps real time';
const FAULTS =
  'the local API server fails on demand; for a real one see faults.test.ts and stale.test.ts in test/cluster';

const AWS = 'it is about AWS, which is the local one here as well, with delays that would take their full length';
const ENOUGH = 'each death takes half a minute of real time; those that are played include each part of a replacement';
const SPREADS = 'kube-scheduler may put the pods on other nodes than those that were bought for them';
/** Tests of deaths while a single node is replaced. */
const REPLACING = 'an operator that is killed while it replaces a node';
const REPLACING_SEVERAL = 'an operator that is killed while it replaces several nodes by one';

export interface LeftOut {
  /** Name of the file in `test/operator`. */
  readonly file: string;
  /** Begins the full name of the tests; absent: all of the file. */
  readonly test?: string;
  readonly why: string;
}

export const LEFT_OUT: readonly LeftOut[] = [
  { file: 'awsfaults.test.ts', why: AWS },
  { file: 'awshealth.test.ts', why: AWS },
  { file: 'buffers.test.ts', test: 'a CapacityBuffer of a PodTemplate', why: WAITS },
  { file: 'capacity.test.ts', test: 'a shortage of the cheapest offering', why: WAITS },
  { file: 'capacity.test.ts', test: 'a shortage of everything', why: WAITS },
  { file: 'capacity.test.ts', test: 'an instance that never joins', why: WAITS },
  { file: 'consolidation.test.ts', test: 'an interruption during a consolidation of the replacement', why: WAITS },
  { file: 'constraints.test.ts', why: 'placement.test.ts in test/cluster asks more of it' },
  { file: 'cost.test.ts', test: 'the history', why: WAITS },
  { file: 'crashes.test.ts', test: `${REPLACING} before it taints`, why: ENOUGH },
  { file: 'crashes.test.ts', test: `${REPLACING} before it creates`, why: ENOUGH },
  { file: 'crashes.test.ts', test: `${REPLACING} after it deleted`, why: ENOUGH },
  { file: 'crashes.test.ts', test: `${REPLACING} after it wrote`, why: ENOUGH },
  { file: 'crashes.test.ts', test: `${REPLACING} after it created`, why: ENOUGH },
  { file: 'crashes.test.ts', test: `${REPLACING} before it deletes the old claim`, why: ENOUGH },
  { file: 'crashes.test.ts', test: `${REPLACING} before it deletes the old node`, why: ENOUGH },
  { file: 'crashes.test.ts', test: `${REPLACING} before it terminates`, why: ENOUGH },
  { file: 'crashes.test.ts', test: `${REPLACING} before it lets`, why: ENOUGH },
  { file: 'crashes.test.ts', test: `${REPLACING} while it takes a command back`, why: ENOUGH },
  {
    file: 'crashes.test.ts',
    test: `${REPLACING} takes the marks back if there is no reason any more, when only`,
    why: ENOUGH,
  },
  { file: 'crashes-of-several.test.ts', test: `${REPLACING_SEVERAL} while it waits`, why: ENOUGH },
  { file: 'crashes-of-several.test.ts', test: `${REPLACING_SEVERAL} after it tainted`, why: ENOUGH },
  { file: 'crashes-of-several.test.ts', test: `${REPLACING_SEVERAL} after it deleted`, why: ENOUGH },
  { file: 'differential.test.ts', why: 'its clusters are set up while time stands still' },
  { file: 'drift.test.ts', test: 'an edit of a NodePool that only concerns disruption', why: WAITS },
  { file: 'drift.test.ts', test: 'an image that becomes deprecated', why: WAITS },
  { file: 'drift.test.ts', test: 'expiry', why: WAITS },
  { file: 'drift.test.ts', test: 'budgets of zero keep every node', why: WAITS },
  { file: 'drift.test.ts', test: 'budgets of a schedule', why: WAITS },
  { file: 'ended-nodepools.test.ts', why: WAITS },
  { file: 'garbage.test.ts', why: WAITS },
  { file: 'launch-budget.test.ts', why: WAITS },
  { file: 'leadership.test.ts', why: 'its wire between operators and API server carries no TLS' },
  { file: 'logs.test.ts', why: 'what an hour brings to the log takes an hour of real time' },
  { file: 'metrics.test.ts', why: WAITS },
  { file: 'price-book.test.ts', test: 'a price book has covered types', why: WAITS },
  { file: 'protection.test.ts', test: 'a PodDisruptionBudget that allows nothing holds a node', why: WAITS },
  { file: 'protection.test.ts', test: 'a PodDisruptionBudget that allows nothing delays the drift', why: WAITS },
  { file: 'protection.test.ts', test: 'do-not-disrupt for a duration', why: WAITS },
  {
    file: 'record.test.ts',
    test: 'karpenter record writes what was there',
    why: "who records has rights of their own; the operator's account, which scenarios have, may not list PriorityClasses",
  },
  { file: 'replay-fidelity.test.ts', why: WAITS },
  { file: 'repair.test.ts', why: WAITS },
  { file: 'restarts.test.ts', test: 'the connection to the API server', why: FAULTS },
  {
    file: 'simulation-worker.test.ts',
    why: 'which commands a pass makes depends on when it falls; the threads are the same, and consolidation.test.ts is played',
  },
  { file: 'skew.test.ts', why: 'the clocks of a real control plane cannot be set' },
  { file: 'soak.test.ts', why: 'it needs hours of time' },
  { file: 'swap.test.ts', why: SPREADS },
  { file: 'takeover-back.test.ts', why: 'the recorded account is the local one' },
  { file: 'takeover-orphans.test.ts', why: WAITS },
  { file: 'takeover.test.ts', why: 'an hour has to pass in it, and the recorded account is the local one' },
  { file: 'unbound.test.ts', why: WAITS },
  { file: 'whynot.test.ts', why: WAITS },
];
