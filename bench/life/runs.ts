/** Plays lives in several processes. Each process plays one life at a time. */
import { type ChildProcess, fork } from 'node:child_process';
import { join } from 'node:path';
import { withBoundedConcurrency } from '#lib';
import type { LifeFigures } from '#replay/testing';
import type { ClusterKind, Life, TraceFile } from './kinds.ts';
import type { Setting } from './settings.ts';

const PROGRAM = join(import.meta.dirname, 'life-process.ts');
/** Limit of each heap, so that a defect of one life does not take the memory of the machine. */
const HEAP_MB = 2_048;

export interface LifeJob {
  readonly kind: ClusterKind | TraceFile;
  readonly life: Life;
  readonly setting: Setting;
}

export interface LifeOutcome {
  readonly figures?: LifeFigures;
  readonly failure?: string;
  /** Failure after which the life was played again. */
  readonly repeatedAfter?: string;
  /** Share of the CPUs of nodes over time that no pod requested. */
  readonly idleCpu?: number;
  /** Lower bound of the cost. Missing if prices change or nodes have GPUs. */
  readonly lowestUsd?: number | undefined;
  readonly cpuSeconds: number;
}

/** Result of one life with one setting, one line of a file of results. */
export interface LifeResult extends LifeOutcome {
  readonly kind: string;
  readonly life: Life;
  readonly setting: string;
  readonly args: readonly string[];
}

export const resultOf = ({ kind, life, setting }: LifeJob, outcome: LifeOutcome): LifeResult => ({
  ...{ kind: kind.name, life, setting: setting.name, args: setting.args },
  ...outcome,
});

export type PlayLives = (
  jobs: readonly LifeJob[],
  processes: number,
  onResult: (result: LifeResult) => void,
) => Promise<void>;

/** Plays all jobs. A job that fails, also because its process exits, is played once more in another process. */
export const playLives: PlayLives = async (jobs, processes, onResult) => {
  const idle: ChildProcess[] = [];
  try {
    await withBoundedConcurrency(jobs, processes, async (job) => {
      const play = async (): Promise<LifeOutcome> => {
        const child = idle.pop() ?? fork(PROGRAM, { execArgv: [`--max-old-space-size=${HEAP_MB}`] });
        const outcome = await outcomeFrom(child, job);
        if (child.connected && outcome.failure === undefined) idle.push(child);
        else if (child.connected) child.disconnect();
        return outcome;
      };
      onResult(resultOf(job, await playAtMostTwice(play)));
    });
  } finally {
    for (const child of idle) child.disconnect();
  }
};

/** Plays a life again if it fails, for example because other processes used the memory. */
export async function playAtMostTwice(play: () => Promise<LifeOutcome>): Promise<LifeOutcome> {
  const first = await play();
  if (first.failure === undefined) return first;
  const second = await play();
  return { ...second, repeatedAfter: first.failure, cpuSeconds: first.cpuSeconds + second.cpuSeconds };
}

const outcomeFrom = (child: ChildProcess, job: LifeJob): Promise<LifeOutcome> =>
  new Promise((resolve) => {
    const onExit = (code: number | null, signal: string | null): void =>
      resolve({ failure: `its process exited with ${code ?? signal}`, cpuSeconds: 0 });
    child.once('exit', onExit);
    child.once('message', (outcome: LifeOutcome) => {
      child.off('exit', onExit);
      resolve(outcome);
    });
    child.send(job);
  });
