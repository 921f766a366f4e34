/** Runs long work in small steps, so that watches, leases and probes are served between the steps. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { monotonicMs, type Timepiece } from './clock.ts';

/** Duration of a step in milliseconds. Most steps take slightly longer. */
const STEP_MS = 8;

/** Returns a promise that lets other work run, or undefined if no pause is necessary yet. */
export type Pause = () => Promise<void> | undefined;

/**
 * Returns a function that the work must call between steps. It returns a promise to await if the work has used its time
 * without a pause.
 */
export function yielding(now: () => number = () => performance.now()): Pause {
  let startedMs = now();
  const turn = async (): Promise<void> => {
    await nextTurn();
    startedMs = now();
  };
  return () => (now() - startedMs < STEP_MS ? undefined : turn());
}

let last: Promise<unknown> = Promise.resolve();

/**
 * Runs synchronous work in slices and yields between them. Runs one task after the other, because slices of several tasks
 * add up to a long turn. The clock measures the slices; in virtual time there is only one slice.
 */
export function inSlices<T>(steps: Iterator<undefined, T>, clock: Timepiece): Promise<T> {
  const finished = last.then(() =>
    runSteps(
      steps,
      yielding(() => monotonicMs(clock)),
    ),
  );
  last = finished.catch(() => undefined);
  return finished;
}

async function runSteps<T>(steps: Iterator<undefined, T>, pause: Pause): Promise<T> {
  for (;;) {
    const { done, value } = steps.next();
    if (done) return value;
    await pause();
  }
}
