/** Nodes whose kubelet falls silent are replaced after a while, when the feature is on and most others are well. */
import { afterEach, describe, expect, it } from '@jest/globals';
import { getCondition } from '../../src/api/conditions.ts';
import { deployment, type Scenario, startScenario } from './harness.ts';
import { apart, BRISK, budgetFor, leaks, pool } from './pools.ts';

const MINUTE = 60_000;
/** Half an hour is long even for a fast clock. */
const HURRY = 180;

let scenario: Scenario;
afterEach(async () => {
  await scenario.stop();
});

/** Nodes with one pod each, which nothing but repair may disrupt. */
const begin = async (nodes: number, argv: readonly string[]): Promise<readonly string[]> => {
  scenario = await startScenario({ ...BRISK, argv });
  await scenario.apply(
    ...scenario.example('ec2nodeclass.yaml'),
    pool({ cpus: [2], budgets: [{ nodes: '0' }] }),
    budgetFor('web', 0),
    deployment('web', nodes, apart('web')),
  );
  await scenario.until('running pods', async () => (await scenario.running('web')).length === nodes);
  return scenario.instances().map(({ id }) => id);
};

/** Answers since when the node counts as unknown. */
const silence = async (id: string): Promise<number> => {
  scenario.world.kubelets.hang(id);
  const { lastTransitionTime } = await scenario.until('an Unknown node', async () =>
    (await scenario.nodes())
      .filter((node) => node.spec?.providerID?.endsWith(id))
      .flatMap((node) => getCondition(node, 'Ready') ?? [])
      .find(({ status }) => status === 'Unknown'),
  );
  return Date.parse(lastTransitionTime ?? '');
};

describe('a node whose kubelet is silent', () => {
  it('is replaced after 30 minutes, against every budget', async () => {
    const [broken = ''] = await begin(2, ['--feature-gates=NodeRepair=true']);
    const sinceMs = await silence(broken);
    await scenario.pass(28 * MINUTE, HURRY);
    await scenario.until('it to be replaced', () => scenario.instances().every(({ id }) => id !== broken), 90_000);
    await scenario.until(
      'a tidy world with all pods',
      async () => (await leaks(scenario)).length === 0 && (await scenario.running('web')).length === 2,
      60_000,
    );
    const repairs = scenario.log.filter(({ message }) => message === 'deleting unhealthy node');
    expect(repairs).toHaveLength(1);
    expect(Date.parse(String(repairs[0]?.time))).toBeGreaterThanOrEqual(sinceMs + 30 * MINUTE);
    expect(await scenario.metrics()).toMatch(/karpenter_nodeclaims_unhealthy_disrupted_total\{condition="ready".*\} 1/);
  }, 300_000);

  it('is left alone while too many are silent', async () => {
    const ids = await begin(2, ['--feature-gates=NodeRepair=true']);
    for (const id of ids) await silence(id);
    await scenario.pass(31 * MINUTE, HURRY);
    await scenario.until('an explanation', async () => (await scenario.events('NodeRepairBlocked')).length > 0);
    expect(scenario.instances().map(({ id }) => id)).toEqual(expect.arrayContaining([...ids]));
    expect(scenario.log.map(({ message }) => message)).not.toContain('deleting unhealthy node');
  }, 300_000);

  it('stays when the feature gate is off', async () => {
    const [broken = ''] = await begin(2, []);
    await silence(broken);
    await scenario.pass(32 * MINUTE, HURRY);
    expect(scenario.instances().map(({ id }) => id)).toContain(broken);
    expect(scenario.log.map(({ message }) => message)).not.toContain('deleting unhealthy node');
    // A kubelet that comes back makes the node whole again.
    scenario.world.kubelets.resume(broken);
    await scenario.until('running pods', async () => (await scenario.running('web')).length === 2, 60_000);
  }, 300_000);
});
