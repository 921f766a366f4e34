/** Disruption's experiments in a thread of their own, as the operator makes them in production. */
import { Worker } from 'node:worker_threads';
import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { type LabThread, labThread } from '../../src/controllers/disruption/labthread.ts';
import { type Scenario, startScenario } from './harness.ts';
import { BRISK, commands, leaks, outgrow } from './pools.ts';

let scenario: Scenario;
let laboratory: LabThread;
afterEach(async () => {
  jest.restoreAllMocks();
  await scenario.stop();
  await laboratory.close();
});

/** What the near side sends when it wants a method to decide. */
const isQuestion = (message: unknown): message is { readonly kind: 'decide'; readonly question: { method: string } } =>
  (message as { readonly kind?: unknown }).kind === 'decide';

interface Watched {
  /** Methods that were asked in a thread, and the threads that were. */
  readonly asked: string[];
  readonly threads: Set<Worker>;
}

/** Looks on at questions to threads. Of those that `kills` says, the thread dies instead of answering. */
function watchThreads(kills: (method: string) => boolean = () => false): Watched {
  const watched: Watched = { asked: [], threads: new Set() };
  const send = Worker.prototype.postMessage;
  jest.spyOn(Worker.prototype, 'postMessage').mockImplementation(function (this: Worker, message: unknown): void {
    if (isQuestion(message)) {
      const { method } = message.question;
      watched.asked.push(method);
      watched.threads.add(this);
      if (kills(method)) return void this.terminate();
    }
    send.call(this, message);
  });
  return watched;
}

async function begin(): Promise<void> {
  laboratory = labThread();
  scenario = await startScenario({ ...BRISK, laboratory });
  await scenario.apply(...scenario.example('ec2nodeclass.yaml'));
  await outgrow(scenario, { cpus: [2, 4, 8] }, { nodes: 2, small: 3 });
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

describe('a search in a thread', () => {
  it('leads to the same commands as one in the operator’s own', async () => {
    const { asked, threads } = watchThreads();
    await begin();
    const before = scenario.world.aws.spending.usdPerHour();
    await consolidated(before);
    expect(commands(scenario)).toMatchObject([
      { decision: 'replace', 'disrupted-node-count': 2, 'replacement-node-count': 1, 'pod-count': 3 },
    ]);
    expect(asked).toContain('multi-node consolidation');
    expect(threads.size).toBe(1);
    expect(scenario.log.filter(({ level }) => level === 'ERROR')).toEqual([]);
  }, 300_000);

  it('that dies with its thread is made again in another, and nothing is lost', async () => {
    let deaths = 0;
    const { threads } = watchThreads((method) => method === 'multi-node consolidation' && ++deaths <= 2);
    await begin();
    const before = scenario.world.aws.spending.usdPerHour();
    await consolidated(before);
    expect(threads.size).toBe(3);
    const errors = scenario.log.filter(({ level }) => level === 'ERROR');
    expect(errors).toMatchObject(
      Array.from({ length: 2 }, () => ({
        controller: 'disruption',
        message: 'Reconciler error',
        error: 'disrupting, The thread of the laboratory ended',
      })),
    );
    expect(commands(scenario)).toMatchObject([{ decision: 'replace', 'disrupted-node-count': 2 }]);
  }, 300_000);
});
