/** Manual actions of users: deletions of NodeClaims and nodes, protection of pods, mistakes. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { NODE, NODE_CLAIM, NODE_POOL, POD, POD_DISRUPTION_BUDGET, type PodDisruptionBudget } from '#api/objects';
import { partial } from '../support/partial.ts';
import { present } from '../support/present.ts';
import { deployment, type Scenario, startScenario } from './harness.ts';

describe('the operator', () => {
  let scenario: Scenario;
  beforeAll(async () => {
    scenario = await startScenario();
    await scenario.apply(
      ...scenario.example('ec2nodeclass.yaml'),
      ...scenario.example('nodepool.yaml'),
      deployment('web', 3),
    );
    await scenario.until('running pods', async () => (await scenario.running('web')).length === 3);
  });
  afterAll(async () => {
    await scenario.stop();
  });

  it.each([
    ['NodeClaim', async () => (await scenario.claims())[0], NODE_CLAIM],
    ['Node', async () => (await scenario.nodes())[0], NODE],
  ] as const)('drains a deleted %s, terminates its instance, and launches another node for its pods', async (_, pick, kind) => {
    const victim = await pick();
    const before = scenario.instances().map((instance) => instance.id);
    await scenario.kube.delete(kind as typeof NODE, { name: present(victim?.metadata.name) });
    await scenario.until('the instance to go', () =>
      scenario.instances().every((instance) => !before.includes(instance.id)),
    );
    await scenario.until(
      'the object to go',
      async () =>
        (await scenario.kube.find(kind as typeof NODE, { name: present(victim?.metadata.name) })) === undefined,
    );
    await scenario.until('running pods', async () => (await scenario.running('web')).length === 3);
    await scenario.until(
      'a claim for every instance, and no more',
      async () => (await scenario.claims()).length === scenario.instances().length,
    );
  });

  it('waits for a PodDisruptionBudget during a drain', async () => {
    const budget: PodDisruptionBudget = {
      apiVersion: 'policy/v1',
      kind: 'PodDisruptionBudget',
      metadata: { name: 'web', namespace: 'default' },
      spec: { minAvailable: 3, selector: { matchLabels: { app: 'web' } } },
    };
    await scenario.apply(budget);
    await scenario.until(
      'the budget to be computed',
      async () =>
        (await scenario.kube.find(POD_DISRUPTION_BUDGET, { name: 'web', namespace: 'default' }))?.status
          ?.currentHealthy === 3,
    );
    const [claim] = await scenario.claims();
    const held = new Set((await scenario.pods('web')).map((pod) => pod.metadata.uid));
    await scenario.kube.delete(NODE_CLAIM, { name: present(claim?.metadata.name) });
    await scenario.until('a refused eviction', async () =>
      /karpenter_pods_eviction_requests_total\{code="429"\} [1-9]/.test(await scenario.metrics()),
    );
    expect((await scenario.events('FailedDraining')).length).toBeGreaterThan(0);
    await scenario.pass(20_000);
    expect((await scenario.running('web')).filter((pod) => held.has(pod.metadata.uid))).toHaveLength(3);

    await scenario.kube.delete(POD_DISRUPTION_BUDGET, { name: 'web', namespace: 'default' });
    await scenario.until(
      'the claim to go',
      async () => (await scenario.kube.find(NODE_CLAIM, { name: present(claim?.metadata.name) })) === undefined,
    );
    await scenario.until('running pods', async () => (await scenario.running('web')).length === 3);
  }, 300_000);

  it('reports the reason for a pod that cannot be scheduled', async () => {
    await scenario.apply(deployment('huge', 1, {}, { cpu: '900' }));
    const events = await scenario.until('the event', async () => {
      const found = (await scenario.events('FailedScheduling')).filter((event) =>
        event.message.startsWith('Failed to schedule pod'),
      );
      return found.length > 0 && found;
    });
    expect(events[0]?.message).toMatch(/no instance type with enough room: the pod requests cpu 900/);
    await scenario.scale('huge', 0);
  });

  it('reports an invalid NodePool as not Ready if the API server accepts it', async () => {
    const pool = scenario.example('nodepool.yaml')[0] as unknown as {
      metadata: { name: string };
      spec: { disruption: Record<string, unknown> };
    };
    const wrong = {
      ...pool,
      metadata: { name: 'wrong' },
      spec: { ...pool.spec, disruption: { consolidateAfter: '30d' } },
    };
    await expect(scenario.apply(partial(wrong))).rejects.toThrow(/spec\.disruption\.consolidateAfter/);
    const scheduleAlone = {
      ...wrong,
      spec: { ...pool.spec, disruption: { consolidateAfter: '0s', budgets: [{ nodes: '1', schedule: '@daily' }] } },
    };
    await expect(scenario.apply(partial(scheduleAlone))).rejects.toThrow("'schedule' must be set with 'duration'");

    const spt = JSON.parse(JSON.stringify(pool)) as {
      metadata: { name: string };
      spec: { template: { spec: { requirements: unknown[] } } };
    };
    spt.metadata.name = 'spt';
    spt.spec.template.spec.requirements = [{ key: 'karpenter.sh/capacity-type', operator: 'In', values: ['spt'] }];
    await scenario.apply(partial(spt));
    const condition = await scenario.until('the condition', async () =>
      (await scenario.kube.find(NODE_POOL, { name: 'spt' }))?.status?.conditions?.find(
        ({ type, status }) => type === 'ValidationSucceeded' && status === 'False',
      ),
    );
    expect(condition).toMatchObject({ reason: 'NodePoolValidationFailed' });
    expect(condition.message).toContain('no valid values found');
    await scenario.kube.delete(NODE_POOL, { name: 'spt' });
  });

  it('removes the nodes of a deleted NodePool', async () => {
    await scenario.scale('web', 0);
    await scenario.kube.delete(NODE_POOL, { name: 'default' });
    await scenario.until(
      'everything to go',
      async () => (await scenario.claims()).length === 0 && scenario.instances().length === 0,
    );
    expect((await scenario.kube.list(POD)).items.filter((pod) => pod.spec.nodeName)).toEqual([]);
  });
});
