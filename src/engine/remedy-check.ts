/** Checks remedies of refused pods by solves with the remedy applied. Callers choose the thread of the solves. */

import { interleave } from '#lib';
import { withCheckedCause } from './causes/plan-causes.ts';
import { proveRemedy, RemedyChecker, type RemedyProof } from './causes/remedy-proof.ts';
import type { EngineSnapshot, Plan, PodRefusal, SolveOptions } from './model.ts';
import { namespaceOf, podKey } from './pods.ts';

/** Maximum number of changes that a proof applies one after the other. */
const MOST_STEPS = 5;
/** Maximum number of checks for one plan. */
const MOST_CHECKS = 20;
/** Maximum sum of the nodes and pending pods of these checks. A check with 400 of them takes about 0.1 s of CPU time. */
const MOST_WORK = 10_000;

interface Solved<Input> {
  /** Input of the plan. */
  readonly snapshot: Input;
  readonly options: SolveOptions;
  readonly plan: Pick<Plan, 'refusals'>;
  readonly solve: (snapshot: Input, options: SolveOptions) => Plan | Promise<Plan>;
}

/** Returns options for a solve that only shows if a pod has a place. */
function checkOptions(options: SolveOptions): SolveOptions {
  const { mostClaims: _, mostLaunches: __, countZones: ___, first: ____, ...rest } = options;
  return { ...rest, packing: 'compatible', afterBinding: false, explain: true };
}

/** Returns the number of checks for a plan. Large clusters have fewer, because a check takes longer there. */
const mostChecks = ({ nodes, pendingPods }: EngineSnapshot): number =>
  Math.min(MOST_CHECKS, Math.floor(MOST_WORK / Math.max(1, nodes.length + pendingPods.length)));

/**
 * Returns the refusals with causes whose remedies are checked: the first of equally close causes with a remedy that places the
 * pod, or the nearest cause with a remark. Alike pods share a check, and namespaces take turns.
 * @param mayCheck called before each check. If it returns false, further causes have the remark that they are not checked
 */
export async function checkRemedies<Input extends EngineSnapshot>(
  { snapshot, options, plan, solve }: Solved<Input>,
  mayCheck: () => boolean = () => true,
): Promise<ReadonlyMap<string, PodRefusal>> {
  let left = mostChecks(snapshot);
  // coming pods would only change the sizes of nodes
  const solveChanged = ({ comingReplicas: _, ...changed }: EngineSnapshot) =>
    solve(changed as Input, checkOptions(options));
  const checker = new RemedyChecker({ snapshot, solve: solveChanged }, () => left-- > 0 && mayCheck());
  // alike refusals share one object
  const shared = new Map<PodRefusal, Map<string, PodRefusal>>();
  const found = new Map(plan.refusals);
  const refused = snapshot.pendingPods.filter((pod) => plan.refusals.has(podKey(pod)));
  for (const pod of interleave([...Map.groupBy(refused, namespaceOf).values()])) {
    const refusal = plan.refusals.get(podKey(pod));
    if (refusal?.code !== 'no-fit' || refusal.cause === undefined) continue;
    const checked = await withCheckedCause(pod, refusal, checker);
    const alike = shared.get(refusal) ?? new Map<string, PodRefusal>();
    shared.set(refusal, alike);
    const key = JSON.stringify([checked.cause?.object, checked.cause?.code, checked.cause?.remark]);
    found.set(podKey(pod), alike.get(key) ?? checked);
    alike.set(key, alike.get(key) ?? checked);
  }
  return found;
}

/**
 * Proves the remedy of a refused pod: applies it and the remedies of further causes, until the pod has a place. Returns undefined
 * if the pod has a place, or if its refusal has no cause.
 * @param key `namespace/name`
 */
export async function provePodRemedy<Input extends EngineSnapshot>(
  key: string,
  { snapshot, options, plan, solve }: Solved<Input>,
): Promise<RemedyProof | undefined> {
  const pod = snapshot.pendingPods.find((each) => podKey(each) === key);
  const refusal = plan.refusals.get(key);
  if (pod === undefined || refusal?.code !== 'no-fit' || refusal.cause === undefined) return undefined;
  // coming pods would only change the sizes of nodes
  const solveChanged = ({ comingReplicas: _, ...changed }: EngineSnapshot) =>
    solve(changed as Input, checkOptions(options));
  return proveRemedy(pod, refusal.cause, { snapshot, solve: solveChanged, mostSteps: MOST_STEPS });
}
