/** Measures how long the main thread is blocked during an operation. */

export interface Blocks {
  /** Longest time in milliseconds for which the main thread was blocked. */
  readonly blockMs: number;
  /** Highest CPU time of the main thread between two turns, in milliseconds. This is the block on an idle machine. */
  readonly blockCpuMs: number;
}

export const cpuMs = (): number => {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
};

export async function watched<T>(work: () => Promise<T>): Promise<Blocks & { readonly result: T }> {
  let [blockMs, blockCpuMs] = [0, 0];
  let isOver = false;
  let last = { ms: performance.now(), cpuMs: cpuMs() };
  const turn = (): void => {
    const now = { ms: performance.now(), cpuMs: cpuMs() };
    blockMs = Math.max(blockMs, now.ms - last.ms);
    blockCpuMs = Math.max(blockCpuMs, now.cpuMs - last.cpuMs);
    last = now;
    if (!isOver) setImmediate(turn);
  };
  setImmediate(turn);
  const result = await work();
  isOver = true;
  turn();
  return { result, blockMs, blockCpuMs };
}
