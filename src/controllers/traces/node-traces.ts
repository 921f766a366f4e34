/**
 * Creates traces from reports of the controllers and from cached NodeClaims and pods. Does not block the controllers. The
 * number of open traces is limited.
 */

import { getCondition, isTrue, type NodeClaim, type Pod, uidOf } from '#api/objects';
import type { Command } from '#engine/disruption';
import { isScheduled } from '#engine/model';
import { after, type Singleton } from '#kube/reconcilers';
import { messageOf } from '#lib';
import type { Timepiece } from '#lib/clock';
import { type Metrics, TRACES_SPANS } from '#observe/metrics';
import type { FinishedSpan, Span, StepTraces, Tracer } from '#observe/traces';
import type { Stores } from '#state';
import { instanceAttributes, OUTCOME, REASON } from './attributes.ts';
import { CommandTrace } from './command-trace.ts';
import { type DecisionInput, type TracedDecision, tracedDecision } from './decision.ts';
import { type Created, type PurchaseOutcome, PurchaseTrace } from './purchase-trace.ts';

/** Maximum time that a trace waits for pods after the node is ready. */
const PATIENCE_MS = 5 * 60_000;
const PERIOD_MS = 30_000;
/** Maximum number of open traces of each kind. Above this number, the oldest traces are ended. */
const MOST_OPEN = 1_000;

interface NodeTracesOptions {
  readonly tracer: Tracer;
  readonly clock: Timepiece;
  readonly metrics: Metrics;
}

export class NodeTraces implements StepTraces {
  readonly #tracer: Tracer;
  readonly #clock: Timepiece;
  readonly #metrics: Metrics;
  /** Open traces by UID of the NodeClaim. Terminations and commands have the same key; a command has one entry per candidate. */
  readonly #purchases = new Map<string, PurchaseTrace>();
  readonly #terminations = new Map<string, TerminationTrace>();
  readonly #commands = new Map<string, CommandTrace>();
  /** Open traces by UID of the pod. */
  readonly #byPod = new Map<string, PurchaseTrace>();
  #isWatching = false;

  constructor({ tracer, clock, metrics }: NodeTracesOptions) {
    this.#tracer = tracer;
    this.#clock = clock;
    this.#metrics = metrics;
  }

