/** How far the reading has come, on a terminal: other verbs have a line that says no more than that they work. */

interface Output {
  write(text: string): unknown;
  readonly isTTY?: boolean;
  readonly columns?: number;
}

/** After this many milliseconds people wonder. */
const PATIENCE_MS = 2_000;
const BETWEEN_MS = 100;
const CLEAR_LINE = '\r\u001b[2K';

export interface Progress {
  /** What is going on now. */
  at(text: string): void;
  /** Takes the line away. */
  done(): void;
}

export function progressOn(output: Output = process.stderr, nowMs: () => number = () => performance.now()): Progress {
  const startedMs = nowMs();
  let shownMs: number | undefined;
  return {
    at(text) {
      const now = nowMs();
      const isDue = now - startedMs >= PATIENCE_MS && now - (shownMs ?? 0) >= BETWEEN_MS;
      if (output.isTTY !== true || !isDue) return;
      shownMs = now;
      output.write(CLEAR_LINE + text.slice(0, (output.columns ?? 80) - 1));
    },
    done() {
      if (shownMs !== undefined) output.write(CLEAR_LINE);
      shownMs = undefined;
    },
  };
}
