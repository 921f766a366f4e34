/** Consolidation of nodes that became too large because pods were deleted: deletion or replacement by cheaper nodes. */
import { afterEach, describe, expect, it } from '@jest/globals';
import { CAPACITY_TYPE_LABEL } from '#api/objects';
import { present } from '../support/present.ts';
import { type Scenario, type ScenarioOptions, startScenario } from './harness.ts';
import { BRISK, commands, leaks, outgrow, type PoolShape } from './pools.ts';

let scenario: Scenario;
afterEach(async () => {
  await scenario.stop();
});

/** Starts with nodes that have become too large; see `outgrow`. */
const begin = async (nodes: number, small: number, shape: PoolShape, options: ScenarioOptions = {}): Promise<void> => {
  scenario = await startScenario({ ...BRISK, ...options });
  await scenario.apply(...scenario.example('ec2nodeclass.yaml'));
  await outgrow(scenario, shape, { nodes, small });
};

/** Waits for a condition and returns the smallest number of pods of the app that ran during the wait. */
async function leastRunning(app: string, what: string, holds: () => Promise<boolean>): Promise<number> {
  let least = Number.POSITIVE_INFINITY;
  await scenario.until(
    what,
    async () => {
      least = Math.min(least, (await scenario.running(app)).length);
      return holds();
    },
    60_000,
  );
  return least;
}

/** Expects that no node is drained before every replacement of the first command is initialized. */
function expectReplacementFirst(): void {
  const messages = scenario.log.slice(scenario.log.findIndex((line) => line.message === 'disrupting node(s)'));
  const at = (message: string): number => messages.findIndex((line) => line.message === message);
  expect(at('initialized nodeclaim')).toBeGreaterThan(0);
  expect(at('tainted node')).toBeGreaterThan(at('initialized nodeclaim'));
}

describe('scaling down', () => {
  it('replaces several nodes by a single cheaper one, which is ready before they are drained', async () => {
    await begin(2, 3, { cpus: [2, 4, 8] });
    const before = scenario.world.aws.spending.usdPerHour();
    const old = scenario.instances().map(({ id }) => id);
    const least = await leastRunning('small', 'a single new node', async () => {
      const present = scenario.instances().map(({ id }) => id);
      return present.length === 1 && !old.includes(present[0] ?? '') && (await scenario.running('small')).length === 3;
    });

    expect(commands(scenario)).toMatchObject([
      { decision: 'replace', 'disrupted-node-count': 2, 'replacement-node-count': 1 },
    ]);
    expectReplacementFirst();
    // The pods' own disruption budget allows one unavailable pod at a time.
    expect(least).toBeGreaterThanOrEqual(2);
    expect(scenario.world.aws.spending.usdPerHour()).toBeLessThan(before);
    await scenario.until('a tidy world', async () => (await leaks(scenario)).length === 0);
    expect(await scenario.metrics()).toMatch(
      /karpenter_voluntary_disruption_decisions_total\{decision="replace",reason="underutilized",consolidation_type="multi"\} 1/,
    );
  }, 300_000);

  it('replaces a single node by a cheaper one', async () => {
    await begin(1, 2, { cpus: [2, 4, 8] });
    const old = scenario.instances()[0]?.id;
    const least = await leastRunning('small', 'a single new node', async () => {
      const present = scenario.instances().map(({ id }) => id);
      return present.length === 1 && present[0] !== old && (await scenario.running('small')).length === 2;
    });
    expect(least).toBeGreaterThanOrEqual(1);
    expect(commands(scenario)).toMatchObject([
      { decision: 'replace', 'disrupted-node-count': 1, 'replacement-node-count': 1 },
    ]);
    expectReplacementFirst();
    await scenario.until('a tidy world', async () => (await leaks(scenario)).length === 0);
    expect((await scenario.events('DisruptionTerminating')).length).toBeGreaterThan(0);
  }, 300_000);

  it('deletes a node whose pods fit on other nodes', async () => {
    await begin(2, 3, { cpus: [8] });
    await leastRunning('small', 'one node', async () => {
      const running = await scenario.running('small');
      return scenario.instances().length === 1 && running.length === 3;
    });
    expect(commands(scenario)).toMatchObject([{ decision: 'delete', 'replacement-node-count': 0 }]);
    await scenario.until('a tidy world', async () => (await leaks(scenario)).length === 0);
  }, 300_000);

  it('keeps nodes that are not empty if the policy is WhenEmpty', async () => {
    await begin(1, 1, { cpus: [2, 4, 8], consolidationPolicy: 'WhenEmpty' });
    await scenario.until('an explanation', async () =>
      (await scenario.events('Unconsolidatable')).some((event) => event.message.includes('policy WhenEmpty')),
    );
    await scenario.pass(60_000);
    expect(commands(scenario)).toEqual([]);
    await scenario.scale('small', 0);
    await scenario.until('no instance', () => scenario.instances().length === 0);
    expect(commands(scenario)).toMatchObject([{ decision: 'delete' }]);
  }, 300_000);
});

describe('an interruption during a consolidation', () => {
  it('loses no pods and leaks no node if the candidate is interrupted', async () => {
    await begin(
      2,
      3,
      { cpus: [2, 4, 8], capacityTypes: ['spot'] },
      { argv: ['--feature-gates=SpotToSpotConsolidation=true'] },
    );
    await scenario.until('a consolidation', () => commands(scenario).length > 0, 60_000);
    const [first] = scenario.instances();
    expect(first?.capacityType).toBe('spot');
    scenario.world.aws.faults.interrupt(present(first?.id));
    await scenario.until(
      'the interrupted instance to go',
      () => scenario.instances().every(({ id }) => id !== first?.id),
      60_000,
    );
    await scenario.until(
      'a tidy world with all pods',
      async () => (await leaks(scenario)).length === 0 && (await scenario.running('small')).length === 3,
      60_000,
    );
    for (const claim of await scenario.claims()) expect(claim.metadata.labels?.[CAPACITY_TYPE_LABEL]).toBe('spot');
  }, 300_000);

  it('rolls the command back if it interrupts the replacement, and moves no pod before another node exists', async () => {
    await begin(
      2,
      3,
      { cpus: [2, 4, 8], capacityTypes: ['spot'] },
      // instances boot so slowly that the interruption arrives before they are ready
      { argv: ['--feature-gates=SpotToSpotConsolidation=true'], kubelets: { bootMs: 60_000, readyMs: 2_000 } },
    );
    const old = new Set(scenario.instances().map(({ id }) => id));
    const replacement = await scenario.until(
      'a replacement',
      () => scenario.instances().find(({ id }) => !old.has(id)),
      60_000,
    );
    scenario.world.aws.faults.interrupt(replacement.id);
    const takenBack = (): number =>
      scenario.log.findIndex(
        ({ message }) => message === 'failed terminating nodes while executing a disruption command',
      );
    await scenario.until('the command to be taken back', () => takenBack() >= 0, 60_000);
    // no node was drained before the rollback; later decisions may drain nodes
    expect(scenario.log.slice(0, takenBack()).map(({ message }) => message)).not.toContain('tainted node');
    await scenario.until(
      'a tidy world with all pods',
      async () => (await leaks(scenario)).length === 0 && (await scenario.running('small')).length === 3,
      60_000,
    );
    expect(scenario.instances().map(({ id }) => id)).not.toContain(replacement.id);
    expect(await scenario.metrics()).toMatch(
      /karpenter_voluntary_disruption_queue_failures_total\{decision="replace",reason="underutilized",consolidation_type="replace"\} [1-9]/,
    );
  }, 300_000);
});
