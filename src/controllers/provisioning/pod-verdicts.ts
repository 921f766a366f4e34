/** Latest decision on each pending pod, and the verdicts at `/debug/pods`. The format is public. */

import { type NodeClaim, type Pod, poolNameOf } from '#api/objects';
import { formatDuration } from '#api/values';
import {
  type Cause,
  endsByItself,
  type PodVerdict,
  preferenceTexts,
  refusedVerdict,
  runningText,
  spotTexts,
  waitingText,
} from '#engine/explanations';
import {
  isScheduled,
  isUnschedulable,
  joinProgress,
  type Plan,
  type PodRefusal,
  podKey,
  type StateNode,
} from '#engine/model';
import { defined, timestamp } from '#lib';
import { launchText, pendingPods, placedVerdict } from '#planner';
import { type HoldOf, wallTimeOf } from '#state';
import type { Deps } from '../deps.ts';

type Decision =
  | { readonly kind: 'refused'; readonly refusal: PodRefusal }
  | { readonly kind: 'placed'; readonly providerId: string; readonly node: string }
  | { readonly kind: 'launched'; readonly nodePool: string; readonly claim?: string; readonly others: number };

interface Entry {
  readonly uid: string | undefined;
  readonly decision: Decision;
  readonly decidedMs: number;
  readonly preferences?: string | undefined;
  readonly spot?: string | undefined;
}

interface LimitedPod {
  readonly pod: Pod;
  readonly cause: Cause;
}

export class PodVerdicts {
  readonly #deps: Pick<Deps, 'clock' | 'cluster'>;
  #entries = new Map<string, Entry>();
  /** Pods by the NodePool whose limits reject them. Computed on demand. */
  #limited: ReadonlyMap<string, readonly LimitedPod[]> | undefined;

  constructor(deps: Pick<Deps, 'clock' | 'cluster'>) {
    this.#deps = deps;
  }

  /** Replaces the decisions by the plan of a solve of all pending pods. Pods that it did not reach keep their decisions. */
  decided(plan: Plan, pods: ReadonlyMap<string, Pod>): void {
    const entries = new Map<string, Entry>();
    const decidedMs = this.#deps.clock.now();
    const preferences = preferenceTexts(plan.preferences?.groups);
    const spot = spotTexts(plan.spot);
    const put = (key: string, decision: Decision): void => {
      const pod = pods.get(key);
      if (pod !== undefined)
        entries.set(key, {
          uid: pod.metadata.uid,
          decision,
          decidedMs,
          preferences: preferences.get(key),
          spot: spot.get(key),
        });
    };
    for (const key of plan.notEvaluated) {
      const known = this.#entries.get(key);
      if (known !== undefined) entries.set(key, known);
    }
    for (const [key, refusal] of plan.refusals) put(key, { kind: 'refused', refusal });
    for (const { pods: keys, ...place } of plan.placements)
      for (const key of keys) put(key, { kind: 'placed', ...place });
    for (const { pods: keys, nodePool } of plan.claims)
      for (const key of keys) put(key, { kind: 'launched', nodePool, others: keys.length - 1 });
    this.#entries = entries;
    this.#limited = undefined;
  }

  /** Replaces the refusals of the latest plan after the checks of their remedies. */
  checked(refusals: ReadonlyMap<string, PodRefusal>): void {
    for (const [key, refusal] of refusals) {
      const known = this.#entries.get(key);
      if (known?.decision.kind === 'refused')
        this.#entries.set(key, { ...known, decision: { kind: 'refused', refusal } });
    }
    this.#limited = undefined;
  }

  /** Adds the name of the NodeClaim that was created for pods. */
  created(keys: readonly string[], claim: string): void {
    for (const key of keys) {
      const known = this.#entries.get(key);
      if (known?.decision.kind === 'launched')
        this.#entries.set(key, { ...known, decision: { ...known.decision, claim } });
    }
  }

  /** Yields the pods with a latest decision on a node that exists, with this node. Omits pods that have changed their UID. */
  *placements(): Iterable<{ readonly pod: Pod; readonly node: StateNode }> {
    for (const [key, { uid, decision }] of this.#entries) {
      const node = this.#nodeOf(decision);
      const pod = node && this.#podNamed(key);
      if (node !== undefined && pod !== undefined && pod.metadata.uid === uid) yield { pod, node };
    }
  }

