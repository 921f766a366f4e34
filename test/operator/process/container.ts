/** The operator as in its image: the bundle, the Node.js options of the Dockerfile, and a memory limit. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { freePort } from '../../support/free-port.ts';
import { imageEnv, imageOptions } from '../../support/image.ts';
import { bundled } from '../../support/operator/bundle.ts';
import type { LogLine } from '../harness.ts';

const STOP_MS = 30_000;

export interface Container {
  readonly metricsPort: number;
  readonly healthProbePort: number;
  /** Returns the JSON log lines so far. */
  log(): readonly LogLine[];
  /** Returns the maximum memory use so far, in bytes. */
  peakBytes(): number;
  /** Reports whether the kernel enforces the limit. */
  readonly isEnforced: boolean;
  readonly hasEnded: () => boolean;
  /** Returns the end of the output. */
  tail(): string;
  /** Stops the process. Returns the exit code, or the name of the signal. */
  stop(): Promise<number | string | null>;
}

/** @param env environment of an operator in the world */
export async function startContainer(env: Readonly<Record<string, string>>, limitBytes: number): Promise<Container> {
  const [metricsPort, healthProbePort] = [await freePort(), await freePort()];
  const group = memoryGroup(limitBytes);
  const child = spawn(process.execPath, [...imageOptions(), bundled('main')], {
    env: {
      PATH: process.env.PATH,
      HOME: process.env.HOME,
      ...imageEnv(),
      ...env,
      METRICS_PORT: String(metricsPort),
      HEALTH_PROBE_PORT: String(healthProbePort),
      MEMORY_LIMIT: String(limitBytes),
      LOG_LEVEL: 'debug',
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  group?.take(child.pid ?? 0);
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream?.setEncoding('utf8').on('data', (chunk: string) => {
      output += chunk;
    });
  let peak = 0;
  let stopped: ReturnType<typeof ended> | undefined;
  const status = (): string => {
    try {
      return readFileSync(`/proc/${child.pid}/status`, 'utf8');
    } catch {
      return '';
    }
  };
  return {
    metricsPort,
    healthProbePort,
    isEnforced: group !== undefined,
    log: () => output.split('\n').flatMap(parsed),
    peakBytes() {
      peak = Math.max(peak, 1024 * Number(/^VmHWM:\s+(\d+) kB$/m.exec(status())?.[1] ?? 0));
      return peak;
    },
    hasEnded: () => child.exitCode !== null || child.signalCode !== null,
    tail: () => output.slice(-2_000),
    stop: () => (stopped ??= ended(child).finally(() => group?.remove())),
  };
}

async function ended(child: ChildProcess): Promise<number | string | null> {
  if (child.exitCode === null && child.signalCode === null) {
    const exit = once(child, 'exit');
    child.kill('SIGTERM');
    const force = setTimeout(() => child.kill('SIGKILL'), STOP_MS);
    await exit;
    clearTimeout(force);
  }
  return child.signalCode ?? child.exitCode;
}

const parsed = (line: string): readonly LogLine[] => {
  try {
    return [JSON.parse(line) as LogLine];
  } catch {
    return [];
  }
};

interface MemoryGroup {
  take(pid: number): void;
  remove(): void;
}

/**
 * Creates a cgroup below that of this process. Returns undefined if that is not permitted. This is usual without root.
 */
function memoryGroup(limitBytes: number): MemoryGroup | undefined {
  try {
    const own = readFileSync('/proc/self/cgroup', 'utf8');
    const v1 = /^\d+:(?:[^:]*,)?memory(?:,[^:]*)?:(.*)$/m.exec(own)?.[1];
    const parent = v1 === undefined ? `/sys/fs/cgroup${/^0::(.*)$/m.exec(own)?.[1]}` : `/sys/fs/cgroup/memory${v1}`;
    const path = join(parent, `karpenter-test-${process.pid}`);
    mkdirSync(path);
    try {
      writeFileSync(join(path, v1 === undefined ? 'memory.max' : 'memory.limit_in_bytes'), String(limitBytes));
    } catch (error) {
      rmdirSync(path);
      throw error;
    }
    return {
      take: (pid) => writeFileSync(join(path, 'cgroup.procs'), String(pid)),
      remove: () => rmdirSync(path),
    };
  } catch {
    return undefined;
  }
}
