/** Logs preferences of pods that can prevent consolidation. Logs the same pods at most once per hour. */
import type { Pod } from '../../api/kubernetes.ts';
import { podKey } from '../../engine/pods.ts';
import { monotonicMs, type Timepiece } from '../../lib/clock.ts';
import type { Logger } from '../../observe/logger.ts';
import { firstFew } from '../text.ts';

const AGAIN_MS = 60 * 60_000;
const SHOWN = 10;

const prefersDistance = ({ spec }: Pod): boolean =>
  (spec.affinity?.podAntiAffinity?.preferredDuringSchedulingIgnoredDuringExecution ?? []).length > 0;

const prefersSpread = ({ spec }: Pod): boolean =>
  (spec.topologySpreadConstraints ?? []).some(({ whenUnsatisfiable }) => whenUnsatisfiable === 'ScheduleAnyway');

const PREFERENCES: readonly { readonly has: (pod: Pod) => boolean; readonly message: string }[] = [
  { has: prefersDistance, message: 'pod(s) have a preferred Anti-Affinity which can prevent consolidation' },
  { has: prefersSpread, message: 'pod(s) have a preferred TopologySpreadConstraint which can prevent consolidation' },
];

type WarnOfPreferences = (pods: readonly Pod[], log: Logger) => void;

export function preferenceWarnings(clock: Timepiece): WarnOfPreferences {
  const reportedMs = new Map<string, number>();
  return (pods, log) => {
    const nowMs = monotonicMs(clock);
    for (const [id, ms] of reportedMs) if (nowMs - ms >= AGAIN_MS) reportedMs.delete(id);
    for (const { has, message } of PREFERENCES) {
      const names = pods.filter(has).map(podKey).sort();
      const id = `${message} ${names.join(' ')}`;
      if (names.length === 0 || reportedMs.has(id)) continue;
      reportedMs.set(id, nowMs);
      log.info(message, { pods: firstFew(names, SHOWN) });
    }
  };
}