  #nodeOf(decision: Decision): StateNode | undefined {
    const { cluster } = this.#deps;
    if (decision.kind === 'placed') return cluster.nodeByProviderId(decision.providerId);
    const claim = decision.kind === 'launched' && decision.claim ? cluster.claim(decision.claim) : undefined;
    return claim && cluster.nodeOfClaim(claim);
  }

  /** Returns the limit of a NodePool that stops a launch for a pending pod. Omits limits that are expected to have room again. */
  limitOf(nodePool: string): Cause | undefined {
    this.#limited ??= this.#podsByLimit();
    const { pods } = this.#deps.cluster.stores;
    const found = (this.#limited.get(nodePool) ?? []).find(({ pod: { metadata } }) => {
      const pod = pods.get(metadata);
      return pod !== undefined && pod.metadata.uid === metadata.uid && !isScheduled(pod);
    });
    return found?.cause;
  }

  #podsByLimit(): ReadonlyMap<string, readonly LimitedPod[]> {
    const found = new Map<string, LimitedPod[]>();
    for (const [key, { decision }] of this.#entries) {
      if (decision.kind !== 'refused' || decision.refusal.code !== 'no-fit') continue;
      const { limits = [] } = decision.refusal;
      const pod = limits.length === 0 ? undefined : this.#podNamed(key);
      if (pod === undefined) continue;
      for (const cause of limits) {
        if (endsByItself(cause)) continue;
        const limited = found.get(cause.object.name) ?? [];
        if (limited.push({ pod, cause }) === 1) found.set(cause.object.name, limited);
      }
    }
    return found;
  }

  /** Yields the verdict on each pending pod, without the reasons of NodePools, which are long in a large cluster. */
  *all(holdOf: HoldOf): Iterable<PodVerdict> {
    const { cluster } = this.#deps;
    const awaited = cluster.unlaunched.overdueClaimsByPod();
    for (const pod of pendingPods(cluster)) {
      const { nodePools: _, ...verdict } = this.#verdict(pod, holdOf, awaited);
      yield verdict;
    }
  }

  /** Returns the verdict on a pod, or undefined if no pod has this name. */
  of(name: string, holdOf: HoldOf): PodVerdict | undefined {
    const pod = this.#podNamed(name);
    return pod && this.#verdict(pod, holdOf, this.#deps.cluster.unlaunched.overdueClaimsByPod());
  }

  #podNamed(key: string): Pod | undefined {
    const [namespace = '', ...rest] = key.split('/');
    return this.#deps.cluster.stores.pods.get({ namespace, name: rest.join('/') });
  }

  /** @param awaited NodeClaims with a failed or slow launch, by the pods that wait for them */
  #verdict(pod: Pod, holdOf: HoldOf, awaited: ReadonlyMap<string, NodeClaim>): PodVerdict {
    const { clock } = this.#deps;
    const key = podKey(pod);
    const { nodeName } = pod.spec;
    if (nodeName) return { pod: key, code: 'running', text: runningText(pod, nodeName) };
    const hold = holdOf(pod);
    if (hold !== undefined) {
      const text = `no nodes are launched for the pod now: ${hold.text}`;
      const times = { since: wallTimeOf(clock, hold.sinceMs), until: wallTimeOf(clock, hold.untilMs) };
      return { pod: key, code: 'held', text, ...times };
    }
    const claim = awaited.get(key);
    if (claim !== undefined) return this.#launchVerdict(key, { claim, nodePool: poolNameOf(claim) });
    const entry = this.#entries.get(key);
    if (entry === undefined || entry.uid !== pod.metadata.uid) return this.#undecided(pod);
    const { decision, decidedMs, preferences, spot } = entry;
    return {
      ...this.#decisionVerdict(key, decision),
      ...defined({ preferences, spot }),
      decided: timestamp(decidedMs),
    };
  }

  #decisionVerdict(pod: string, decision: Decision): PodVerdict {
    const { cluster, clock } = this.#deps;
    switch (decision.kind) {
      case 'refused':
        return refusedVerdict(pod, decision.refusal);
      case 'placed': {
        const node = cluster.nodeByProviderId(decision.providerId);
        return placedVerdict(pod, { ...node, name: decision.node }, clock.now());
      }
      case 'launched': {
        const { claim, nodePool, others } = decision;
        const claimed = claim === undefined ? undefined : cluster.claim(claim);
        if (claimed !== undefined) return this.#launchVerdict(pod, { claim: claimed, nodePool, others });
        const failure = claim === undefined ? undefined : cluster.launchFailures.of(claim);
        const text = launchText(nodePool, others);
        if (claim === undefined) return { pod, code: 'bought', text };
        return failure === undefined
          ? { pod, code: 'bought', text: `${text}, NodeClaim ${claim}` }
          : { pod, code: 'bought', text: `NodeClaim ${claim} could not be launched: ${failure.text}; ${SOON}` };
      }
    }
  }

  #launchVerdict(
    pod: string,
    { claim, nodePool, others = 0 }: { readonly claim: NodeClaim; readonly nodePool: string; readonly others?: number },
  ): PodVerdict {
    const { cluster, clock } = this.#deps;
    const { name } = claim.metadata;
    const progress = joinProgress(claim, clock.now(), cluster.launchFailures.of(name));
    const text = `${launchText(nodePool, others)}, NodeClaim ${name}`;
    const state = progress === undefined ? '' : `: ${progress.text}`;
    return { pod, code: 'bought', text: `${text}${state}`, ...defined({ nextAttempt: progress?.nextAttempt }) };
  }

  #undecided(pod: Pod): PodVerdict {
    const { cluster, clock } = this.#deps;
    const key = podKey(pod);
    const preemption = cluster.preemptionFor(pod);
    if (preemption !== undefined || !isUnschedulable(pod))
      return { pod: key, code: 'waiting', text: waitingText({ pod, preemption }) };
    const waitedMs = clock.now() - (cluster.podTimings.get(key).acknowledgedMs ?? clock.now());
    const text = (why: string): string => `the operator has not decided on the pod yet; ${why}`;
    if (cluster.unlaunched.isAwaited)
      return { pod: key, code: 'undecided', text: text('it waits for the end of launches in progress') };
    if (waitedMs < SOON_MS) return { pod: key, code: 'undecided', text: text('it decides within seconds') };
    const waited = formatDuration(Math.floor(waitedMs / 1000) * 1000);
    const why = `it has tried for ${waited}, and errors of the controller "provisioner" in its log have the reason`;
    return { pod: key, code: 'undecided', text: text(why) };
  }
}

/** Time within which the operator decides on a pod, unless an error prevents it. */
const SOON_MS = 60_000;
const SOON = 'the operator decides on the pod again within seconds';
