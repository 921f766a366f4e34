/**
 * Remembers the capacity that registered nodes reported, for each instance type with the same images and settings. The next
 * solve uses the lesser value, because pods that were planned for more do not fit. One strange node must not shrink a type:
 *
 * - a value up to 10 % below the prediction counts as soon as one node reports it;
 * - a lower value counts only if at least two nodes report one, and at least half of the remembered nodes;
 * - the last eight nodes count, each once, for 60 days. Lower values count for one day;
 * - resources that a node does not report do not count, because its device plugin may not have started.
 */

import { amountIn, sumOf, type Term, type Terms } from '#engine/model';
import type { Kept } from '#kube/reconcilers';
import { timeOf, timestamp } from '#lib';
import { monotonicMs, type Timepiece } from '#lib/clock';
import { type CapacityReport, readStored, storedText } from './stored-capacities.ts';

const DAY_MS = 24 * 3_600_000;
const TTL_MS = 60 * DAY_MS;
const FAR_TTL_MS = DAY_MS;
/** Interval of searches for reports that expire. */
const EXPIRY_MS = 3_600_000;
const MOST_NODES = 8;
const MOST_KEYS = 2_000;
/** Lowest part of the prediction that counts if a single node reports it. */
const NEAR = 0.9;

interface Report extends CapacityReport {
  readonly atMs: number;
}

export class NodeCapacities implements Kept {
  readonly #clock: Timepiece;
  /** Reports by key, oldest first. The key that changed last is the last one. */
  readonly #reports = new Map<string, readonly Report[]>();
  readonly #changes = new Map<string, number>();
  #sequence = 0;
  #added = 0;
  /** Time of the last search for reports that expire, by `monotonicMs`. */
  #expiredMs: number;

  constructor(clock: Timepiece) {
    this.#clock = clock;
    this.#expiredMs = monotonicMs(clock);
  }

  /** Increases if the capacity of new nodes may have changed. */
  get sequence(): number {
    this.#expire();
    return this.#sequence;
  }

  #expire(): void {
    const nowMs = monotonicMs(this.#clock);
    if (nowMs - this.#expiredMs < EXPIRY_MS) return;
    const isOver = ({ atMs }: Report, ttlMs: number): boolean =>
      nowMs - atMs >= ttlMs && this.#expiredMs - atMs < ttlMs;
    for (const [key, reports] of this.#reports)
      if (reports.some((report) => isOver(report, TTL_MS) || isOver(report, FAR_TTL_MS)))
        this.#changes.set(key, ++this.#sequence);
    this.#expiredMs = nowMs;
  }

  /** Number of reports. */
  get changes(): number {
    return this.#added;
  }

  /** Returns the sequence of the last report for a key. */
  changeOf(key: string): number {
    return this.#changes.get(key) ?? 0;
  }

  /** Adds the report of a node. Later reports of the same node are ignored, because its status may have been changed. */
  add(key: string, report: CapacityReport): boolean {
    const known = this.#reports.get(key) ?? [];
    if (known.some(({ uid }) => uid === report.uid)) return false;
    this.#reports.delete(key);
    this.#added++;
    this.#set(key, [...known, { ...report, atMs: monotonicMs(this.#clock) }]);
    return true;
  }

  #set(key: string, reports: readonly Report[]): void {
    this.#reports.set(key, reports.slice(-MOST_NODES));
    this.#changes.set(key, ++this.#sequence);
    const [oldest] = this.#reports.keys();
    if (this.#reports.size > MOST_KEYS && oldest !== undefined) {
      this.#reports.delete(oldest);
      this.#changes.delete(oldest);
    }
  }

  *texts(): Generator<string> {
    const [nowMs, wallMs] = [monotonicMs(this.#clock), this.#clock.now()];
    const kept = [...this.#reports].flatMap(([key, reports]) => {
      const current = reports.filter(({ atMs }) => nowMs - atMs < TTL_MS);
      const stored = current.map(({ atMs, ...report }) => ({ ...report, at: timestamp(wallMs - (nowMs - atMs)) }));
      return stored.length === 0 ? [] : [{ key, reports: stored }];
    });
    for (let count = kept.length; ; count = Math.floor(count / 2)) {
      yield storedText(kept.slice(kept.length - count));
      if (count === 0) return;
    }
  }

  /** Adds the reports of an earlier process, which are older than the current ones. @throws Error without any addition */
  restore(text: string): void {
    const [nowMs, wallMs] = [monotonicMs(this.#clock), this.#clock.now()];
    const stored = readStored(text);
    const current = [...this.#reports];
    this.#reports.clear();
    for (const { key, reports } of stored) {
      const restored = reports.map(({ at, ...report }): Report => {
        // a time in the future results from a wrong clock and counts as now
        return { ...report, atMs: nowMs - Math.max(0, wallMs - timeOf(at)) };
      });
      this.#set(key, restored);
    }
    for (const [key, reports] of current) {
      const restored = this.#reports.get(key) ?? [];
      const known = new Set(restored.map(({ uid }) => uid));
      this.#reports.delete(key);
      this.#set(key, [...restored, ...reports.filter(({ uid }) => !known.has(uid))]);
    }
  }

  /**
   * Adds a term to each resource for which new nodes are planned with another amount than predicted. Memory may also be more than
   * predicted, because its prediction is an estimate, but not more than EC2 reports.
   */
  learned(key: string, predicted: Terms): Terms {
    const nowMs = monotonicMs(this.#clock);
    const reports = (this.#reports.get(key) ?? []).filter(({ atMs }) => nowMs - atMs < TTL_MS);
    if (reports.length === 0) return predicted;
    return Object.fromEntries(
      Object.entries(predicted).map(([name, terms]) => {
        const amount = sumOf(terms);
        const found = amount > 0 ? lessonOf(name, amount, reports, nowMs) : undefined;
        const most = name === 'memory' ? sumOf(terms.filter((term) => term.amount > 0)) : amount;
        const counts = found !== undefined && found.amount !== amount && found.amount <= most;
        return [name, counts ? [...terms, { text: found.text, amount: found.amount - amount }] : terms];
      }),
    );
  }
}

/** Returns the amount that counts for new nodes, with the node that reported it. */
function lessonOf(name: string, predicted: number, reports: readonly Report[], nowMs: number): Term | undefined {
  const near: Report[] = [];
  const far: Report[] = [];
  for (const report of reports) {
    const value = amountIn(report.capacity, name);
    if (value >= NEAR * predicted) near.push(report);
    else if (value > 0 && nowMs - report.atMs < FAR_TTL_MS) far.push(report);
  }
  const ascending = (found: readonly Report[]): readonly Report[] =>
    found.toSorted((a, b) => amountIn(a.capacity, name) - amountIn(b.capacity, name));
  // the lower median, so that the lowest of several values cannot be the fault of one node
  const isFar = far.length >= 2 && far.length >= near.length;
  const teacher = isFar ? ascending(far)[Math.ceil(far.length / 2) - 1] : ascending(near)[0];
  if (teacher === undefined) return undefined;
  const { node, image, capacity } = teacher;
  const others = isFar ? `, as ${far.length} of ${near.length + far.length} nodes reported much less` : '';
  return { text: `report of node ${node} with image ${image}${others}`, amount: amountIn(capacity, name) };
}
