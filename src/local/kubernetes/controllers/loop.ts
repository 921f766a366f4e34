/** A level-based control loop with retries. It processes each key sequentially, and uses only the latest state. */
import type { Clock } from '#lib/clock';

export interface LoopOptions {
  readonly name: string;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  log(message: string): void;
  /** Reconciles the object of this key. A returned number schedules another run after this number of milliseconds. */
  // biome-ignore lint/suspicious/noConfusingVoidType: a reconciler that needs no other run just returns
  reconcile(key: string): Promise<number | undefined | void>;
}

export interface Loop {
  /** Schedules this key, immediately or after a delay. */
  add(key: string, afterMs?: number): void;
}

const WORKERS = 8;
const FIRST_RETRY_MS = 100;
const LONGEST_RETRY_MS = 30_000;

export function startLoop({ name, clock, signal, log, reconcile }: LoopOptions): Loop {
  const waiting = new Set<string>();
  const running = new Set<string>();
  const failures = new Map<string, number>();
  /** Delayed keys, with one timer each. */
  const later = new Map<string, { readonly dueAt: number; readonly cancel: () => void }>();
  let workers = 0;

  const work = async (key: string): Promise<void> => {
    try {
      const again = await reconcile(key);
      failures.delete(key);
      if (typeof again === 'number') add(key, again);
    } catch (error) {
      if (signal.aborted) return;
      const count = failures.get(key) ?? 0;
      failures.set(key, count + 1);
      if (count > 1) log(`${name} ${key}: ${String(error)}`);
      add(key, Math.min(LONGEST_RETRY_MS, FIRST_RETRY_MS * 2 ** count));
    }
  };

  const pump = (): void => {
    for (const key of waiting) {
      if (workers >= WORKERS || signal.aborted) return;
      if (running.has(key)) continue;
      waiting.delete(key);
      running.add(key);
      workers += 1;
      void work(key).finally(() => {
        running.delete(key);
        workers -= 1;
        pump();
      });
    }
  };

  const add = (key: string, afterMs = 0): void => {
    if (signal.aborted) return;
    const pending = later.get(key);
    const dueAt = clock.now() + afterMs;
    if (pending && afterMs > 0 && pending.dueAt <= dueAt) return;
    // The earlier run decides whether another run is necessary.
    pending?.cancel();
    later.delete(key);
    if (afterMs > 0) {
      later.set(key, { dueAt, cancel: clock.after(afterMs, () => add(key)) });
      return;
    }
    waiting.add(key);
    // Runs after the current turn, so that a burst of changes leads to one run.
    queueMicrotask(pump);
  };
  signal.addEventListener('abort', () => {
    for (const { cancel } of later.values()) cancel();
  });
  return { add };
}
