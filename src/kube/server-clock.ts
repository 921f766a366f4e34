/**
 * Clock that follows the API server. Objects carry times of the API server's clock, so ages and deadlines are computed with
 * the same clock. Each response bounds the difference between the API server's clock and `monotonicMs` of the machine:
 *
 *   unknown ──response agrees with the machine's clock──▶ following ──three responses in a row disagree──▶ following
 *   unknown ──three responses in a row disagree with the machine's clock, but agree with each other────▶ following
 *
 * The difference is kept as long as responses allow it, so time runs evenly, even when the machine's clock is set.
 */

import type { KubeObject } from '#api/objects';
import { formatDuration } from '#api/values';
import { type Clock, type DatedResponse, monotonicMs } from '#lib/clock';
import { CLOCK_SKEWED, eventOf } from '#observe/events';
import type { Logger } from '#observe/logger';
import { API_SERVER_CLOCK_SKEW_SECONDS, type Metrics } from '#observe/metrics';
import type { EventRecorder } from './events.ts';

interface ServerClockOptions {
  readonly log: Logger;
  readonly metrics: Metrics;
}

/** Resolution of the `Date` header. */
const RESOLUTION_MS = 1_000;
/** Disagreement that is tolerated: object times have no better resolution. */
const SLACK_MS = 1_000;
/** Number of responses that must agree, because one response may come from a proxy or a cache. */
const CONFIRMATIONS = 3;
/** No supported API server is older, so an earlier date is not a time. */
const EARLIEST_MS = Date.UTC(2020, 0);
/**
 * Maximum lead of the API server's clock. A clock that is further ahead is ignored, because all NodeClaims and nodes would expire
 * at the same time.
 */
const LONGEST_AHEAD_MS = 24 * 3_600_000;
const REPORTED_MS = 5_000;
const RECOVERED_MS = 2_000;
const REMEDY = 'synchronize the clocks of the node and of the control plane with NTP, for example with chrony';

/** Only date format that RFC 9110 permits for servers. */
const HTTP_DATE = /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/;

/** Bounds of the difference between the API server's clock and the machine's `monotonicMs`, in milliseconds. */
interface Bounds {
  readonly lowMs: number;
  readonly highMs: number;
}

export class ServerClock implements Clock {
  readonly #machine: Clock;
  readonly #log: Logger;
  readonly #gauge: { set(value: number): void };
  /** Difference that `now` applies; undefined until the API server's clock is known. */
  #aheadMs: number | undefined;
  /** Consecutive responses that disagree with the difference, and the bounds that all of these responses allow. */
  #doubt: (Bounds & { readonly responses: number }) | undefined;
  /** Current skew as reported; undefined without a skew. */
  #reported: string | undefined;
  #publish: (message: string) => void = () => {};

  constructor(machine: Clock, { log, metrics }: ServerClockOptions) {
    this.#machine = machine;
    this.#log = log;
    this.#gauge = metrics.gauge(API_SERVER_CLOCK_SKEW_SECONDS);
    this.#gauge.set(0);
  }

  now(): number {
    return this.#aheadMs === undefined ? this.#machine.now() : Math.floor(this.monotonic() + this.#aheadMs);
  }

  monotonic(): number {
    return monotonicMs(this.#machine);
  }

  machineNow(): number {
    return this.#machine.machineNow?.() ?? this.#machine.now();
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return this.#machine.sleep(ms, signal);
  }

  after(ms: number, fire: () => void): () => void {
    return this.#machine.after(ms, fire);
  }

  correct({ date, age, sentMs }: DatedResponse): void {
    // a cached response has the date of its first delivery
    if (date === undefined || age !== undefined || !HTTP_DATE.test(date)) return;
    const dateMs = Date.parse(date);
    if (!(dateMs >= EARLIEST_MS)) return;
    const nowMs = this.monotonic();
    const bounds = { lowMs: dateMs - nowMs, highMs: dateMs + RESOLUTION_MS - sentMs };
    const aheadMs = this.#aheadMs ?? this.#machine.now() - nowMs;
    if (aheadMs >= bounds.lowMs - SLACK_MS && aheadMs <= bounds.highMs + SLACK_MS) {
      this.#doubt = undefined;
      this.#aheadMs = aheadMs;
      this.#report(aheadMs);
    } else this.#disagree(bounds);
  }

  #disagree(bounds: Bounds): void {
    const before = this.#doubt;
    const lowMs = Math.max(bounds.lowMs, before?.lowMs ?? Number.NEGATIVE_INFINITY);
    const highMs = Math.min(bounds.highMs, before?.highMs ?? Number.POSITIVE_INFINITY);
    const isAgreed = before !== undefined && lowMs <= highMs;
    this.#doubt = isAgreed ? { lowMs, highMs, responses: before.responses + 1 } : { ...bounds, responses: 1 };
    if (this.#doubt.responses < CONFIRMATIONS) return;
    const aheadMs = (this.#doubt.lowMs + this.#doubt.highMs) / 2;
    this.#doubt = undefined;
    const isFollowed = this.monotonic() + aheadMs - this.#machine.now() <= LONGEST_AHEAD_MS;
    if (isFollowed) this.#aheadMs = aheadMs;
    this.#report(aheadMs);
  }

  /** Compares the machine's clock with the API server's clock. Reports once when a skew starts and once when it ends. */
  #report(aheadMs: number): void {
    const skewMs = this.#machine.now() - this.monotonic() - aheadMs;
    this.#gauge.set(Math.round(skewMs) / 1_000);
    const wasSkewed = this.#reported !== undefined;
    const isSkewed = Math.abs(skewMs) >= (wasSkewed ? RECOVERED_MS : REPORTED_MS);
    if (isSkewed === wasSkewed) return;
    if (!isSkewed) {
      this.#reported = undefined;
      this.#log.info('the clock of the machine matches the clock of the API server again');
      return;
    }
    const skew = formatDuration(Math.abs(Math.round(skewMs / 1_000)) * 1_000);
    const text = `${skew} ${skewMs > 0 ? 'ahead of' : 'behind'} the API server's clock`;
    const message =
      aheadMs === this.#aheadMs
        ? 'the clock of the machine differs from the clock of the API server, using the time of the API server'
        : 'the clock of the API server is more than a day ahead, using the time of the machine';
    this.#log.warn(message, { 'machine-clock': text, remedy: REMEDY });
    this.#reported = `The clock of the operator's machine is ${text}; synchronize both with NTP, for example by chrony`;
    this.#publish(this.#reported);
  }

  /** Publishes skews as events of the Lease from now on, including the current skew. */
  reportTo(events: EventRecorder, lease: KubeObject): void {
    this.#publish = (message) => events.publish(eventOf(CLOCK_SKEWED, lease, { message }));
    if (this.#reported !== undefined) this.#publish(this.#reported);
  }
}
