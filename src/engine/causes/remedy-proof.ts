/** Checks remedies by solves with the remedy applied. */
import type { EnginePod } from '../input.ts';
import type { EngineSnapshot, Plan } from '../model.ts';
import { namespaceOf, podKey } from '../pods.ts';
import { type Cause, causeText } from './cause.ts';
import { applyEdit, type RemedyEdit, remedyEdit } from './remedy.ts';

/** Result of a check in a public format. */
export interface RemedyProof {
  /** Changes that were applied one after the other, with the cause that each of them removes. */
  readonly steps: readonly RemedyStep[];
  /** Place of the pod after these changes. Absent if the pod stays pending. */
  readonly place?: RemedyPlace;
  /** Cause that remains after these changes. Absent if the pod has a place, or if its reason is not a cause. */
  readonly remaining?: Cause;
  /** Reason why the check ended without a place. */
  readonly problem?: string;
}

type End = Omit<RemedyProof, 'steps'>;

interface RemedyStep {
  readonly cause: Cause;
  readonly change: string;
}

interface RemedyPlace {
  /** Name of an existing node. */
  readonly node?: string;
  /** NodePool and cheapest instance type of a new node. */
  readonly nodePool?: string;
  readonly instanceType?: string;
}

/** Maximum number of characters of all pods that are compared, because users choose the length of a pod. */
const MOST_COMPARED = 10_000_000;
const NOT_APPLICABLE = 'the remedy is not a change that a solve can apply';

interface Check {
  readonly snapshot: EngineSnapshot;
  /** Solves a changed snapshot. Its refusals have causes. */
  readonly solve: (snapshot: EngineSnapshot) => Plan | Promise<Plan>;
}

/** Applies the remedy of the cause, then the remedies of the causes that remain, until the pod has a place. */
export async function proveRemedy(
  pod: EnginePod,
  cause: Cause,
  { snapshot, solve, mostSteps }: Check & { readonly mostSteps: number },
): Promise<RemedyProof> {
  const steps: RemedyStep[] = [];
  let next = { cause, snapshot };
  while (steps.length < mostSteps) {
    const edit = remedyEdit(next.cause);
    if (edit === undefined) return { steps, remaining: next.cause, problem: NOT_APPLICABLE };
    const changed = applyEdit(edit, { pod, name: next.cause.object.name, snapshot: next.snapshot });
    steps.push({ cause: next.cause, change: edit.change });
    const { remaining, ...end } = endIn(await solve(changed), podKey(pod));
    if (remaining === undefined) return { steps, ...end };
    next = { cause: remaining, snapshot: changed };
  }
  return { steps, remaining: next.cause, problem: `${mostSteps} changes do not suffice` };
}

/** Returns the place of the pod, the cause that remains, or another reason. */
function endIn({ claims, placements, refusals }: Plan, key: string): End {
  const existing = placements.find(({ pods }) => pods.includes(key));
  if (existing !== undefined) return { place: { node: existing.node } };
  const claim = claims.find(({ pods }) => pods.includes(key));
  if (claim !== undefined) return { place: { nodePool: claim.nodePool, instanceType: claim.cheapest } };
  const refusal = refusals.get(key);
  if (refusal === undefined) return { problem: 'the time limit was reached before the pod was evaluated' };
  return refusal.code === 'no-fit' && refusal.cause !== undefined
    ? { remaining: refusal.cause }
    : { problem: refusal.text };
}

/** Checks the remedies of many pods, and shares solves between pods. */
export class RemedyChecker {
  readonly #check: Check;
  readonly #mayCheck: () => boolean;
  /** Plans after changes of NodePools, which are the same for all pods. */
  readonly #plans = new Map<string, Plan>();
  /** Results of changes of a pod, which are the same for pods that differ in their name only. */
  readonly #ends = new Map<string, End>();
  #compared = 0;

  /** @param mayCheck returns false if the work for checks is used up. Called before each solve. */
  constructor(check: Check, mayCheck: () => boolean) {
    this.#check = check;
    this.#mayCheck = mayCheck;
  }

  /** Returns undefined if the work for checks is used up. */
  async check(pod: EnginePod, cause: Cause): Promise<RemedyProof | undefined> {
    const edit = remedyEdit(cause);
    if (edit === undefined) return { steps: [], remaining: cause, problem: NOT_APPLICABLE };
    const end = await (edit.pod === undefined ? this.#endOfShared(pod, cause, edit) : this.#endOfOwn(pod, cause, edit));
    return end && { steps: [{ cause, change: edit.change }], ...end };
  }

  async #endOfShared(pod: EnginePod, cause: Cause, edit: RemedyEdit): Promise<End | undefined> {
    const plan = this.#plans.get(edit.change) ?? (await this.#solve(pod, cause, edit));
    if (plan === undefined) return undefined;
    this.#plans.set(edit.change, plan);
    return endIn(plan, podKey(pod));
  }

  async #endOfOwn(pod: EnginePod, cause: Cause, edit: RemedyEdit): Promise<End | undefined> {
    if (this.#compared > MOST_COMPARED) return undefined;
    const key = JSON.stringify([edit.change, namespaceOf(pod), pod.metadata.labels, pod.spec, pod.successorRequests]);
    this.#compared += key.length;
    const known = this.#ends.get(key);
    if (known !== undefined) return known;
    const plan = await this.#solve(pod, cause, edit);
    if (plan === undefined) return undefined;
    const end = endIn(plan, podKey(pod));
    this.#ends.set(key, end);
    return end;
  }

  async #solve(pod: EnginePod, cause: Cause, edit: RemedyEdit): Promise<Plan | undefined> {
    if (!this.#mayCheck()) return undefined;
    const { snapshot, solve } = this.#check;
    return solve(applyEdit(edit, { pod, name: cause.object.name, snapshot }));
  }
}

/** Returns the remark on a remedy whose change was applied, or undefined if it places the pod. */
export function remarkOn({ steps, place, remaining, problem = '' }: RemedyProof): string | undefined {
  // a remedy that no solve can apply is advice without a promise
  if (place !== undefined || steps.length === 0) return undefined;
  return remaining === undefined
    ? `This does not suffice: ${problem}.`
    : `A further cause remains: ${causeText(remaining)}`;
}

export const NOT_CHECKED = 'No solve has checked this change.';
