/** Shows the progress of a replay: a live line in a terminal, or one line per tenth in a pipe. */
import type { Progress } from '#replay/run';
import { usd } from '../render/cost.ts';
import { clearLine, type LineOutput, showLine } from '../render/live-line.ts';
import { counted } from '../render/table.ts';
import { dateTime, spanText } from './units.ts';

const BETWEEN_MS = 100;
const BAR = 16;
const STEPS = 10;
/** Minimum progress for an estimate of the remaining time. */
const SURE_SHARE = 0.02;

interface ProgressLine {
  at(progress: Progress): void;
  /** Removes this line. */
  done(): void;
}

interface ProgressOptions {
  /** Start of the trace in milliseconds since the epoch. */
  readonly startMs: number;
  readonly seconds: number;
  readonly output?: LineOutput;
  /** Real time. */
  readonly nowMs?: () => number;
}

export function progressLine(options: ProgressOptions): ProgressLine {
  const { output = process.stderr, nowMs = () => performance.now() } = options;
  const startedMs = nowMs();
  let shownMs: number | undefined;
  /** Progress by index of the run, because several runs may be played in parallel. */
  const shares = new Map<number, number>();
  const told = new Map<number, number>();
  return {
    at(progress) {
      const { index, share } = progress;
      shares.set(index, share);
      const now = nowMs();
      const left = leftText(progress, [...shares.values()], now - startedMs);
      if (output.isTTY === true) {
        // there is room for one run, so the slowest run is shown
        if ([...shares.values()].some((other) => other < share)) return;
        if (shownMs !== undefined && now - shownMs < BETWEEN_MS) return;
        shownMs = now;
        showLine(output, `${bar(progress.share)} ${lineText(progress, options, left)}`);
        return;
      }
      const step = Math.floor(share * STEPS);
      if (step === told.get(index)) return;
      told.set(index, step);
      output.write(`${lineText(progress, options, left)}\n`);
    },
    done() {
      if (shownMs !== undefined) clearLine(output);
      shownMs = undefined;
    },
  };
}

/** Returns `[#####-----------]`. ASCII characters are one column wide in every terminal. */
function bar(share: number): string {
  const filled = Math.round(Math.min(1, Math.max(0, share)) * BAR);
  return `[${'#'.repeat(filled)}${'-'.repeat(BAR - filled)}]`;
}

function lineText(progress: Progress, { startMs, seconds }: ProgressOptions, left: string): string {
  const { set, life, index, runs, share, nodes, pods, usd: spent } = progress;
  const played = life === undefined ? set : `${set}, life ${life}`;
  const name = runs > 1 ? `${played} (${index + 1}/${runs})` : played;
  const at = dateTime(startMs + share * seconds * 1000);
  return `${name} ${Math.floor(share * 100)} % ${at} ${counted(nodes, 'node')} ${counted(pods, 'pod')} ${usd(spent)}${left}`;
}

/** Estimates the remaining time of all runs, which take about the same time. */
function leftText({ runs }: Progress, shares: readonly number[], elapsedMs: number): string {
  const done = shares.reduce((sum, share) => sum + share, 0) / Math.max(1, runs);
  if (done < SURE_SHARE || done >= 1) return '';
  return `, ${spanText((elapsedMs / 1000) * (1 / done - 1))} left`;
}
