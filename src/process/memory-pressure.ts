/**
 * Stages of memory pressure. In each stage, parts of the operator need less memory and more time, so that the process does not
 * end because its memory is full.
 *
 *   0 ──memory is short──▶ 1 ──memory is nearly full──▶ 2 ──heap is full──▶ the process ends
 *
 * | part | stage 1 | stage 2 |
 * |---|---|---|
 * | NodeClaims that are being launched | as many as fit into a quarter of the free heap | an eighth |
 * | batch windows | twice as long | four times as long |
 * | caches that only save time | emptied at the start of the stage | emptied at the start of the stage |
 * | engine workers | one at a time | one at a time |
 * | voluntary disruption | | pauses |
 */

import { MEMORY_SHORT } from '#observe/events';
import type { Logger } from '#observe/logger';
import { MEMORY_PRESSURE, type Metrics } from '#observe/metrics';
import { FULL_SHARE, type HeapUse } from './heap-guard.ts';
import { heapBytes, SHORT_SHARE } from './memory-capacity.ts';

export type PressureStage = 0 | 1 | 2;

/** Shares of a limit. A stage begins above `from` and ends below `until`; the gap prevents repeated changes. */
interface Thresholds {
  readonly from: number;
  readonly until: number;
}
type Stages = Readonly<Record<1 | 2, Thresholds>>;

/** Shares of the main thread's old generation in use after a collection. The process ends above 85 %. */
const HEAP: Stages = { 1: { from: SHORT_SHARE, until: 0.68 }, 2: { from: 0.8, until: 0.74 } };
/**
 * Shares of the memory limit that are resident. They are higher, because resident memory includes empty pages of heaps and files
 * that the kernel can drop.
 */
const RESIDENT: Stages = { 1: { from: 0.92, until: 0.85 }, 2: { from: 0.97, until: 0.92 } };

/** Memory of the main thread for a NodeClaim from its creation until its instance is launched, in bytes. */
const LAUNCH_BYTES = 60_000;
/** Share of the free heap that launches in progress may use. The nodes of earlier launches also need memory while they join. */
const LAUNCHES_SHARE: Readonly<Record<PressureStage, number>> = { 0: 0.5, 1: 0.25, 2: 0.125 };

/** Factor for the times of batch windows. */
const STRETCH: Readonly<Record<PressureStage, number>> = { 0: 1, 1: 2, 2: 4 };

/** Work of the operator that needs memory until it is complete. */
interface LaunchWork {
  /** Number of pending pods. */
  readonly pending: number;
  /** Number of NodeClaims whose instance is not launched yet. */
  readonly launching: number;
}

export interface Pressure {
  readonly stage: PressureStage;
  /** Factor for the times of batch windows. */
  readonly stretch: number;
  /** Returns the maximum number of NodeClaims that one run creates, at least 1. */
  mostLaunches(work: LaunchWork): number;
  /** Registers a function that empties a cache whose values can be computed again. */
  onShort(empty: () => void): void;
  /** Publishes the message of each stage that begins from now on, and of the current stage. Stages that end have no message. */
  publishTo(publish: (stage: PressureStage, message: string) => void): void;
}

export class MemoryPressure implements Pressure {
  readonly #caches: (() => void)[] = [];
  #use: HeapUse = { usedBytes: 0, limitBytes: Number.POSITIVE_INFINITY };
  #heap: PressureStage = 0;
  #resident: PressureStage = 0;
  #report: ((stage: PressureStage, before: PressureStage) => void) | undefined;
  #publish: ((stage: PressureStage) => void) | undefined;

  get stage(): PressureStage {
    return this.#heap > this.#resident ? this.#heap : this.#resident;
  }

  get stretch(): number {
    return STRETCH[this.stage];
  }

  mostLaunches({ pending, launching }: LaunchWork): number {
    const { usedBytes, limitBytes } = this.#use;
    // the last collection may be older than the pending pods
    const expectedBytes = Math.max(usedBytes, heapBytes({ pods: pending, nodes: 0 }));
    const free = FULL_SHARE * limitBytes - expectedBytes;
    return Math.max(1, Math.floor((LAUNCHES_SHARE[this.stage] * free) / LAUNCH_BYTES) - launching);
  }

  onShort(empty: () => void): void {
    this.#caches.push(empty);
  }

  publishTo(publish: (stage: PressureStage, message: string) => void): void {
    this.#publish = (stage) => publish(stage, MEMORY_SHORT.message(EFFECTS[stage], REMEDY));
    if (this.stage > 0) this.#publish(this.stage);
  }

  /** Reports the current stage and each change of the stage. */
  reportTo({ log, metrics }: { readonly log: Logger; readonly metrics: Metrics }): void {
    const gauge = metrics.gauge(MEMORY_PRESSURE);
    this.#report = (stage, before) => {
      gauge.set(stage);
      if (stage === before) return;
      const fields = { stage, 'stage-before': before, effects: EFFECTS[stage] };
      if (stage > before) log.error('memory is short, working with less of it', { ...fields, remedy: REMEDY });
      else log.info('memory is less short', fields);
    };
    this.#report(this.stage, 0);
  }

  /** Must be called with the use of the main thread's heap after each collection of the whole heap. */
  heapUsed(use: HeapUse): void {
    this.#use = use;
    this.#change(() => {
      this.#heap = nextStage(this.#heap, use.usedBytes / use.limitBytes, HEAP);
    });
  }

  /** @param share share of the memory limit that is resident */
  resident(share: number): void {
    this.#change(() => {
      this.#resident = nextStage(this.#resident, share, RESIDENT);
    });
  }

  #change(update: () => void): void {
    const before = this.stage;
    update();
    const { stage } = this;
    if (stage === before) return;
    if (stage > before) for (const empty of this.#caches) empty();
    this.#report?.(stage, before);
    if (stage > before) this.#publish?.(stage);
  }
}

const EFFECTS: Readonly<Record<PressureStage, string>> = {
  0: 'none',
  1: 'longer batch windows, empty caches, one engine worker at a time',
  2: 'longer batch windows, empty caches, one engine worker at a time, voluntary disruption pauses',
};

const REMEDY =
  'raise controller.resources.limits.memory of the chart to needed-mib of the log line about the memory limit and the cluster';

/** Returns the stage for a share: the highest that begins, or one that has not ended. */
function nextStage(current: PressureStage, share: number, stages: Stages): PressureStage {
  const isIn = (stage: 1 | 2): boolean => share > (current >= stage ? stages[stage].until : stages[stage].from);
  if (isIn(2)) return 2;
  return isIn(1) ? 1 : 0;
}
