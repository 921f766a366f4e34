/** Collects triggers that arrive close together into one provisioning run. */
import { type Clock, monotonicMs } from '../../lib/clock.ts';

interface BatchWindow {
  /** Time without a trigger after which a window closes, in milliseconds. */
  readonly idleMs: number;
  /** Maximum duration of a window, in milliseconds. */
  readonly maxMs: number;
  /** Time for which `wait` waits for a first trigger, in milliseconds. Default: one second. */
  readonly lookoutMs?: number | undefined;
}

/** Start and end of a closed window, by the clock's time. */
interface BatchSpan {
  readonly fromMs: number;
  readonly toMs: number;
}

const LOOKOUT_MS = 1000;

export class PodBatcher {
  readonly #clock: Clock;
  readonly #window: BatchWindow;
  readonly #seen = new Set<string>();
  /** Time of the last trigger that further triggers may follow, by `monotonicMs`. */
  #noiseMs = Number.NEGATIVE_INFINITY;
  /** Time of the last unsettled trigger, by `monotonicMs`. A call of {@link settled} resets it. */
  #unsettledMs = Number.NEGATIVE_INFINITY;
  #armed = false;
  /** Time of the first trigger in the open window, by the clock's time. */
  #openedMs: number | undefined;
  #last: BatchSpan | undefined;
  #wake: (() => void) | undefined;

  constructor(clock: Clock, window: BatchWindow) {
    this.#clock = clock;
    this.#window = window;
  }

  /** Opens a window, or extends the open window. The same id counts once per window. */
  trigger(id: string): void {
    if (this.#isNew(id)) this.#noiseMs = this.#arm();
  }

  /** Like `trigger`, for a trigger that similar triggers may soon follow. {@link settled} ends the wait for such triggers. */
  triggerUnsettled(id: string): void {
    if (this.#isNew(id)) this.#unsettledMs = this.#arm();
  }

  /** Opens a window that no longer waits for unsettled triggers, because the input of the run is complete. */
  settled(): void {
    this.#unsettledMs = Number.NEGATIVE_INFINITY;
    this.#arm();
  }

  /** Returns true once a window has closed. Returns false if no trigger arrived in time or if the process stops. */
  async wait(signal: AbortSignal): Promise<boolean> {
    const opened = await this.#signalled(this.#window.lookoutMs ?? LOOKOUT_MS, signal);
    const closesMs = monotonicMs(this.#clock) + this.#window.maxMs;
    while (opened && !signal.aborted) {
      const quietMs = Math.max(this.#noiseMs, this.#unsettledMs) + this.#window.idleMs;
      const restMs = Math.min(quietMs, closesMs) - monotonicMs(this.#clock);
      if (restMs <= 0) break;
      await this.#signalled(restMs, signal);
    }
    this.#seen.clear();
    if (opened) this.#close();
    return opened && !signal.aborted;
  }

  /** The window that closed last. */
  get last(): BatchSpan | undefined {
    return this.#last;
  }

  #close(): void {
    const toMs = this.#clock.now();
    this.#last = { fromMs: this.#openedMs ?? toMs, toMs };
    this.#openedMs = undefined;
  }

  #isNew(id: string): boolean {
    const isNew = !this.#seen.has(id);
    this.#seen.add(id);
    return isNew;
  }

  #arm(): number {
    this.#armed = true;
    this.#openedMs ??= this.#clock.now();
    this.#wake?.();
    return monotonicMs(this.#clock);
  }

  /** Waits for a trigger. A trigger before the call counts too. */
  async #signalled(ms: number, signal: AbortSignal): Promise<boolean> {
    if (!this.#armed) {
      const stop = new AbortController();
      this.#wake = () => stop.abort();
      await this.#clock.sleep(ms, AbortSignal.any([signal, stop.signal]));
      this.#wake = undefined;
    }
    const signalled = this.#armed;
    this.#armed = false;
    return signalled && !signal.aborted;
  }
}
