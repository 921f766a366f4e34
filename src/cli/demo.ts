/**
 * Command `karpenter demo`. Runs the whole product on one machine, from pending pods to nodes and back, in about a
 * minute.
 */

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createWriteStream, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Command } from 'commander';
import type { LocalInstance } from '../local/aws/types.ts';
import { startWorld, type World } from '../local/world.ts';
import { Bills } from './demo/bills.ts';
import { type Narrator, narrate } from './demo/narrator.ts';
import { columns, type Screen, screen, usd } from './demo/screen.ts';
import { applyExamples, type DemoStage, interruptSpot, scaleToZero, scaleUp } from './demo/stages.ts';
import { watchWorld } from './demo/view.ts';
import { withExamples } from './describe.ts';
import { freePort } from './free-port.ts';
import { exportLines } from './local.ts';
import { machineSpeedOption, machinesAt } from './machines.ts';

const MINUTE_USD_DIGITS = 6;

/** Returns the savings of spot prices for the same machine hours in USD, from each instance's cost and its two prices. */
function savedBySpotUsd({ aws }: World, instances: readonly LocalInstance[]): number {
  return instances.reduce((sum, { id, type, usdPerHour }) => {
    const listPrice = aws.catalogue.onDemandUsd(type) ?? usdPerHour;
    return usdPerHour > 0 ? sum + aws.spending.usd(id) * (listPrice / usdPerHour - 1) : sum;
  }, 0);
}

/** Summarizes launches, pods, costs and API calls. */
function summaryLines(world: World, narrator: Narrator, bills: Bills): string[] {
  const instances = world.aws.instances.list();
  const spent = instances.reduce((sum, instance) => sum + bills.usdOf(instance), 0);
  const calls = Object.entries(world.aws.calls.counts());
  const left = instances.filter((instance) => instance.state === 'pending' || instance.state === 'running').length;
  const total = calls.reduce((sum, [, count]) => sum + count, 0);
  return [
    ...columns([
      ['instances launched', `${instances.length}`, `${left} still running`],
      ['pods started', `${narrator.podsStarted}`, ''],
      ['spent', usd(spent, MINUTE_USD_DIGITS), 'instances, volumes and addresses'],
      [
        'saved by spot',
        usd(savedBySpotUsd(world, instances), MINUTE_USD_DIGITS),
        'compared with the same instances on demand',
      ],
      ['AWS calls', `${total}`, ''],
    ]),
    '',
    ...columns(calls.sort((a, b) => b[1] - a[1]).map(([action, count]) => [`  ${action}`, `${count}`])),
  ];
}

interface DemoOptions {
  readonly keep: boolean;
  readonly machineSpeed: number;
}

/** Default speed, chosen so that the demo takes a minute. */
const DEFAULT_MACHINE_SPEED = 5;

/** Exit code of an interrupted process: 128 plus the number of SIGINT. */
const INTERRUPTED = 130;

export function demoCommand(): Command {
  return withExamples(new Command('demo'), [
    { what: 'run for about a minute, then stop', command: 'karpenter demo' },
    { what: 'keep running for your own kubectl and aws', command: 'karpenter demo --keep' },
  ])
    .description('run everything on this machine: a local cluster, local AWS endpoints, the operator and a workload')
    .option('--keep', 'keep running after the demo, for your own kubectl', false)
    .addOption(machineSpeedOption(DEFAULT_MACHINE_SPEED))
    .action(async (options: DemoOptions) => {
      process.exitCode = await demo(options);
    });
}

/** Returns the exit code. */
async function demo({ keep, machineSpeed }: DemoOptions): Promise<number> {
  const started = performance.now();
  const view = screen(process.stdout, () => performance.now() - started);
  const stop = new AbortController();
  const interrupt = (): void => stop.abort();
  process.once('SIGINT', interrupt).once('SIGTERM', interrupt);
  const folder = mkdtempSync(join(tmpdir(), 'karpenter-demo-'));

  view.plain(
    'Karpenter demo: a local cluster, local AWS endpoints and the operator. It needs no cloud account and leaves nothing to clean up.',
  );
  const world = await startWorld({ clusterName: 'local', ...machinesAt(machineSpeed) });
  try {
    await run(world, view, { stop, folder, keep });
    return 0;
  } catch (error) {
    if (stop.signal.aborted) {
      view.plain('\nInterrupted: stopping the operator and the local cluster.');
      return INTERRUPTED;
    }
    view.plain(`\nThe demo failed: ${error instanceof Error ? error.message : String(error)}`);
    return 1;
  } finally {
    stop.abort();
    await world.stop();
    rmSync(folder, { recursive: true, force: true });
    process.off('SIGINT', interrupt).off('SIGTERM', interrupt);
  }
}

interface Run {
  readonly stop: AbortController;
  readonly folder: string;
  readonly keep: boolean;
}

