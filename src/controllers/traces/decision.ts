/** What a run of the provisioner decided, as the traces of its NodeClaims tell it; each of them has the run's steps. */
import type { Pod } from '../../api/kubernetes.ts';
import type { PlannedClaim } from '../../engine/model.ts';
import { isScheduled } from '../../engine/pods.ts';
import type { FinishedSpan, Span } from '../../observe/traces/tracer.ts';
import type { PodTiming } from '../../state/pod-timings.ts';

/** Pods of a solve that have a span each. A burst of thousands must not cost more than what it is traced for. */
const MOST_PODS = 200;

/** A pod whose way to a node is traced. */
export interface TracedPod {
  readonly pod: Pod;
  /** When the operator first saw that it needs a node. */
  readonly sinceMs: number;
}

/** What led to a NodeClaim. */
export interface TracedDecision {
  readonly steps: readonly FinishedSpan[];
  /** The span that the NodeClaims belong to; undefined when each has a trace of its own. */
  readonly parent?: Span | undefined;
  podsOf(planned: PlannedClaim): readonly TracedPod[];
}

/** The same of a whole run. */
interface RunDecision extends TracedDecision {
  /** Pods that have no span because there are too many. */
  readonly overLimit: number;
}

export interface DecisionInput {
  readonly steps: readonly FinishedSpan[];
  readonly claims: readonly PlannedClaim[];
  /** Those that exist, by namespaced name. */
  readonly pods: ReadonlyMap<string, Pod>;
  readonly timingOf: (key: string) => PodTiming;
  readonly decidedMs: number;
}

/** The pods that get a span are dealt out evenly: every NodeClaim of a large run has one before any has two. */
export function tracedDecision({ steps, claims, pods, timingOf, decidedMs }: DecisionInput): RunDecision {
  const traced = new Map<PlannedClaim, TracedPod[]>();
  let count = 0;
  const longest = claims.reduce((most, { pods }) => Math.max(most, pods.length), 0);
  for (let at = 0; at < longest; at += 1) {
    for (const claim of claims) {
      const key = claim.pods[at];
      const pod = key === undefined ? undefined : pods.get(key);
      // one that still runs on a node that goes away is replaced by another, of another name
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
