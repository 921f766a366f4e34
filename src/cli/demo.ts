/**
 * Command `karpenter demo`. Runs the whole product on one machine, from pending pods to nodes and back, in about a
 * minute.
 */

import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Command, InvalidArgumentError, Option } from 'commander';
import { messageOf } from '#lib';
import { checkRule, FAULT_KINDS, type FaultRule, type LocalInstance } from '#local/aws';
import { startWorld, type World } from '#local/world';
import { Bills } from './demo/bills.ts';
import { type Narrator, narrate } from './demo/narrator.ts';
import { type OperatorSupervisor, superviseOperator } from './demo/operator-supervisor.ts';
import { columns, type Screen, screen, usdText } from './demo/screen.ts';
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
      ['spent', usdText(spent, MINUTE_USD_DIGITS), 'instances, volumes and addresses'],
      [
        'saved by spot',
        usdText(savedBySpotUsd(world, instances), MINUTE_USD_DIGITS),
        'compared with the same instances on demand',
      ],
      [
        'AWS calls',
        `${total}`,
        `${calls.length} actions, CreateFleet ${calls.find(([name]) => name === 'CreateFleet')?.[1] ?? 0} times`,
      ],
    ]),
  ];
}

interface DemoOptions {
  readonly keep: boolean;
  readonly machineSpeed: number;
  readonly fault: readonly FaultRule[];
}

/** Default speed, chosen so that the demo takes a minute. */
const DEFAULT_MACHINE_SPEED = 5;

/** Commands after the demo, the last one with a fault. */
const NEXT = [
  '# the nodes for 20 pods, without a cluster',
  'npx karpenter simulate -f examples/ --what-if "scale deploy/inflate=20"',
  '# a cluster for your own kubectl, with its live page',
  'npx karpenter demo --keep',
  '# nodes on demand, because there is no spot capacity',
  `npx karpenter demo --fault '{"kind":"capacity","capacityType":"spot"}'`,
];

const FAILED = 1;

/** Exit code of an interrupted process: 128 plus the number of SIGINT. */
const INTERRUPTED = 130;

function fault(text: string, before: readonly FaultRule[]): readonly FaultRule[] {
  try {
    const rule: unknown = JSON.parse(text);
    if (typeof rule !== 'object' || rule === null) throw new RangeError('Expected an object with the field kind');
    checkRule(rule as FaultRule);
    return [...before, rule as FaultRule];
  } catch (error) {
    throw new InvalidArgumentError(messageOf(error));
  }
}

export function demoCommand(): Command {
  return withExamples(new Command('demo'), [
    { what: 'run for about a minute, then stop', command: 'karpenter demo' },
    { what: 'keep running for your own kubectl and aws', command: 'karpenter demo --keep' },
  ])
    .description('run everything on this machine: a local cluster, local AWS endpoints, the operator and a workload')
    .option('--keep', 'keep running after the demo, for your own kubectl', false)
    .addOption(machineSpeedOption(DEFAULT_MACHINE_SPEED))
    .addOption(
      new Option('--fault <json>', 'fault of the local AWS, for example {"kind":"slow-boot","ms":20000}; repeatable')
        .argParser(fault)
        .default([], 'none'),
    )
    .addHelpText('after', `\nKinds of faults: ${FAULT_KINDS.join(', ')}`)
    .action(async (options: DemoOptions) => {
      process.exitCode = await demo(options);
    });
}

/** Returns the exit code. */
async function demo({ keep, machineSpeed, fault: faults }: DemoOptions): Promise<number> {
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
  let exitCode = FAILED;
  try {
    for (const each of faults) world.aws.faults.add(each);
    exitCode = await run(world, view, { stop, folder, keep });
    return exitCode;
  } catch (error) {
    if (!stop.signal.aborted) {
      reportFailure(view, error, logIn(folder));
      return exitCode;
    }
    view.plain('\nInterrupted: stopping the operator and the local cluster.');
    exitCode = INTERRUPTED;
    return exitCode;
  } finally {
    stop.abort();
    await world.stop();
    // a message of a failure names the log
    if (exitCode !== FAILED) rmSync(folder, { recursive: true, force: true });
    process.off('SIGINT', interrupt).off('SIGTERM', interrupt);
  }
}

interface Run {
  readonly stop: AbortController;
  readonly folder: string;
  readonly keep: boolean;
}

const logIn = (folder: string): string => join(folder, 'operator.log');

const LAST_LINES = 8;

function reportFailure(output: Screen, error: unknown, logFile: string): void {
  output.plain(`\nThe demo failed: ${error instanceof Error ? error.message : String(error)}`);
  if (!existsSync(logFile)) return;
  output.plain(`Last lines of ${logFile}:`);
  for (const line of readFileSync(logFile, 'utf8').trimEnd().split('\n').slice(-LAST_LINES)) output.plain(line);
}

/** Returns the exit code. With `keep`, a failure of a stage stops neither the cluster nor the operator. */
async function run(world: World, output: Screen, { stop, folder, keep }: Run): Promise<number> {
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
  const logFile = logIn(folder);
  const operator = superviseOperator({
    env: { ...env, METRICS_PORT: String(metricsPort), HEALTH_PROBE_PORT: '0', LIVE_PAGE: livePage },
    logFile,
    onStart: (pid) => output.line(`operator    process ${pid}, log ${logFile}`),
    onExit: (how) => output.line(`operator    exited with ${how}, and is started again`),
  });
  try {
    output.line(`live page   http://${livePage}/`);
    const stage: DemoStage = { world, view, screen: output, narrator, bills };
    const exitCode = await runStages(stage, operator).catch((error: unknown) => {
      if (!keep || stop.signal.aborted) throw error;
      reportFailure(output, error, logFile);
      return FAILED;
    });
    if (!keep && exitCode === 0) {
      output.stage('Try next');
      for (const line of NEXT) output.plain(line);
    }
    if (keep) await stay(output, { env, metricsPort, livePage, signal: stop.signal });
    return exitCode;
  } finally {
    await operator.stop();
  }
}

async function runStages(stage: DemoStage, { failed }: OperatorSupervisor): Promise<number> {
  for (const step of [applyExamples, scaleUp, interruptSpot, scaleToZero]) await Promise.race([step(stage), failed]);
  const { screen: output, world, narrator, bills } = stage;
  output.stage('Summary');
  for (const line of summaryLines(world, narrator, bills)) output.plain(line);
  return 0;
}

interface Stay {
  readonly env: Readonly<Record<string, string>>;
  readonly metricsPort: number;
  readonly livePage: string;
  readonly signal: AbortSignal;
}

/** Returns the environment variables for kubectl and aws: the kubeconfig and all variables of AWS. */
export const clientEnvironment = (env: Readonly<Record<string, string>>): Readonly<Record<string, string>> =>
  Object.fromEntries(Object.entries(env).filter(([name]) => name === 'KUBECONFIG' || name.startsWith('AWS_')));

/** Prints commands for exploring the cluster, and waits for Ctrl-C. */
async function stay(output: Screen, { env, metricsPort, livePage, signal }: Stay): Promise<void> {
  output.stage('Still running: explore the cluster, then press Ctrl-C');
  for (const line of exportLines(clientEnvironment(env))) output.plain(line);
  output.plain('kubectl get nodepools,nodeclaims,nodes,pods');
  output.plain('kubectl scale deployment inflate --replicas=5');
  for (const verb of ['explain node', 'report moves', 'offerings'])
    output.plain(`npx karpenter ${verb} --server http://127.0.0.1:${metricsPort}`);
  output.plain(`http://${livePage}/ in a browser`);
  if (signal.aborted) return;
  await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
}
