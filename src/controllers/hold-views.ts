/** Content of `/debug/holds`: pending pods that are held back for now, with reasons. The format is public. */
import { podKey } from '../engine/pods.ts';
import { type HoldCode, type HoldOf, wallTimeOf } from '../state/pod-holds.ts';
import type { Deps } from './deps.ts';
import { pendingPods } from './provisioning/solve-input.ts';

interface HoldView {
  /** `namespace/name`. */
  readonly pod: string;
  readonly code: HoldCode;
  /** Property that the nodes for such pods lacked, or the engine worker that did not respond. */
  readonly text: string;
  readonly since: string;
  readonly until: string;
  /** Number of successive holds of such pods. */
  readonly times: number;
}

export function* holdViews({ cluster, clock }: Pick<Deps, 'cluster' | 'clock'>, holdOf: HoldOf): Iterable<HoldView> {
  for (const pod of pendingPods(cluster)) {
    const hold = holdOf(pod);
    if (hold === undefined) continue;
    const { code, text, sinceMs, untilMs, times } = hold;
    yield { pod: podKey(pod), code, text, since: wallTimeOf(clock, sinceMs), until: wallTimeOf(clock, untilMs), times };
  }
}
