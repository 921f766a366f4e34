/** Runs the operator's program like the image, and reads every line of its output. */
import { type ChildProcess, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import type { LogLine } from '../../operator/harness.ts';
import { bundled } from './bundle.ts';

export interface Ended {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

export interface RunningProgram {
  /** Lines of standard output and standard error that are JSON. */
  readonly log: readonly LogLine[];
  /** Other lines. */
  readonly noise: readonly string[];
  readonly ended: Promise<Ended>;
  kill(signal: NodeJS.Signals): void;
  /** Resolves with the first matching line. @throws Error if the process exits before */
  untilLine(fits: (line: LogLine) => boolean): Promise<LogLine>;
}

export interface ProgramOptions {
  readonly env: Readonly<Record<string, string>>;
  readonly nodeOptions?: readonly string[];
  /** Runs as process 1 of a PID namespace, which requires the permission to create one. */
  readonly isPid1?: boolean;
}

export function runProgram({ env, nodeOptions = [], isPid1 = false }: ProgramOptions): RunningProgram {
  const command = [process.execPath, ...nodeOptions, bundled('main')];
  const [path = '', ...argv] = isPid1 ? ['unshare', '--pid', '--fork', '--kill-child', ...command] : command;
  const { PATH, NODE_COMPILE_CACHE } = process.env;
  const child = spawn(path, argv, { env: { PATH, NODE_COMPILE_CACHE, ...env }, stdio: ['ignore', 'pipe', 'pipe'] });
  const log: LogLine[] = [];
  const noise: string[] = [];
  const listeners = new Set<() => void>();
  const take = (line: string): void => {
    try {
      log.push(JSON.parse(line) as LogLine);
    } catch {
      noise.push(line);
    }
    for (const listener of listeners) listener();
  };
  for (const stream of [child.stdout, child.stderr]) createInterface({ input: stream }).on('line', take);
  let hasEnded = false;
  const ended = new Promise<Ended>((resolve) => {
    child.once('close', (code, signal) => {
      hasEnded = true;
      resolve({ code, signal });
    });
  });
  return {
    log,
    noise,
    ended,
    kill(signal) {
      if (!hasEnded) process.kill(isPid1 ? childOf(child) : (child.pid ?? 0), signal);
    },
    async untilLine(fits) {
      const found = Promise.withResolvers<LogLine>();
      const look = (): void => {
        const line = log.find(fits);
        if (line !== undefined) found.resolve(line);
      };
      listeners.add(look);
      look();
      const early = ended.then((end) => {
        throw new Error(
          `the process ended with ${JSON.stringify(end)}:\n${[...noise, ...log.map((line) => JSON.stringify(line))].join('\n')}`,
        );
      });
      try {
        return await Promise.race([found.promise, early]);
      } finally {
        early.catch(() => undefined);
        listeners.delete(look);
      }
    },
  };
}

/** Returns the only child of `unshare`. @throws Error if there is none */
function childOf({ pid }: ChildProcess): number {
  const child = Number(readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ')[0]);
  if (!(child > 0)) throw new Error('unshare has started no process yet');
  return child;
}
