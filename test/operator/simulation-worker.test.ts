/** Disruption simulations in a separate thread, as in production. */
import { Worker } from 'node:worker_threads';
import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { WorkerSimulationRunner } from '#engine-worker';
import { type LogLine, type Scenario, startScenario } from './harness.ts';
import { BRISK, commands, leaks, outgrow, pool } from './pools.ts';

let scenario: Scenario;
let simulations: WorkerSimulationRunner;
afterEach(async () => {
  jest.restoreAllMocks();
  await scenario.stop();
  await simulations.close();
});

/** Recognizes the message that starts the decision of a method. */
const isRequest = (message: unknown): message is { readonly kind: 'decide'; readonly request: { method: string } } =>
  (message as { readonly kind?: unknown }).kind === 'decide';

interface Watched {
  /** Methods that were evaluated in a thread, and these threads. */
  readonly methods: string[];
  readonly threads: Set<Worker>;
}

const POOL = { cpus: [2, 4, 8] };

/**
 * Prepares two nodes of which one would suffice, and watches later requests to threads. For the first `deaths`
 * requests, the thread exits instead of responding. Earlier requests are not counted: the operator that prepares the
 * nodes may be stopped in the middle of a pass, without a report.
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

/** Waits until the three small pods run on one cheaper node without other nodes. */
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

/** Returns log errors about threads. Other errors are irrelevant here: a slow API server causes some. */
const threadErrors = (): readonly LogLine[] =>
  scenario.log.filter(({ level, error }) => level === 'ERROR' && String(error).includes('disruption worker'));

describe('a disruption search in a thread', () => {
  it('leads to the same commands as a search in the main thread', async () => {
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

  it('is repeated in another thread if its thread exits', async () => {
    const { threads } = await begin(2);
    const before = scenario.world.aws.spending.usdPerHour();
    await consolidated(before);
    expect(threads.size).toBe(3);
    const ended = 'The disruption worker ended';
    const restarted = (times: number) => ({
      message: 'an engine worker ended, starting a new one',
      worker: 'disruption',
      'ends-in-succession': times,
    });
    expect(threadErrors()).toMatchObject([
      restarted(1),
      { controller: 'disruption', message: 'Reconciler error', error: `disrupting, ${ended}` },
      // the result is the same as before, so it is not logged again
      restarted(2),
    ]);
    expect(commands(scenario)).toMatchObject([{ decision: 'replace', 'disrupted-node-count': 2 }]);
  }, 300_000);
});
