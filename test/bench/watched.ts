/** Measures how long the main thread does not turn while something is under way. */

export interface Blocks {
  /** The longest time, in milliseconds, that the main thread did not turn. */
  readonly blockMs: number;
  /** The most of its own CPU time, in milliseconds, that went by between two turns: what is left on an idle machine. */
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
