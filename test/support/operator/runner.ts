/** Starts operators in separate processes and reads all their output. */
import { type ChildProcess, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import type { LogLine } from '../../operator/harness.ts';
import type { LeadingClock } from '../paced-clock.ts';
import { bundled } from './bundle.ts';
import type { FromOperator, ToOperator } from './messages.ts';

/** Program of the process. The default is the bundled `process.ts` with Node's default options. */
export interface Program {
  readonly file: string;
  readonly nodeOptions: readonly string[];
}

const DEFAULT: Program = { file: bundled('process'), nodeOptions: ['--expose-gc'] };

export interface Memory {
  readonly rssMiB: number;
  readonly heapMiB: number;
  /** Heap of each engine thread, including garbage. */
  readonly threadsMiB: readonly number[];
}

export interface OperatorProcess {
  readonly pid: number;
  readonly metricsUrl: string;
  readonly healthUrl: string;
  /** Log lines, oldest first. */
  readonly log: readonly LogLine[];
  /** Output that is not a log line. */
  readonly noise: readonly string[];
  /** Reason of the exit. Undefined while the process runs. */
  readonly end: string | undefined;
  /** Returns the heap of the main thread after a garbage collection, and the resident size of all threads. */
  memory(): Promise<Memory>;
  stop(): Promise<void>;
  /** Kills the process without cleanup. */
  kill(): Promise<void>;
}

/** Time limit for short operations on a machine that is three times slower. */
const PATIENCE_MS = 60_000;
const MIB = 2 ** 20;

/** @throws Error with the operator's output if it does not start */
export async function runOperator(
  clock: LeadingClock,
  env: Readonly<Record<string, string>>,
  argv: readonly string[] = [],
  { file, nodeOptions }: Program = DEFAULT,
): Promise<OperatorProcess> {
  const { PATH, HOME, NODE_COMPILE_CACHE } = process.env;
  const child = spawn(process.execPath, [...nodeOptions, file, ...argv], {
    env: { PATH, HOME, NODE_COMPILE_CACHE, CLOCK_START_MS: String(clock.now()), ...env },
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  });
  const send = (message: ToOperator): void => {
    // the operator may end before it reads the message
    if (child.connected) child.send(message, () => undefined);
  };
  const { log, noise } = outputOf(child);
  let end: string | undefined;
  let started: { metricsUrl: string; healthUrl: string } | undefined;
  let measured = Promise.withResolvers<Memory>();
  const starting = Promise.withResolvers<void>();
  const ended = Promise.withResolvers<void>();

  child.on('message', (message: FromOperator) => {
    if (message.kind === 'time') return clock.followed(message.waitedMs);
    if (message.kind === 'memory')
      return measured.resolve({
        rssMiB: message.rss / MIB,
        heapMiB: message.heapUsed / MIB,
        threadsMiB: message.threads.map((bytes) => bytes / MIB),
      });
    started = {
      metricsUrl: `http://127.0.0.1:${message.metricsPort}`,
      healthUrl: `http://127.0.0.1:${message.healthProbePort}`,
    };
    return starting.resolve();
  });
  child.once('close', (code, signal) => {
    end = `ended with ${signal ?? `code ${code}`}`;
    clock.lead(undefined);
    starting.reject(new Error(`the operator ${end}: ${noise.join('\n')}`));
    ended.resolve();
  });
  clock.lead({ tell: (nowMs) => send({ kind: 'time', nowMs }) });
  await starting.promise;
  if (started === undefined) throw new Error('the operator did not name its ports');

  return {
    ...started,
    pid: child.pid ?? 0,
    log,
    noise,
    get end() {
      return end;
    },
    async memory() {
      measured = Promise.withResolvers();
      send({ kind: 'memory' });
      return within(PATIENCE_MS, measured.promise, 'memory');
    },
    async kill() {
      child.kill('SIGKILL');
      await ended.promise;
    },
    async stop() {
      if (end !== undefined) return;
      send({ kind: 'stop' });
      const force = setTimeout(() => child.kill('SIGKILL'), PATIENCE_MS);
      await ended.promise;
      clearTimeout(force);
    },
  };
}

function outputOf(child: ChildProcess): { readonly log: LogLine[]; readonly noise: string[] } {
  const log: LogLine[] = [];
  const noise: string[] = [];
  for (const stream of [child.stdout, child.stderr]) {
    if (stream === null) continue;
    createInterface({ input: stream }).on('line', (line) => {
      try {
        log.push(JSON.parse(line) as LogLine);
      } catch {
        noise.push(line);
      }
    });
  }
  return { log, noise };
}

async function within<T>(ms: number, work: Promise<T>, what: string): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no answer about ${what} for ${ms} ms`)), ms);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}
