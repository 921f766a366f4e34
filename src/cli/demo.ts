/** `karpenter demo`: the whole product on a laptop, from pending pods to nodes and back, in about a minute. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Command } from 'commander';
import { startWorld, type World } from '../local/world.ts';
import { narrate } from './demo/narrator.ts';
import { startOperatorProcess } from './demo/operator.ts';
import { type Screen, screen } from './demo/screen.ts';
import { applyExamples, interruptSpot, type Stage, scaleToZero, scaleUp } from './demo/stages.ts';
import { summaryLines } from './demo/summary.ts';
import { watchWorld } from './demo/view.ts';

interface DemoOptions {
  readonly keep: boolean;
  readonly machineSpeed: number;
}

/** Real machines need about half a minute to boot; the demo's are this many times as fast, by default. */
const DEFAULT_MACHINE_SPEED = 5;

export function demoCommand(): Command {
  return new Command('demo')
    .description('run the whole product on this machine: local cluster, local AWS, the operator, a workload')
    .option('--keep', 'stay up at the end, for your own kubectl', false)
    .option(
      '--machine-speed <factor>',
      'how much faster than real ones instances boot and stop',
      Number,
      DEFAULT_MACHINE_SPEED,
    )
    .action(async (options: DemoOptions) => {
      process.exitCode = await demo(options);
    });
}

/** Answers the exit code. */
async function demo({ keep, machineSpeed }: DemoOptions): Promise<number> {
  if (!(machineSpeed > 0)) throw new RangeError('--machine-speed must be a number greater than 0');
  const started = performance.now();
  const view = screen(process.stdout, () => performance.now() - started);
  const stop = new AbortController();
  const interrupt = (): void => stop.abort();
  process.once('SIGINT', interrupt).once('SIGTERM', interrupt);
  const folder = mkdtempSync(join(tmpdir(), 'karpenter-demo-'));

  view.plain(
    'Karpenter demo: a local cluster, a local AWS and the operator itself. No cloud account, nothing to clean up.',
  );
  const world = await startWorld({
    clusterName: 'local',
    kubelets: { bootMs: 25_000 / machineSpeed, readyMs: 5_000 / machineSpeed },
    instances: { startDelayMs: 8_000 / machineSpeed, stopDelayMs: 15_000 / machineSpeed },
  });
  try {
    await run(world, view, { stop, folder, keep });
    return 0;
  } catch (error) {
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
  output.stage('Start the local world and the operator');
  output.line(`kubernetes  ${world.kube.url}`);
  output.line(`aws         ${world.aws.url} (${world.aws.region}, ${world.aws.catalogue.types.length} instance types)`);

  const view = watchWorld(world, stop.signal);
  await view.synced();
  const narrator = narrate(view, world, output);
  const operator = startOperatorProcess(
    { ...env, METRICS_PORT: '0', HEALTH_PROBE_PORT: '0' },
    join(folder, 'operator.log'),
  );
  try {
    output.line(`operator    process ${operator.pid}, log ${operator.logFile}`);
    const stage: Stage = { world, view, screen: output, narrator };
    for (const step of [applyExamples, scaleUp, interruptSpot, scaleToZero])
      await Promise.race([step(stage), operator.failed]);

    output.stage('Summary');
    for (const line of summaryLines(world, narrator)) output.plain(line);
    if (keep) await stay(output, env, stop.signal, operator.failed);
  } finally {
    await operator.stop();
  }
}

/** Tells how to look around and waits for Ctrl-C. */
async function stay(
  output: Screen,
  env: Readonly<Record<string, string>>,
  signal: AbortSignal,
  failed: Promise<never>,
): Promise<void> {
  output.stage('Still running: look around, then press Ctrl-C');
  for (const name of ['KUBECONFIG', 'AWS_ENDPOINT_URL', 'AWS_REGION', 'AWS_ACCESS_KEY_ID', 'AWS_SECRET_ACCESS_KEY'])
    output.plain(`export ${name}=${env[name]}`);
  output.plain('kubectl get nodepools,nodeclaims,nodes,pods');
  output.plain('kubectl scale deployment inflate --replicas=5');
  const ended = new Promise<void>((resolve) => {
    if (signal.aborted) resolve();
    signal.addEventListener('abort', () => resolve(), { once: true });
  });
  await Promise.race([ended, failed]);
}
