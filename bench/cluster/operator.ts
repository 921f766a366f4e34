/** The bundled operator in a separate process, measured from outside. */
import { readFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import type { Cluster } from '../../test/cluster/harness/cluster.ts';
import { type Process, startProcess } from '../../test/cluster/harness/processes.ts';
import { freePorts } from '../../test/support/free-port.ts';
import { imageEnv, imageOptionsFor } from '../../test/support/image.ts';

/** The memory limit in the chart's example. */
const LIMIT_BYTES = 2 ** 30;
/** Linux counts the CPU time of processes in hundredths of a second. */
const TICKS_A_SECOND = 100;
/** Interval between two memory samples. */
const SAMPLE_MS = 100;

export interface MeasuredOperator {
  readonly healthUrl: string;
  readonly metricsUrl: string;
  /** User and system time of all threads since the start. */
  cpuSeconds(): number;
  /** Returns the highest resident size since the last call, in MiB. */
  highestMib(): number;
  stop(): Promise<void>;
}

/** @param args further arguments, as of a Deployment's container */
export async function startMeasured(
  cluster: Cluster,
  program: string,
  args: readonly string[] = [],
): Promise<MeasuredOperator> {
  const [port = 0, metricsPort = 0] = await freePorts(2);
  const operator = await startProcess({
    name: `operator-${port}`,
    path: process.execPath,
    argv: [...imageOptionsFor(LIMIT_BYTES), program, ...args],
    folder: cluster.plane.folder,
    env: {
      PATH: process.env.PATH,
      HOME: process.env.HOME,
      ...imageEnv(),
      ...(await cluster.operatorEnv()),
      MEMORY_LIMIT: String(LIMIT_BYTES),
      DISABLE_LEADER_ELECTION: 'true',
      HEALTH_PROBE_PORT: String(port),
      METRICS_PORT: String(metricsPort),
    },
  });
  let highest = 0;
  const look = (): void => {
    highest = Math.max(highest, rssMib(operator));
  };
  const sampling = setInterval(look, SAMPLE_MS);
  return {
    healthUrl: `http://127.0.0.1:${port}`,
    metricsUrl: `http://127.0.0.1:${metricsPort}/metrics`,
    cpuSeconds: () => cpuSecondsOf(operator),
    highestMib() {
      look();
      const most = highest;
      highest = 0;
      return Math.round(most);
    },
    async stop() {
      clearInterval(sampling);
      await operator.stop();
    },
  };
}

const proc = ({ pid, exit, name, log }: Process, file: string): string => {
  if (exit !== undefined) throw new Error(`${name}: ${exit}\n${log().split('\n').slice(-20).join('\n')}`);
  return readFileSync(`/proc/${pid}/${file}`, 'utf8');
};

const rssMib = (operator: Process): number => {
  if (operator.exit !== undefined) return 0;
  return Number(/VmRSS:\s*(\d+) kB/.exec(proc(operator, 'status'))?.[1] ?? 0) / 1_024;
};

function cpuSecondsOf(operator: Process): number {
  const fields = proc(operator, 'stat').split(') ')[1]?.split(' ') ?? [];
  return (Number(fields[11]) + Number(fields[12])) / TICKS_A_SECOND;
}

/** Returns the seconds until the operator is ready. @throws Error after a minute */
export async function secondsUntilReady({ healthUrl }: MeasuredOperator): Promise<number> {
  const startedMs = performance.now();
  while (performance.now() - startedMs < 60_000) {
    const answer = await fetch(`${healthUrl}/readyz`).catch(() => undefined);
    if (answer?.ok) return (performance.now() - startedMs) / 1_000;
    await pause(20);
  }
  throw new Error('the operator does not become ready');
}
