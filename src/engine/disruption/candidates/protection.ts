/** Interprets the do-not-disrupt annotation of a pod. */

import { DO_NOT_DISRUPT_ANNOTATION } from '#api/objects';
import { parseDuration } from '#api/values';
import { remembering } from '#lib';
import type { EnginePod } from '../../input.ts';
import { isActive } from '../../pods.ts';

type Protection =
  | { readonly kind: 'none' }
  | { readonly kind: 'always' }
  /** Protection for a duration from the start of the pod. The pod has not started. */
  | { readonly kind: 'from-start' }
  | { readonly kind: 'until'; readonly ms: number }
  | { readonly kind: 'elapsed' }
  /** Value that is not valid or not positive. Counts as absent. */
  | { readonly kind: 'invalid'; readonly error: string };

/** Returns the active pods that have the annotation, regardless of its value. The list is usually empty. */
export const annotatedPods = remembering((pods: readonly EnginePod[]): readonly EnginePod[] =>
  pods.filter((pod) => isActive(pod) && pod.metadata.annotations?.[DO_NOT_DISRUPT_ANNOTATION] !== undefined),
);

export function protectionOf(pod: EnginePod, nowMs: number): Protection {
  const value = pod.metadata.annotations?.[DO_NOT_DISRUPT_ANNOTATION];
  if (value === undefined) return { kind: 'none' };
  if (value === 'true') return { kind: 'always' };
  const duration = readDuration(value);
  if (typeof duration === 'string') return { kind: 'invalid', error: duration };
  if (pod.status?.startTime === undefined) return { kind: 'from-start' };
  const untilMs = Date.parse(pod.status.startTime) + duration;
  return nowMs < untilMs ? { kind: 'until', ms: untilMs } : { kind: 'elapsed' };
}

function readDuration(value: string): number | string {
  try {
    const ms = parseDuration(value);
    return ms > 0 ? ms : `duration "${value}" must be positive`;
  } catch {
    return `"${value}" is neither "true" nor a duration, for example 30m`;
  }
}