  /** Starts to watch with the first run, so that a standby replica creates no traces. */
  sweeping({ nodeClaims, pods }: Pick<Stores, 'nodeClaims' | 'pods'>): Singleton {
    return {
      name: 'traces',
      singleton: true,
      reconcile: async () => {
        if (!this.#isWatching) {
          nodeClaims.subscribe((event, claim) => this.#claimChanged(claim, event === 'deleted'));
          pods.subscribe((event, pod) => this.#podChanged(pod, event === 'deleted'));
        }
        this.#isWatching = true;
        this.#sweep();
        return after(PERIOD_MS);
      },
    };
  }

  /** Returns the decision of a provisioner run for the NodeClaims that it creates. */
  decision(input: DecisionInput): TracedDecision {
    const decision = tracedDecision(input);
    this.#metrics.counter(TRACES_SPANS).inc({ result: 'over_limit' }, decision.overLimit);
    return decision;
  }

  /** Starts the trace of a NodeClaim that was created. */
  created(created: Created): void {
    const trace = new PurchaseTrace(this.#tracer, created);
    for (const uid of trace.pods) {
      this.#byPod.get(uid)?.endPod(uid, this.#clock.now(), 'planned again');
      this.#byPod.set(uid, trace);
    }
    this.#purchases.set(uidOf(created.claim), trace);
    this.#limit(this.#purchases, (oldest) => this.#endPurchase(oldest, 'not waited for'));
  }

  launching(claim: NodeClaim): void {
    this.#purchases.get(uidOf(claim))?.launching(this.#clock.now());
  }

  /** @param bought the NodeClaim with the instance data of the cloud */
  launched(claim: NodeClaim, bought: NodeClaim): void {
    const attributes = instanceAttributes({ ...bought, metadata: { ...bought.metadata, name: claim.metadata.name } });
    this.#purchases.get(uidOf(claim))?.launched(this.#clock.now(), attributes, undefined);
  }

  launchFailed(claim: NodeClaim, error: unknown): void {
    this.#purchases.get(uidOf(claim))?.launched(this.#clock.now(), {}, messageOf(error));
  }

  step(claimUid: string, step: FinishedSpan): void {
    this.#purchases.get(claimUid)?.step(step);
  }

  /** Starts the trace of a command that was decided. The terminations of its candidates belong to the trace. */
  decided(command: Command): CommandTrace {
    const trace = new CommandTrace(this.#tracer, command, this.#clock.now());
    for (const uid of trace.staying) this.#commands.set(uid, trace);
    this.#limit(this.#commands, (oldest) => this.#endCommand(oldest, 'not waited for'));
    return trace;
  }

  /** Ends the trace of a command that failed. */
  commandFailed(trace: CommandTrace, error: unknown): void {
    this.#endCommand(trace, 'failed', messageOf(error));
  }

  /** Ends all open traces when the operator stops. */
  stop(): void {
    const nowMs = this.#clock.now();
    for (const trace of this.#purchases.values()) this.#endPurchase(trace, 'operator stopped');
    for (const trace of this.#terminations.values()) trace.end(nowMs, 'operator stopped');
    this.#terminations.clear();
    for (const trace of new Set(this.#commands.values())) this.#endCommand(trace, 'operator stopped');
  }

  #claimChanged(claim: NodeClaim, isGone: boolean): void {
    const nowMs = this.#clock.now();
    const uid = uidOf(claim);
    const purchase = this.#purchases.get(uid);
    if (purchase !== undefined && (isGone || claim.metadata.deletionTimestamp))
      this.#endPurchase(purchase, 'NodeClaim deleted');
    else if (purchase !== undefined) {
      purchase.changed(claim, nowMs);
      this.#endIfComplete(purchase);
    }
    if (isGone) this.#claimGone(uid, nowMs);
    else if (claim.metadata.deletionTimestamp && claim.status?.providerID) this.#terminationChanged(uid, claim, nowMs);
  }

  #terminationChanged(uid: string, claim: NodeClaim, nowMs: number): void {
    const known = this.#terminations.get(uid);
    known?.changed(claim, nowMs);
    if (known !== undefined) return;
    this.#terminations.set(uid, new TerminationTrace(this.#tracer, claim, nowMs, this.#commands.get(uid)?.span));
    this.#limit(this.#terminations, (oldest, oldestUid) => {
      oldest.end(nowMs, 'not waited for');
      this.#terminations.delete(oldestUid);
    });
  }

  #claimGone(uid: string, nowMs: number): void {
    this.#terminations.get(uid)?.end(nowMs, 'terminated');
    this.#terminations.delete(uid);
    const command = this.#commands.get(uid);
    this.#commands.delete(uid);
    if (command?.gone(uid)) command.end(nowMs, 'carried out');
  }

  #podChanged(pod: Pod, isGone: boolean): void {
    if (this.#byPod.size === 0 || !(isGone || isScheduled(pod))) return;
    const uid = uidOf(pod);
    const trace = this.#byPod.get(uid);
    if (trace === undefined) return;
    this.#byPod.delete(uid);
    if (isGone) trace.endPod(uid, this.#clock.now(), 'deleted');
    else trace.bound(pod, this.#clock.now());
    this.#endIfComplete(trace);
  }

  #endIfComplete(trace: PurchaseTrace): void {
    if (trace.isComplete) this.#endPurchase(trace, 'ready');
  }

  #endPurchase(trace: PurchaseTrace, outcome: PurchaseOutcome): void {
    for (const pod of trace.pods) if (this.#byPod.get(pod) === trace) this.#byPod.delete(pod);
    trace.end(this.#clock.now(), outcome);
    this.#purchases.delete(trace.claimUid);
  }

  #endCommand(trace: CommandTrace, outcome: Parameters<CommandTrace['end']>[1], failure?: string): void {
    for (const uid of trace.staying) if (this.#commands.get(uid) === trace) this.#commands.delete(uid);
    trace.end(this.#clock.now(), outcome, failure);
  }

  #sweep(): void {
    const nowMs = this.#clock.now();
    for (const trace of this.#purchases.values())
      if (trace.readyMs !== undefined && nowMs - trace.readyMs > PATIENCE_MS) this.#endPurchase(trace, 'ready');
  }

  #limit<T>(open: ReadonlyMap<string, T>, end: (oldest: T, uid: string) => void): void {
    if (open.size <= MOST_OPEN) return;
    const [first] = open;
    if (first !== undefined) end(first[1], first[0]);
  }
}

/** Steps in their order, with the condition that ends each step. The last step ends with the NodeClaim. */
const STEPS: readonly { readonly name: string; readonly condition?: string }[] = [
  { name: 'drain', condition: 'Drained' },
  { name: 'detach volumes', condition: 'VolumesDetached' },
  { name: 'terminate instance' },
];
const LAST = STEPS.length - 1;

/** Trace of a node termination: drain, detachment of volumes, and termination of the instance. */
class TerminationTrace {
  readonly #tracer: Tracer;
  readonly #root: Span;
  #step: { readonly at: number; readonly span: Span };

  /** @param parent span of the command that disrupts the node; undefined for other reasons */
  constructor(tracer: Tracer, claim: NodeClaim, nowMs: number, parent: Span | undefined) {
    this.#tracer = tracer;
    this.#root = tracer.start('terminate node', {
      atMs: nowMs,
      parent,
      attributes: { ...instanceAttributes(claim), [REASON]: getCondition(claim, 'DisruptionReason')?.reason },
    });
    // an instance that never joined has nothing to drain
    this.#step = this.#begin(isTrue(claim, 'Registered') ? 0 : LAST, nowMs);
    this.changed(claim, nowMs);
  }

  changed(claim: NodeClaim, nowMs: number): void {
    while (isOver(claim, STEPS[this.#step.at]?.condition)) {
      this.#step.span.end(nowMs);
      this.#step = this.#begin(this.#step.at + 1, nowMs);
    }
  }

  end(nowMs: number, outcome: 'terminated' | 'not waited for' | 'operator stopped'): void {
    this.#step.span.end(nowMs);
    this.#root.set({ [OUTCOME]: outcome });
    this.#root.end(nowMs);
  }

  #begin(at: number, nowMs: number): { readonly at: number; readonly span: Span } {
    return { at, span: this.#tracer.start(STEPS[at]?.name ?? '', { atMs: nowMs, parent: this.#root }) };
  }
}

function isOver(claim: NodeClaim, condition: string | undefined): boolean {
  const status = condition && getCondition(claim, condition)?.status;
  return status === 'True' || status === 'False';
}
