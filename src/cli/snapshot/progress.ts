/** Shows on a terminal how many objects have been read. Other commands only show that they are working. */
import { clearLine, type LineOutput, showLine } from '../render/live-line.ts';

/** Time in milliseconds before the line is shown. */
const PATIENCE_MS = 2_000;
const BETWEEN_MS = 100;

export interface Progress {
  /** Shows the current activity. */
  at(text: string): void;
  /** Removes the line. */
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