async function run(world: World, output: Screen, { stop, folder, keep }: Run): Promise<void> {
  const env = world.env();
  output.stage('Start the local cluster, the local AWS endpoints and the operator');
  output.line(`kubernetes  ${world.kube.url}`);
  output.line(`aws         ${world.aws.url} (${world.aws.region}, ${world.aws.catalogue.types.length} instance types)`);

  const view = watchWorld(world, stop.signal);
  const { instances, spending } = world.aws;
  const bills = new Bills({ instances, spending, nodeClass: () => view.nodeClasses.list()[0] });
  const narrator = narrate(view, { world, bills }, output);
  const metricsPort = await freePort();
  const livePage = `127.0.0.1:${await freePort()}`;
  const operator = startOperatorProcess(
    { ...env, METRICS_PORT: String(metricsPort), HEALTH_PROBE_PORT: '0', LIVE_PAGE: livePage },
    join(folder, 'operator.log'),
  );
  try {
    output.line(`operator    process ${operator.pid}, log ${operator.logFile}`);
    output.line(`live page   http://${livePage}/`);
    const stage: DemoStage = { world, view, screen: output, narrator, bills };
    for (const step of [applyExamples, scaleUp, interruptSpot, scaleToZero])
      await Promise.race([step(stage), operator.failed]);

    output.stage('Summary');
    for (const line of summaryLines(world, narrator, bills)) output.plain(line);
    if (keep) await stay(output, { env, metricsPort, livePage, signal: stop.signal, failed: operator.failed });
  } finally {
    await operator.stop();
  }
}

interface Stay {
  readonly env: Readonly<Record<string, string>>;
  readonly metricsPort: number;
  readonly livePage: string;
  readonly signal: AbortSignal;
  readonly failed: Promise<never>;
}

/** Returns the environment variables for kubectl and aws: the kubeconfig and all variables of AWS. */
export const clientEnvironment = (env: Readonly<Record<string, string>>): Readonly<Record<string, string>> =>
  Object.fromEntries(Object.entries(env).filter(([name]) => name === 'KUBECONFIG' || name.startsWith('AWS_')));

/** Prints commands for exploring the cluster, and waits for Ctrl-C. */
async function stay(output: Screen, { env, metricsPort, livePage, signal, failed }: Stay): Promise<void> {
  output.stage('Still running: explore the cluster, then press Ctrl-C');
  for (const line of exportLines(clientEnvironment(env))) output.plain(line);
  output.plain('kubectl get nodepools,nodeclaims,nodes,pods');
  output.plain('kubectl scale deployment inflate --replicas=5');
  for (const verb of ['explain node', 'report moves', 'offerings'])
    output.plain(`npx karpenter ${verb} --server http://127.0.0.1:${metricsPort}`);
  output.plain(`http://${livePage}/ in a browser`);
  const ended = new Promise<void>((resolve) => {
    if (signal.aborted) resolve();
    signal.addEventListener('abort', () => resolve(), { once: true });
  });
  await Promise.race([ended, failed]);
}

/**
 * Runs the operator in the same way as in a cluster: as a separate process with its own entry point, configured by
 * environment variables.
 */
interface OperatorProcess {
  readonly pid: number;
  readonly logFile: string;
  /** Rejects with the end of the log if the operator exits before `stop` is called. */
  readonly failed: Promise<never>;
  stop(): Promise<void>;
}

/** Time limit for a graceful stop, after which the process is killed. */
const STOP_MS = 10_000;

/**
 * Returns the operator's entry point: its bundle beside the bundle of the command line, or TypeScript in a checkout.
 */
const entry = (): string =>
  fileURLToPath(new URL(import.meta.url.endsWith('.ts') ? '../program.ts' : '../operator/main.js', import.meta.url));

const lastLines = (file: string, count: number): string =>
  readFileSync(file, 'utf8').trimEnd().split('\n').slice(-count).join('\n');

export function startOperatorProcess(env: Readonly<Record<string, string>>, logFile: string): OperatorProcess {
  const child: ChildProcess = spawn(process.execPath, [entry()], {
    env: { PATH: process.env.PATH ?? '', HOME: process.env.HOME ?? '', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const log = createWriteStream(logFile);
  child.stdout?.pipe(log, { end: false });
  child.stderr?.pipe(log, { end: false });

  let stopping = false;
  const failed = new Promise<never>((_, reject) => {
    child.once('error', reject);
    child.once('exit', (code, signal) => {
      if (!stopping)
        reject(
          new Error(
            `the operator exited with ${signal ?? `code ${code}`}; last lines of ${logFile}:\n${lastLines(logFile, 8)}`,
          ),
        );
    });
  });
  // Stages wait for this promise, too. Between stages a rejection has no handler.
  failed.catch(() => {});

  return {
    pid: child.pid ?? 0,
    logFile,
    failed,
    async stop() {
      stopping = true;
      if (child.exitCode !== null || child.signalCode !== null) return;
      const ended = once(child, 'exit');
      child.kill('SIGTERM');
      const force = setTimeout(() => child.kill('SIGKILL'), STOP_MS);
      await ended;
      clearTimeout(force);
    },
  };
}
