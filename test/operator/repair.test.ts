/**
 * Nodes whose kubelet stops reporting are replaced after a while if the feature is enabled and most other nodes are
 * healthy.
 */
import { afterEach, describe, expect, it } from '@jest/globals';
import { getCondition, isFalse, type NodePolicy } from '#api/objects';
import { partial } from '../support/partial.ts';
import { deployment, type Scenario, startScenario } from './harness.ts';
import { apart, BRISK, budgetFor, leaks, pool } from './pools.ts';

const MINUTE = 60_000;
/** Time scale for waits of half an hour. */
const HURRY = 180;

let scenario: Scenario;
afterEach(async () => {
  await scenario.stop();
});

/** Starts nodes with one pod each. Budgets block all other disruption. */
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

/** Stops the kubelet. Returns the time since which the node's readiness is Unknown. */
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

describe('a node whose kubelet stops reporting', () => {
  it('is replaced after 30 minutes regardless of budgets', async () => {
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

  it('is rebooted with the action of a NodePolicy, and keeps its instance and pods', async () => {
    const [broken = ''] = await begin(2, ['--feature-gates=NodeRepair=true']);
    await scenario.apply(
      partial<NodePolicy>({
        apiVersion: 'karpenter-ts.sh/v1alpha1',
        kind: 'NodePolicy',
        metadata: { name: 'reboot' },
        spec: { repair: { conditions: [{ type: 'Ready', status: 'Unknown', toleration: '2m', action: 'Reboot' }] } },
      }),
    );
    await silence(broken);
    await scenario.until(
      'a reboot',
      () => scenario.log.some(({ message }) => message === 'rebooting unhealthy node'),
      240_000,
    );
    await scenario.until(
      'the end of the reboot',
      async () => (await scenario.claims()).some((claim) => isFalse(claim, 'Rebooting')),
      120_000,
    );
    const [claim] = (await scenario.claims()).filter((each) => isFalse(each, 'Rebooting'));
    expect(claim && getCondition(claim, 'Rebooting')?.reason).toBe('RebootSucceeded');
    expect(scenario.instances().map(({ id }) => id)).toContain(broken);
    await scenario.until('running pods', async () => (await scenario.running('web')).length === 2, 60_000);
    expect(await scenario.metrics()).toMatch(/karpenter_nodeclaims_rebooted_total\{.*outcome="success".*\} 1/);
    expect(scenario.log.map(({ message }) => message)).not.toContain('deleting unhealthy node');
  }, 300_000);

  it('is kept while too many nodes are unhealthy', async () => {
    const ids = await begin(2, ['--feature-gates=NodeRepair=true']);
    for (const id of ids) await silence(id);
    await scenario.pass(31 * MINUTE, HURRY);
    await scenario.until('an explanation', async () => (await scenario.events('NodeRepairBlocked')).length > 0);
    expect(scenario.instances().map(({ id }) => id)).toEqual(expect.arrayContaining([...ids]));
    expect(scenario.log.map(({ message }) => message)).not.toContain('deleting unhealthy node');
  }, 300_000);

  it('is kept if the feature gate is disabled', async () => {
    const [broken = ''] = await begin(2, []);
    await silence(broken);
    await scenario.pass(32 * MINUTE, HURRY);
    expect(scenario.instances().map(({ id }) => id)).toContain(broken);
    expect(scenario.log.map(({ message }) => message)).not.toContain('deleting unhealthy node');
    // The node becomes Ready again if its kubelet resumes.
    scenario.world.kubelets.resume(broken);
    await scenario.until('running pods', async () => (await scenario.running('web')).length === 2, 60_000);
  }, 300_000);
});
