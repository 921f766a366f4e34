/** Sums over the life of a cluster: waiting of pods, lost work of Jobs, launched nodes and node hours. */

/** A pod in one sample. */
export interface LifePod {
  readonly uid: string;
  readonly isBound: boolean;
  readonly isRunning: boolean;
  readonly isDone: boolean;
  readonly cpus: number;
  /** NaN for a pod that runs until it is deleted. */
  readonly runsForMs: number;
}

interface Known {
  readonly sinceMs: number;
  lastMs: number;
  boundMs?: number;
  runningMs?: number;
}

const HOUR_MS = 3_600_000;

export class LifeRecord {
  readonly #pods = new Map<string, Known>();
  readonly #launched = new Set<string>();
  #nodeMs = 0;
  #lastMs = 0;
  #present: readonly LifePod[] = [];
  #lostCpuMs = 0;
  readonly #done = new Set<string>();

  /** Returns the UIDs of pods whose time is over. */
  sample(nowMs: number, pods: readonly LifePod[], instances: readonly string[]): readonly string[] {
    this.#nodeMs += instances.length * (nowMs - this.#lastMs);
    this.#lastMs = nowMs;
    for (const id of instances) this.#launched.add(id);
    const running = new Set(pods.filter(({ isRunning, isDone }) => isRunning || isDone).map(({ uid }) => uid));
    for (const gone of this.#present) if (!running.has(gone.uid)) this.#addLost(gone, nowMs);
    this.#present = pods.filter(({ isRunning, runsForMs }) => isRunning && !Number.isNaN(runsForMs));
    for (const pod of pods) this.#see(pod, nowMs);
    const isOver = ({ uid, runsForMs }: LifePod): boolean =>
      nowMs - (this.#pods.get(uid)?.runningMs ?? nowMs) >= runsForMs;
    return this.#present.filter(isOver).map(({ uid }) => uid);
  }

  /** Pods that were never bound count with the time in which they existed. */
  figures(): Readonly<Record<string, number>> {
    const waits = [...this.#pods.values()]
      .map(({ sinceMs, lastMs, boundMs = lastMs }) => (boundMs - sinceMs) / 1_000)
      .sort((a, b) => a - b);
    const percentile = (part: number): number => waits[Math.ceil(part * waits.length) - 1] ?? 0;
    return {
      pods: waits.length,
      launched: this.#launched.size,
      nodeHours: rounded(this.#nodeMs / HOUR_MS),
      waitingP50S: rounded(percentile(0.5)),
      waitingP95S: rounded(percentile(0.95)),
      done: this.#done.size,
      lostCpuS: rounded(this.#lostCpuMs / 1_000),
    };
  }

  #see({ uid, isBound, isRunning, isDone }: LifePod, nowMs: number): void {
    if (isDone) this.#done.add(uid);
    const known = this.#pods.get(uid) ?? { sinceMs: nowMs, lastMs: nowMs };
    this.#pods.set(uid, known);
    known.lastMs = nowMs;
    if (isBound) known.boundMs ??= nowMs;
    if (isRunning) known.runningMs ??= nowMs;
  }

  /** Adds the work of a Job's pod that was running in the last sample and is not done. */
  #addLost({ uid, cpus }: LifePod, nowMs: number): void {
    const { runningMs = nowMs } = this.#pods.get(uid) ?? {};
    this.#lostCpuMs += cpus * (nowMs - runningMs);
  }
}

const rounded = (value: number): number => Number(value.toFixed(2));
