/**
 * Handles the unexpected end of an engine thread. The suspected pods are held for some time. The next thread starts after a
 * pause, which grows with each consecutive end. The end is reported.
 */

import type { Pod } from '#api/objects';
import { formatDuration } from '#api/values';
import { isHeavy, measuresOf, podKey } from '#engine/model';
import { type Clock, monotonicMs } from '#lib/clock';
import type { Logger } from '#observe/logger';
import { ENGINE_WORKER_RESTARTS, type Metrics } from '#observe/metrics';
import { type HoldOf, PodHolds } from '#state';
import type { EngineWorkerEnd } from './watchdog.ts';

const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 60_000;
/** Growth factor of the number of heavy suspects, for each further end without a named pod. */
const GROWTH = 4;

export interface Reports {
  readonly log: Logger;
  readonly metrics: Metrics;
}

/** Pods that may have ended a thread. Both threads share them. */
export class Suspects {
  readonly #holds: PodHolds;

  constructor(clock: Clock) {
    this.#holds = new PodHolds(clock);
  }

  hold(pods: readonly Pod[], death: EngineWorkerEnd): void {
    const text = `the ${death.worker} worker ended, probably because of this pod (${death.reason}); the pod is skipped for some time, reduce its affinity terms, spread constraints or tolerations`;
    for (const pod of pods) this.#holds.hold(pod, { code: 'solver-stuck', text });
  }

  readonly holdOf: HoldOf = (pod) => this.#holds.heldNow(pod);

  /** Returns the reasons of the current holds, by namespaced name. */
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
 * Limits for consecutive ends of a worker's threads without a response in between and without further pods to hold. If both
 * limits are reached, the worker has failed permanently. With the pauses, ten ends take at least four minutes.
 */
export const GIVEN_UP = { ends: 10, spanMs: 10 * 60_000 } as const;

/** Ends of threads that worked on the same request, since a thread last responded to it. */
interface Ends {
  readonly all: number;
  /** Ends without a named pod. */
  readonly nameless: number;
}
const NO_ENDS: Ends = { all: 0, nameless: 0 };

/** Ends since the last response that revealed no further pods to hold. After such an end, the next thread gets the same work. */
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
  /** Ends by request, because a response to another request does not show that this request is safe. */
  readonly #ends = new Map<string, Ends>();
  #inVain: InVain | undefined;

  constructor(clock: Clock, suspects: Suspects) {
    this.#clock = clock;
    this.suspects = suspects;
  }

  /** Sets the log and the metrics for future ends of threads. */
  reportTo(reports: Reports): void {
    this.#reports = reports;
  }

  /** Waits before the start of a thread. */
  async pause(): Promise<void> {
    const ends = Math.max(0, ...[...this.#ends.values()].map(({ all }) => all));
    if (ends > 0) await this.#clock.sleep(Math.min(FIRST_PAUSE_MS * 2 ** (ends - 1), LONGEST_PAUSE_MS));
  }

  /** Records a response to a request. A later end in the same request then counts as a new case. */
  answered(request: string): void {
    this.#ends.delete(request);
    this.#inVain = undefined;
  }

  /** @throws Error if threads end repeatedly without a response, so that only a new process can help */
  check(): void {
    if (this.#inVain === undefined || !isGivenUp(this.#inVain)) return;
    const { ends, firstMs, last } = this.#inVain;
    const forMs = monotonicMs(this.#clock) - firstMs;
    throw new Error(
      `${ends} ${last.worker} workers in a row ended without a result, the first ${formatDuration(forMs)} ago; no pod is left to skip: ${last.message}`,
    );
  }

  /** Holds the suspected pods from now on. `pods` are all pods of the request. */
  died(death: EngineWorkerEnd, pods: readonly Pod[], request: string): void {
    const suspects = this.#suspectsOf(death, pods, request);
    const isProgress = this.suspects.among(suspects).size < suspects.length;
    this.suspects.hold(suspects, death);
    this.#reports?.metrics.counter(ENGINE_WORKER_RESTARTS).inc({ worker: death.worker, reason: death.reason });
    this.#reports?.log.error('an engine worker ended, starting a new one', {
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
    this.#reports?.log.error('engine workers repeatedly ended, failing /healthz to restart the container', {
      worker: last.worker,
      error: last.message,
      'ends-in-vain': ends + 1,
    });
  }

  /**
   * Returns the suspected pods. Normally this is the pod that the thread was working on. If memory ran out, this pod is suspected
   * only if it is heavy. If no pod is suspected this way, a growing number of the heaviest pods is suspected.
   */
  #suspectsOf({ reason, pod: key }: EngineWorkerEnd, pods: readonly Pod[], request: string): readonly Pod[] {
    const { all, nameless } = this.#ends.get(request) ?? NO_ENDS;
    const named = key === undefined ? undefined : pods.find((pod) => podKey(pod) === key);
    if (named !== undefined && (reason !== 'out-of-memory' || isHeavy(named))) {
      this.#ends.set(request, { all: all + 1, nameless });
      return [named];
    }
    this.#ends.set(request, { all: all + 1, nameless: nameless + 1 });
    // the cause may be permanent: if a cluster no longer fits into the memory of the thread, no pod is the cause
    const count = nameless === 0 ? 0 : GROWTH ** (nameless - 1);
    return pods
      .filter(isHeavy)
      .toSorted((a, b) => measuresOf(b).weight - measuresOf(a).weight)
      .slice(0, count);
  }
}
