/** An operator that loses its lease must change nothing, regardless of the cause: no pod gets two nodes. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { configureAws } from '#aws/provider';
import type { Clock } from '#lib/clock';
import { type Operator, startOperator } from '../../src/main.ts';
import { bundled } from '../support/operator/bundle.ts';
import { deployment, type Scenario, startScenario } from './harness.ts';
import { apart } from './pools.ts';
import { type StallableWire, startStallableWire } from './stallable-wire.ts';

const PODS = 30;
/** Maximum number of NodeClaims. Only launches in flight at the loss of the lease may be duplicated. */
const MOST_CLAIMS = 34;
/** Longer than the lease of 15 s, after which a standby becomes the leader. */
const LOST_FOR_MS = 22_000;

let scenario: Scenario;
let wire: StallableWire;
let processes: ChildProcess[] = [];
let inProcess: Operator[] = [];
/** UIDs of all NodeClaims that were ever created. */
let claims: Set<string | undefined>;
let launched: number;

beforeEach(async () => {
  scenario = await startScenario({
    operator: false,
    timeScale: 1,
    pollMs: 250,
    kubelets: { bootMs: 500, readyMs: 200, podStartMs: [100, 200] },
  });
  wire = await startStallableWire(scenario.world.kube.url);
  claims = new Set();
  launched = 0;
  scenario.world.aws.instances.subscribe((_, previous) => {
    if (previous === undefined) launched += 1;
  });
  await scenario.apply(...scenario.example('ec2nodeclass.yaml'), ...scenario.example('nodepool.yaml'));
});

afterEach(async () => {
  for (const operator of inProcess) await operator.stop();
  for (const child of processes) child.kill('SIGKILL');
  await Promise.all(processes.map((child) => child.exitCode ?? child.signalCode ?? once(child, 'exit')));
  processes = [];
  inProcess = [];
  await wire.close();
  await scenario.stop();
});

const settings = (): Record<string, string> => ({
  ...scenario.world.env(),
  KUBECONFIG: scenario.world.kube.kubeconfig().replaceAll(scenario.world.kube.url, wire.url),
  METRICS_PORT: '0',
  HEALTH_PROBE_PORT: '0',
  BATCH_IDLE_DURATION: '200ms',
});

/** Starts an operator in a separate process. */
function startProcess(): ChildProcess {
  const child = spawn(process.execPath, [bundled('main')], {
    env: { PATH: process.env.PATH, NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE, ...settings() },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  child.stdout.resume();
  processes.push(child);
  return child;
}

const countClaims = async (): Promise<number> => {
  for (const { metadata } of await scenario.claims()) claims.add(metadata.uid);
  return claims.size;
};

/**
 * Starts a leader and a standby. Calls `strike` when the leader reads the NodePool, just before it creates the
 * NodeClaims.
 */
async function strikeLeader<T>(start: () => T, strike: (leader: Awaited<T>) => void): Promise<Awaited<T>> {
  const leader = await start();
  await scenario.until('a leader', async () => (await scenario.events('LeaderElection')).length > 0, 60_000);
  await start();
  const struck = wire.when('GET /apis/karpenter.sh/v1/nodepools/', () => strike(leader));
  await scenario.apply(deployment('web', PODS, apart('web')));
  await struck;
  return leader;
}

async function expectOneNodePerPod(): Promise<void> {
  await scenario.until(
    'all pods running',
    async () => {
      await countClaims();
      return (await scenario.running('web')).length === PODS;
    },
    240_000,
  );
  expect(await countClaims()).toBeLessThanOrEqual(MOST_CLAIMS);
  expect(launched).toBeLessThanOrEqual(MOST_CLAIMS);
}

describe('a leader that loses its lease in the middle of many launches', () => {
  it('exits during a stall of the API server, and its successor launches only the missing nodes', async () => {
    const leader = await strikeLeader(startProcess, () => wire.stall());
    await Promise.race([once(leader, 'exit'), sleep(LOST_FOR_MS)]);
    // before the API server responds again
    expect(leader.exitCode).toBe(1);
    wire.resume();
    await expectOneNodePerPod();
  }, 600_000);

  it('exits after a pause of its process, and sends no prepared requests', async () => {
    const leader = await strikeLeader(startProcess, (child) => child.kill('SIGSTOP'));
    const ended = once(leader, 'exit');
    await sleep(LOST_FOR_MS);
    leader.kill('SIGCONT');
    expect((await ended)[0]).toBe(1);
    await expectOneNodePerPod();
  }, 600_000);

  it('exits if the time of its machine jumps by an hour', async () => {
    let setMs = 0;
    const { clock } = scenario.world;
    const set: Clock = { ...clock, now: () => clock.now() + setMs, monotonic: () => clock.now() };
    const clocks = [set, clock];
    const start = async (): Promise<Operator> => {
      const operator = await startOperator({
        configureProvider: configureAws,
        argv: [],
        env: settings(),
        clock: clocks.shift() ?? clock,
        write: () => undefined,
      });
      inProcess.push(operator);
      return operator;
    };
    const leader = await strikeLeader(start, () => {
      setMs = 3_600_000;
    });
    expect(await leader.done).toBe('lease lost');
    await expectOneNodePerPod();
  }, 600_000);
});
