/**
 * Trace of one NodeClaim, from the decision to create it until its Node is ready and its pods are bound:
 *
 *   provision node ┬ batch window, solve, create NodeClaim
 *                  ├ launch ─ EC2.CreateFleet
 *                  ├ registration, initialization
 *                  └ pod, one each
 */
import { isTrue, type NodeClaim, type Pod, uidOf } from '#api/objects';
import type { Attributes, FinishedSpan, Span, Tracer } from '#observe/traces';
import { claimAttributes, instanceAttributes, OUTCOME, REASON } from './attributes.ts';
import type { TracedDecision, TracedPod } from './decision.ts';

export interface Created {
  readonly claim: NodeClaim;
  readonly nodePool: string;
  /** Reason of the creation, as in the metric of created NodeClaims. */
  readonly reason: string;
  readonly fromMs: number;
  readonly toMs: number;
  /** Number of pods in the plan, including pods without a span. */
  readonly podCount: number;
  readonly traced: readonly TracedPod[];
  readonly decision: Pick<TracedDecision, 'steps' | 'parent'> | undefined;
}

/** Outcome of a pod or of the whole trace. */
export type PurchaseOutcome =
  | 'bound'
  | 'deleted'
  | 'planned again'
  | 'not waited for'
  | 'ready'
  | 'NodeClaim deleted'
  | 'operator stopped';

/** Conditions of a NodeClaim in their order, with the wait that starts when the condition is True. */
const WAITS = { Launched: 'registration', Registered: 'initialization', Initialized: undefined } as const;
type Reached = keyof typeof WAITS;

export class PurchaseTrace {
  readonly claimUid: string;
  readonly #tracer: Tracer;
  readonly #root: Span;
  #launch: Span | undefined;
  /** Error of the last launch, for the end of a NodeClaim that is given up. */
  #launchFailure: string | undefined;
  /** Span of the current wait after the launch. */
  #waiting: Span | undefined;
  readonly #conditions = new Set<Reached>();
  readonly #pods: Map<string, Span>;
  #readyMs: number | undefined;

  constructor(tracer: Tracer, created: Created) {
    const { claim, nodePool, reason, fromMs, toMs, podCount, traced, decision } = created;
    this.claimUid = uidOf(claim);
    this.#tracer = tracer;
    const steps = decision?.steps ?? [];
    this.#root = tracer.start('provision node', {
      atMs: Math.min(fromMs, ...steps.map((step) => step.fromMs), ...traced.map(({ sinceMs }) => sinceMs)),
      parent: decision?.parent,
      attributes: {
        ...claimAttributes(claim, nodePool),
        'karpenter.nodeclaim.uid': this.claimUid,
        [REASON]: reason,
        'karpenter.pods': podCount,
        'karpenter.pods.without_span': podCount - traced.length,
      },
    });
    for (const step of steps) this.step(step);
    this.step({ name: 'create NodeClaim', fromMs, toMs });
    this.#pods = new Map(traced.map((each) => [uidOf(each.pod), this.#podSpan(each)]));
  }

  get pods(): Iterable<string> {
    return this.#pods.keys();
  }

  /** Time since which this trace waits only for pods. */
  get readyMs(): number | undefined {
    return this.#readyMs;
  }

  get isComplete(): boolean {
    return this.#readyMs !== undefined && this.#pods.size === 0;
  }

  /** Adds a step. The step belongs to the launch if a launch is in progress. */
  step({ name, fromMs, toMs, isRequest, attributes, failure }: FinishedSpan): void {
    const parent = this.#launch ?? this.#root;
    this.#tracer.start(name, { atMs: fromMs, parent, isRequest, attributes }).end(toMs, failure);
  }

  launching(atMs: number): void {
    this.#launch ??= this.#tracer.start('launch', { atMs, parent: this.#root });
  }

  launched(atMs: number, attributes: Attributes, failure: string | undefined): void {
    this.#launch?.set(attributes);
    this.#launch?.end(atMs, failure);
    this.#launch = undefined;
    this.#launchFailure = failure;
    if (failure !== undefined) return;
    this.#root.set(attributes);
    this.#reached('Launched', atMs);
  }

  /** Updates this trace with the current NodeClaim of the API server. */
  changed(claim: NodeClaim, nowMs: number): void {
    for (const condition of Object.keys(WAITS) as readonly Reached[]) {
      if (!isTrue(claim, condition)) return;
      if (this.#reached(condition, nowMs)) this.#root.set(instanceAttributes(claim));
    }
    this.#readyMs ??= nowMs;
  }

  bound(pod: Pod, nowMs: number): void {
    this.#pods.get(uidOf(pod))?.set({ 'k8s.node.name': pod.spec.nodeName });
    this.endPod(uidOf(pod), nowMs, 'bound');
  }

  endPod(uid: string, nowMs: number, outcome: PurchaseOutcome): void {
    const span = this.#pods.get(uid);
    if (span === undefined) return;
    this.#pods.delete(uid);
    span.set({ [OUTCOME]: outcome });
    span.end(nowMs);
  }

  /** Ends all open spans. A deletion before the Node is ready counts as a failure, but a stop of the operator does not. */
  end(nowMs: number, outcome: PurchaseOutcome): void {
    for (const uid of [...this.#pods.keys()]) this.endPod(uid, nowMs, outcome === 'ready' ? 'not waited for' : outcome);
    const isFailed = this.#readyMs === undefined && outcome === 'NodeClaim deleted';
    this.#launch?.end(nowMs);
    this.#waiting?.end(nowMs, isFailed ? 'the NodeClaim was deleted before' : undefined);
    this.#root.set({ [OUTCOME]: outcome });
    this.#root.end(
      nowMs,
      isFailed ? (this.#launchFailure ?? 'the NodeClaim was deleted before its Node was ready') : undefined,
    );
  }

  /** Returns true if the condition was not reached before. */
  #reached(condition: Reached, atMs: number): boolean {
    if (this.#conditions.has(condition)) return false;
    this.#conditions.add(condition);
    this.#waiting?.end(atMs);
    const next = WAITS[condition];
    this.#waiting = next && this.#tracer.start(next, { atMs, parent: this.#root });
    return true;
  }

  #podSpan({ pod: { metadata }, sinceMs }: TracedPod): Span {
    return this.#tracer.start('pod', {
      atMs: sinceMs,
      parent: this.#root,
      attributes: {
        'k8s.pod.name': metadata.name,
        'k8s.namespace.name': metadata.namespace,
        'k8s.pod.uid': metadata.uid,
      },
    });
  }
}
