/** What an operator serves at `/debug/holds`: the pods that wait and are left out for now, and why. Of public form. */
import { podKey } from '../engine/pods.ts';
import { type HoldCode, type HoldOf, wallTimeOf } from '../state/pod-holds.ts';
import type { Deps } from './deps.ts';
import { pendingPods } from './provisioning/workload.ts';

interface HoldView {
  /** `namespace/name`. */
  readonly pod: string;
  readonly code: HoldCode;
  /** What the nodes lacked that were bought for such pods, or which engine worker did not answer. */
  readonly text: string;
  readonly since: string;
  readonly until: string;
  /** How often in succession such pods have been held. */
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
