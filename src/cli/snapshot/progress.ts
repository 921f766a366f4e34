/** How far the reading has come, on a terminal: other verbs have a line that says no more than that they work. */
import { clearLine, type LineOutput, showLine } from '../render/live-line.ts';

/** After this many milliseconds people wonder. */
const PATIENCE_MS = 2_000;
const BETWEEN_MS = 100;

export interface Progress {
  /** What is going on now. */
  at(text: string): void;
  /** Takes the line away. */
  done(): void;
}

export function progressOn(
  output: LineOutput = process.stderr,
  nowMs: () => number = () => performance.now(),
): Progress {
  const startedMs = nowMs();
  let shownMs: number | undefined;
  return {
    at(text) {
      const now = nowMs();
      const isDue = now - startedMs >= PATIENCE_MS && now - (shownMs ?? 0) >= BETWEEN_MS;
      if (output.isTTY !== true || !isDue) return;
      shownMs = now;
      showLine(output, text);
    },
    done() {
      if (shownMs !== undefined) clearLine(output);
      shownMs = undefined;
    },
  };
}
