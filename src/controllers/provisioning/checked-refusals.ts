/**
 * Checks the remedies of refused pods after the launches of a run, so that pods do not wait for the checks. Keeps each result
 * until the next event about the pod, because events are the main reader.
 */

import type { Pod } from '#api/objects';
import type { PodRefusal } from '#engine/model';
import { checkRemedies } from '#engine/solve';
import type { Solver } from '#engine-worker';
import { messageOf, remembering } from '#lib';
import { monotonicMs } from '#lib/clock';
import { FAILED_SCHEDULING } from '#observe/events';
import type { Logger } from '#observe/logger';
import type { Deps } from '../deps.ts';
import type { Solved } from './results.ts';

/** Time limit of one check. */
const DEADLINE_MS = 5_000;

interface Checked {
  readonly uid: string | undefined;
  /** Refusal before the check, as text. */
  readonly unchecked: string;
  readonly refusal: PodRefusal;
  readonly untilMs: number;
}

const textOf = remembering((refusal: PodRefusal): string =>
  refusal.code === 'no-fit' ? JSON.stringify([refusal.text, refusal.cause, refusal.candidates?.causes]) : refusal.text,
);

export class CheckedRefusals {
  readonly #clock: Deps['clock'];
  #known: ReadonlyMap<string, Checked> = new Map();

  constructor({ clock }: Pick<Deps, 'clock'>) {
    this.#clock = clock;
  }

  /**
   * Returns the refusals of pods with checked remedies.
   * @param mayCheck returns false if the remaining remedies should not be checked now
   */
  async check(
    { plan, pods, snapshot, options }: Pick<Solved, 'plan' | 'pods' | 'snapshot' | 'options'>,
    solve: Solver,
    { mayCheck, log }: { readonly mayCheck: () => boolean; readonly log: Logger },
  ): Promise<ReadonlyMap<string, PodRefusal>> {
    const known = new Map<string, Checked>();
    const open = new Map<string, PodRefusal>();
    for (const [key, refusal] of plan.refusals) {
      const pod = pods.get(key);
      if (pod === undefined) continue;
      const before = this.#known.get(key);
      if (before !== undefined && this.#isCurrent(before, pod, refusal)) known.set(key, before);
      else open.set(key, refusal);
    }
    const problem = { snapshot, options: { ...options, deadlineMs: DEADLINE_MS }, plan: { refusals: open }, solve };
    const checked = await checkRemedies(problem, mayCheck).catch((error: unknown) => {
      log.debug('could not check the remedies of pending pods', { error: messageOf(error) });
      return checkRemedies(problem, () => false);
    });
    const untilMs = monotonicMs(this.#clock) + FAILED_SCHEDULING.windowMs;
    for (const [key, refusal] of checked) {
      const unchecked = textOf(open.get(key) ?? refusal);
      known.set(key, { uid: pods.get(key)?.metadata.uid, unchecked, refusal, untilMs });
    }
    this.#known = known;
    return new Map([...plan.refusals].map(([key, refusal]) => [key, known.get(key)?.refusal ?? refusal]));
  }

  #isCurrent({ uid, unchecked, untilMs }: Checked, pod: Pod, refusal: PodRefusal): boolean {
    return uid === pod.metadata.uid && unchecked === textOf(refusal) && monotonicMs(this.#clock) < untilMs;
  }
}
