/**
 * Limits on work that cannot be counted, in CPU time of the calling thread, which other processes on the machine do not
 * affect.
 */

/**
 * Calls the function and returns its result. The limit should be far above the required time, so that only work that
 * grows faster than its input exceeds it.
 * @throws Error if the thread computed for longer than the limit
 */
export function withinCpuTime<T>(limitMs: number, work: () => T): T {
  const before = process.threadCpuUsage();
  const result = work();
  const { user } = process.threadCpuUsage(before);
  if (user / 1_000 > limitMs) throw new Error(`computed for ${Math.round(user / 1_000)} ms, limit ${limitMs} ms`);
  return result;
}
