/** Keeps a chatty line from drowning the log: per second and identical line, the first 100, then every 100th. */
const FIRST = 100;
const THEREAFTER = 100;

/** Answers a function that says whether this occurrence of a line is written. */
export function sampler(now: () => number): (line: string) => boolean {
  let second = Number.NaN;
  let counts = new Map<string, number>();
  return (line) => {
    const current = Math.floor(now() / 1_000);
    if (current !== second) {
      second = current;
      counts = new Map();
    }
    const count = (counts.get(line) ?? 0) + 1;
    counts.set(line, count);
    return count <= FIRST || (count - FIRST) % THEREAFTER === 0;
  };
}
