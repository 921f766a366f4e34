/** Collects what arrives close together into one provisioning run. */
import { type Clock, monotonicMs } from '../../lib/clock.ts';

interface BatchWindow {
  /** Silence that closes a window. */
  readonly idleMs: number;
  /** Longest time that a window stays open. */
  readonly maxMs: number;
  /** How long `wait` looks out for a first trigger. Default: a second. */
  readonly lookoutMs?: number | undefined;
}

/** A window that is closed, by the clock's time. */
interface BatchSpan {
  readonly fromMs: number;
  readonly toMs: number;
}

const LOOKOUT_MS = 1000;

export class PodBatcher {
  readonly #clock: Clock;
  readonly #window: BatchWindow;
  readonly #seen = new Set<string>();
  /** When the last trigger came that others may follow; monotonic. */
  #noiseMs = Number.NEGATIVE_INFINITY;
  /** The same of triggers that {@link settled} makes up for. */
  #unsettledMs = Number.NEGATIVE_INFINITY;
  #armed = false;
  /** When the window that is open now had its first trigger, by the clock's time. */
  #openedMs: number | undefined;
  #last: BatchSpan | undefined;
  #wake: (() => void) | undefined;

  constructor(clock: Clock, window: BatchWindow) {
    this.#clock = clock;
    this.#window = window;
  }

  /** Opens a window, or keeps the open one open. The same id counts once per window. */
  trigger(id: string): void {
    if (this.#isNew(id)) this.#noiseMs = this.#arm();
  }

  /** The same for what others of its kind may follow in a moment, until {@link settled} says that none will. */
  triggerUnsettled(id: string): void {
    if (this.#isNew(id)) this.#unsettledMs = this.#arm();
  }

  /** Opens a window that waits for nobody but those who still arrive: what a run depends on is known now. */
  settled(): void {
    this.#unsettledMs = Number.NEGATIVE_INFINITY;
    this.#arm();
  }

  /** Answers true once a window has closed, false when nothing arrived for a while or the process stops. */
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

  /** Waits for a trigger; one that came before the call counts. */
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
