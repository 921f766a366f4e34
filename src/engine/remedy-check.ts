/** Proves the remedy of a refused pod: which changes give the pod a place. */
import { proveRemedy, type RemedyProof } from './causes/remedy-proof.ts';
import type { EngineSnapshot, Plan, SolveOptions } from './model.ts';
import { podKey } from './pods.ts';
import { checkOptions, solve } from './solve.ts';

/** Maximum number of changes that are applied one after the other. */
const MOST_STEPS = 5;

interface Solved {
  /** Input of the plan. */
  readonly snapshot: EngineSnapshot;
  readonly options: SolveOptions;
  readonly plan: Plan;
}

/** Returns undefined if the pod has a place, or if its refusal has no cause. @param key `namespace/name` */
export function provePodRemedy(key: string, { snapshot, options, plan }: Solved): RemedyProof | undefined {
  const pod = snapshot.pendingPods.find((each) => podKey(each) === key);
  const refusal = plan.refusals.get(key);
  if (pod === undefined || refusal?.code !== 'no-fit' || refusal.cause === undefined) return undefined;
  const solveChanged = (changed: EngineSnapshot): Plan => solve(changed, checkOptions(options));
  return proveRemedy(pod, refusal.cause, { snapshot, solve: solveChanged, mostSteps: MOST_STEPS });
}
