/**
 * What follows from the end of an engine's thread: the pods that are suspected of it are left out for a while, the next
 * thread starts after a pause that grows while they go on ending, and the end is reported.
 */
import { formatDuration } from '../api/duration.ts';
import type { Pod } from '../api/kubernetes.ts';
import { isHeavy, measuresOf } from '../engine/pod-bounds.ts';
import { podKey } from '../engine/pods.ts';
import { type Clock, monotonicMs } from '../lib/clock.ts';
import type { Logger } from '../observe/logger.ts';
import { ENGINE_WORKER_RESTARTS } from '../observe/metrics/process.ts';
import type { Metrics } from '../observe/metrics.ts';
import { type HoldOf, PodHolds } from '../state/pod-holds.ts';
import type { EngineWorkerEnd } from './watchdog.ts';

const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 60_000;
/** Each further end that names no pod suspects so many times more of the heaviest ones. */
const GROWTH = 4;

export interface Reports {
  readonly log: Logger;
  readonly metrics: Metrics;
}

/** Pods that threads did not come back from. Both threads know the same ones. */
export class Suspects {
  readonly #holds: PodHolds;

  constructor(clock: Clock) {
    this.#holds = new PodHolds(clock);
  }

  hold(pods: readonly Pod[], death: EngineWorkerEnd): void {
    const text = `the ${death.worker} worker did not come back from work in which this pod is suspected (${death.reason}); it is left out for a while, give it fewer terms of affinity, spread constraints or tolerations`;
    for (const pod of pods) this.#holds.hold(pod, { code: 'solver-stuck', text });
  }

  readonly holdOf: HoldOf = (pod) => this.#holds.heldNow(pod);

  /** Why pods are left out now, by namespaced name. */
  among(pods: readonly Pod[]): ReadonlyMap<string, string> {
    if (this.#holds.size === 0) return new Map();
    return new Map(
      pods.flatMap((pod) => {
        const hold = this.#holds.heldNow(pod);
        return hold === undefined ? [] : [[podKey(pod), hold.text] as const];
      }),
    );
  }
}

/**
 * A worker is given up when its threads have ended so often, and over so long a time, without an answer in between and
 * with no more pods to leave out. With the pauses between them ten ends take four minutes at least.
 */
export const GIVEN_UP = { ends: 10, spanMs: 10 * 60_000 } as const;

/** Ends of threads that worked on the same request, since one of them answered it. */
interface Ends {
  readonly all: number;
  /** Those that named no pod. */
  readonly nameless: number;
}
const NO_ENDS: Ends = { all: 0, nameless: 0 };

/** Ends since any answer after which there was nothing new to leave out: the next thread is given the same work again. */
interface InVain {
  readonly ends: number;
  readonly firstMs: number;
  readonly lastMs: number;
  readonly last: EngineWorkerEnd;
}

const isGivenUp = ({ ends, firstMs, lastMs }: InVain): boolean =>
  ends >= GIVEN_UP.ends && lastMs - firstMs >= GIVEN_UP.spanMs;

export class Supervision {
  readonly #clock: Clock;
  readonly suspects: Suspects;
  #reports: Reports | undefined;
  /** By request. That others are answered says nothing of one that threads end of. */
  readonly #ends = new Map<string, Ends>();
  #inVain: InVain | undefined;

  constructor(clock: Clock, suspects: Suspects) {
    this.#clock = clock;
    this.suspects = suspects;
  }

  /** From now on, ends of threads are logged and counted there. */
  reportTo(reports: Reports): void {
    this.#reports = reports;
  }

  /** To be awaited before a thread is started. */
  async pause(): Promise<void> {
    const ends = Math.max(0, ...[...this.#ends.values()].map(({ all }) => all));
    if (ends > 0) await this.#clock.sleep(Math.min(FIRST_PAUSE_MS * 2 ** (ends - 1), LONGEST_PAUSE_MS));
  }

  /** A thread has answered such a request: if one ends of it from here on, that is a new case. */
  answered(request: string): void {
    this.#ends.delete(request);
    this.#inVain = undefined;
  }

  /** @throws Error when threads end again and again without an answer, and a new process is the last resort */
  check(): void {
    if (this.#inVain === undefined || !isGivenUp(this.#inVain)) return;
    const { ends, firstMs, last } = this.#inVain;
    const forMs = monotonicMs(this.#clock) - firstMs;
    throw new Error(
      `${ends} ${last.worker} workers ended in succession without an answer, the first ${formatDuration(forMs)} ago, and there are no more pods to leave out: ${last.message}`,
    );
  }

  /** Leaves the suspects out from now on. `pods` are all that the request was about. */
  died(death: EngineWorkerEnd, pods: readonly Pod[], request: string): void {
    const suspects = this.#suspectsOf(death, pods, request);
    const isProgress = this.suspects.among(suspects).size < suspects.length;
    this.suspects.hold(suspects, death);
    this.#reports?.metrics.counter(ENGINE_WORKER_RESTARTS).inc({ worker: death.worker, reason: death.reason });
    this.#reports?.log.error('an engine worker ended, starting another', {
      worker: death.worker,
      reason: death.reason,
      error: death.message,
      'set-aside': suspects.slice(0, 5).map(podKey),
      'set-aside-count': suspects.length,
      'ends-in-succession': this.#ends.get(request)?.all,
    });
    if (!isProgress) this.#countInVain(death);
  }

  #countInVain(last: EngineWorkerEnd): void {
    const nowMs = monotonicMs(this.#clock);
    const { ends, firstMs } = this.#inVain ?? { ends: 0, firstMs: nowMs };
    const wasGivenUp = this.#inVain !== undefined && isGivenUp(this.#inVain);
    this.#inVain = { ends: ends + 1, firstMs, lastMs: nowMs, last };
    if (wasGivenUp || !isGivenUp(this.#inVain)) return;
    this.#reports?.log.error('engine workers go on ending, failing /healthz to have the container restarted', {
      worker: last.worker,
      error: last.message,
      'ends-in-vain': ends + 1,
    });
  }

  /**
   * The pod that the thread did not come back from. One that was merely being worked on when memory ran out is suspected
   * only if it is heavy; where no pod is named, so many of the heaviest, and more each time.
   */
  #suspectsOf({ reason, pod: key }: EngineWorkerEnd, pods: readonly Pod[], request: string): readonly Pod[] {
    const { all, nameless } = this.#ends.get(request) ?? NO_ENDS;
    const named = key === undefined ? undefined : pods.find((pod) => podKey(pod) === key);
    if (named !== undefined && (reason !== 'out-of-memory' || isHeavy(named))) {
      this.#ends.set(request, { all: all + 1, nameless });
      return [named];
    }
    this.#ends.set(request, { all: all + 1, nameless: nameless + 1 });
    // the cause may be permanent: a cluster that has outgrown the thread's memory is not the fault of a pod
    const count = nameless === 0 ? 0 : GROWTH ** (nameless - 1);
    return pods
      .filter(isHeavy)
      .toSorted((a, b) => measuresOf(b).weight - measuresOf(a).weight)
      .slice(0, count);
  }
}
