/** Collects what arrives close together into one provisioning run. */
import { type Clock, monotonicMs } from '../../kube/clock.ts';

export interface BatchWindow {
  /** Silence that closes a window. */
  readonly idleMs: number;
  /** Longest time that a window stays open. */
  readonly maxMs: number;
}

/** How long `wait` looks out for a first trigger. */
const LOOKOUT_MS = 1000;

export class Batcher {
  readonly #clock: Clock;
  readonly #window: BatchWindow;
  readonly #seen = new Set<string>();
  #armed = false;
  #wake: (() => void) | undefined;

  constructor(clock: Clock, window: BatchWindow) {
    this.#clock = clock;
    this.#window = window;
  }

  /** Opens a window, or keeps the open one open. The same id counts once per window. */
  trigger(id: string): void {
    if (this.#seen.has(id)) return;
    this.#seen.add(id);
    this.#armed = true;
    this.#wake?.();
  }

  /** Answers true once a window has closed, false when nothing arrived for a while or the process stops. */
  async wait(signal: AbortSignal): Promise<boolean> {
    const opened = await this.#signalled(LOOKOUT_MS, signal);
    const closesMs = monotonicMs(this.#clock) + this.#window.maxMs;
    let extended = opened;
    while (extended && monotonicMs(this.#clock) < closesMs) {
      extended = await this.#signalled(Math.min(this.#window.idleMs, closesMs - monotonicMs(this.#clock)), signal);
    }
    this.#seen.clear();
    return opened && !signal.aborted;
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
