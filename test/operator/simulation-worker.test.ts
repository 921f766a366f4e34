/** Disruption's simulations in a thread of their own, as the operator makes them in production. */
import { Worker } from 'node:worker_threads';
import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { WorkerSimulationRunner } from '../../src/engine-worker/worker-simulation-runner.ts';
import { type LogLine, type Scenario, startScenario } from './harness.ts';
import { BRISK, commands, leaks, outgrow, pool } from './pools.ts';

let scenario: Scenario;
let simulations: WorkerSimulationRunner;
afterEach(async () => {
  jest.restoreAllMocks();
  await scenario.stop();
  await simulations.close();
});

/** The message that has a method decide. */
const isRequest = (message: unknown): message is { readonly kind: 'decide'; readonly request: { method: string } } =>
  (message as { readonly kind?: unknown }).kind === 'decide';

interface Watched {
  /** Methods that decided in a thread, and those threads. */
  readonly methods: string[];
  readonly threads: Set<Worker>;
}

const POOL = { cpus: [2, 4, 8] };

/**
 * Brings two nodes to where one would do. From then on it watches the requests to threads: of the first `deaths` of them
 * the thread dies instead of answering. Not before: the operator that brings the nodes there may be making a pass while
 * it is stopped, and then reports nothing.
 */
async function begin(deaths = 0): Promise<Watched> {
  simulations = new WorkerSimulationRunner();
  scenario = await startScenario({ ...BRISK, simulations });
  await scenario.apply(...scenario.example('ec2nodeclass.yaml'));
  const watched: Watched = { methods: [], threads: new Set() };
  const send = Worker.prototype.postMessage;
  function watch(this: Worker, message: unknown): void {
    if (isRequest(message)) {
      watched.threads.add(this);
      if (watched.methods.push(message.request.method) <= deaths) return void this.terminate();
    }
    send.call(this, message);
  }
  await outgrow(scenario, POOL, { nodes: 2, small: 3 }, () =>
    scenario.restartOperator(async () => {
      jest.spyOn(Worker.prototype, 'postMessage').mockImplementation(watch);
      await scenario.apply(pool(POOL));
    }),
  );
  return watched;
}

/** The three small pods on one cheaper node, and nothing else. */
const consolidated = (before: number): Promise<true> =>
  scenario.until(
    'one cheap node with all pods, and nothing else',
    async () =>
      scenario.instances().length === 1 &&
      scenario.world.aws.spending.usdPerHour() < before / 2 &&
      (await leaks(scenario)).length === 0 &&
      (await scenario.running('small')).length === 3,
    60_000,
  );

/** Others are none of these tests' business: a slow API server causes some. */
const threadErrors = (): readonly LogLine[] =>
  scenario.log.filter(({ level, error }) => level === 'ERROR' && String(error).includes('disruption worker'));

describe('a search in a thread', () => {
  it('leads to the same commands as one in the operator’s own', async () => {
    const { methods, threads } = await begin();
    const before = scenario.world.aws.spending.usdPerHour();
    await consolidated(before);
    expect(commands(scenario)).toMatchObject([
      { decision: 'replace', 'disrupted-node-count': 2, 'replacement-node-count': 1, 'pod-count': 3 },
    ]);
    expect(methods).toContain('multi-node consolidation');
    expect(threads.size).toBe(1);
    expect(threadErrors()).toEqual([]);
    jest.spyOn(simulations, 'check').mockImplementation(() => {
      throw new Error('its threads go on ending');
    });
    expect(await scenario.healthz()).toEqual({
      status: 500,
      text: '[+]solver ok\n[-]disruption failed: its threads go on ending\n[+]ping ok\nhealthz check failed\n',
    });
  }, 300_000);

  it('that dies with its thread is made again in another, and nothing is lost', async () => {
    const { threads } = await begin(2);
    const before = scenario.world.aws.spending.usdPerHour();
    await consolidated(before);
    expect(threads.size).toBe(3);
    const ended = 'The disruption worker ended';
    const restarted = (times: number) => ({
      message: 'an engine worker ended, starting another',
      worker: 'disruption',
      'ends-in-succession': times,
    });
    expect(threadErrors()).toMatchObject([
      restarted(1),
      { controller: 'disruption', message: 'Reconciler error', error: `disrupting, ${ended}` },
      // what came of it is the same as before, and not said again
      restarted(2),
    ]);
    expect(commands(scenario)).toMatchObject([{ decision: 'replace', 'disrupted-node-count': 2 }]);
  }, 300_000);
});
