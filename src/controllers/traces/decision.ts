/** Decision of a provisioner run for the traces of its NodeClaims. Each of these traces contains the steps of the run. */
import type { Pod } from '#api/objects';
import { isScheduled, type PlannedClaim } from '#engine/model';
import type { FinishedSpan, Span } from '#observe/traces';
import type { PodTiming } from '#state';

/** Maximum number of pods with a span per solve. Tracing thousands of pods must not cost more than their solve. */
const MOST_PODS = 200;

/** Pod with a traced path to its node. */
export interface TracedPod {
  readonly pod: Pod;
  /** Time at which the operator first observed that this pod needs a node. */
  readonly sinceMs: number;
}

/** Decision that led to a NodeClaim. */
export interface TracedDecision {
  readonly steps: readonly FinishedSpan[];
  /** Parent span of the NodeClaims. Undefined if each NodeClaim has its own trace. */
  readonly parent?: Span | undefined;
  podsOf(planned: PlannedClaim): readonly TracedPod[];
}

/** Decision of a whole run. */
interface RunDecision extends TracedDecision {
  /** Number of pods without a span because of the limit. */
  readonly overLimit: number;
}

export interface DecisionInput {
  readonly steps: readonly FinishedSpan[];
  readonly claims: readonly PlannedClaim[];
  /** Existing pods, by namespaced name. */
  readonly pods: ReadonlyMap<string, Pod>;
  readonly timingOf: (key: string) => PodTiming;
  readonly decidedMs: number;
}

/** Distributes the spans of pods evenly: each NodeClaim of a large run gets one before any NodeClaim gets two. */
export function tracedDecision({ steps, claims, pods, timingOf, decidedMs }: DecisionInput): RunDecision {
  const traced = new Map<PlannedClaim, TracedPod[]>();
  let count = 0;
  const longest = claims.reduce((most, { pods }) => Math.max(most, pods.length), 0);
  for (let at = 0; at < longest; at += 1) {
    for (const claim of claims) {
      const key = claim.pods[at];
      const pod = key === undefined ? undefined : pods.get(key);
      // a pod on a node that is going away will be replaced by a pod with a different name
      if (key === undefined || pod === undefined || isScheduled(pod)) continue;
      count += 1;
      if (count > MOST_PODS) continue;
      const entry = { pod, sinceMs: timingOf(key).acknowledgedMs ?? decidedMs };
      const known = traced.get(claim);
      if (known === undefined) traced.set(claim, [entry]);
      else known.push(entry);
    }
  }
  return { steps, overLimit: Math.max(0, count - MOST_PODS), podsOf: (planned) => traced.get(planned) ?? [] };
}
