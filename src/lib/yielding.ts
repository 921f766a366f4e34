/** Long work in small steps, so that watches, leases and probes are answered between them. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { monotonicMs, type Timepiece } from './clock.ts';

/** Longest time, in milliseconds, that a step may keep the others waiting; most are a little longer. */
const STEP_MS = 8;

/** Lets the others have their turn, when it is awaited; undefined when there is no need to. */
export type Pause = () => Promise<void> | undefined;

/** To be called between steps: answers something to wait for when this work has taken long enough. */
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
 * Runs synchronous work in slices and yields between them. Runs one work after the other, because slices of several works
 * add up to a long turn. The clock measures the slices; in virtual time there is only one.
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
