/** Measures the longest turn of one code path. */
import { watched } from '../watched.ts';

export interface TurnPath {
  readonly path: string;
  /** Size of the cluster, or the object. */
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

/** Runs a path once, because the first run after an edit is the most expensive. */
export async function measuredTurn({ path, input, run }: TurnPath): Promise<TurnLine> {
  globalThis.gc?.();
  await nextTurn();
  const { user, system } = process.threadCpuUsage();
  const { blockCpuMs } = await watched(async () => {
    try {
      await run();
    } catch {
      // Reading an invalid object is measured too.
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
