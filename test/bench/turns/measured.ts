/** One code path of the main thread, and what is run of it. */
import { watched } from '../watched.ts';

export interface TurnPath {
  readonly path: string;
  /** What it was given. */
  readonly input: string;
  readonly run: () => unknown;
}

export interface TurnLine {
  readonly path: string;
  readonly input: string;
  /** Processor time of the longest turn, in milliseconds. */
  readonly longestTurnMs: number;
  readonly cpuMs: number;
}

const rounded = (ms: number): number => Number(ms.toFixed(1));
const nextTurn = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve));

/** Runs it once: the first time is what an author causes by an edit. */
export async function measuredTurn({ path, input, run }: TurnPath): Promise<TurnLine> {
  globalThis.gc?.();
  await nextTurn();
  const { user, system } = process.threadCpuUsage();
  const { blockCpuMs } = await watched(async () => {
    try {
      await run();
    } catch {
      // an object that is refused has been looked at all the same
    }
  });
  const used = process.threadCpuUsage({ user, system });
  return {
    path,
    input,
    longestTurnMs: rounded(blockCpuMs),
    cpuMs: rounded((used.user + used.system) / 1_000),
  };
}
