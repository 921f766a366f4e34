/** Long work in small steps, so that watches, leases and probes are answered between them. */
import { setImmediate as nextTurn } from 'node:timers/promises';

/** Longest time, in milliseconds, that a step may keep the others waiting; most are a little longer. */
const STEP_MS = 8;

/** To be awaited between steps: lets the others have their turn when this one has taken long enough. */
export function yielding(now: () => number = () => performance.now()): () => Promise<void> {
  let startedMs = now();
  return async () => {
    if (now() - startedMs < STEP_MS) return;
    await nextTurn();
    startedMs = now();
  };
}
