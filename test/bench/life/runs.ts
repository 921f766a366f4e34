/** Plays lives in several processes. Each process plays one life at a time. */
import { type ChildProcess, fork } from 'node:child_process';
import { join } from 'node:path';
import { withBoundedConcurrency } from '../../../src/lib/bounded-concurrency.ts';
import type { LifeFigures } from '../../../src/replay/lives/lives-result.ts';
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

/** Plays all jobs. If the process of a job exits, the job is a failure, and the next job has a new process. */
export const playLives: PlayLives = async (jobs, processes, onResult) => {
  const idle: ChildProcess[] = [];
  try {
    await withBoundedConcurrency(jobs, processes, async (job) => {
      const child = idle.pop() ?? fork(PROGRAM, { execArgv: [`--max-old-space-size=${HEAP_MB}`] });
      onResult(resultOf(job, await outcomeFrom(child, job)));
      if (child.connected) idle.push(child);
    });
  } finally {
    for (const child of idle) child.disconnect();
  }
};

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
