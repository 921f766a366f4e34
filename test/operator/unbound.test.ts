/**
 * Pods that are not bound to the nodes that were launched for them: few launches, full reports, and immediate
 * recovery.
 */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type KubeObject, NODE, NODE_POOL, type NodePool, POD, type Pod } from '#api/objects';
import { type Scenario, startScenario } from './harness.ts';
import { pool } from './pools.ts';

const AGENT = { key: 'agent', effect: 'NoSchedule' } as const;

/** Returns a NodePool with a label and a startup taint, which an agent removes before pods may be scheduled. */
function agentPool(): KubeObject {
  const made = pool({ name: 'agents', labels: { team: 'a' } }) as unknown as NodePool;
  const spec = { ...made.spec.template.spec, startupTaints: [AGENT] };
  return { ...made, spec: { ...made.spec, template: { ...made.spec.template, spec } } } as KubeObject;
}

const podOf = (name: string, spec: Partial<Pod['spec']>): Pod => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name, namespace: 'default' },
  spec: {
    terminationGracePeriodSeconds: 0,
    containers: [{ name: 'main', image: 'pause', resources: { requests: { cpu: '1' } } }],
    ...spec,
  },
});

describe('a pod that is not bound to the node that was launched for it', () => {
  let scenario: Scenario;
  let stripsLabel = true;
  let agent: Promise<void>;
  let isOver = false;

  /** Removes a label from each new node, then its startup taint. */
  async function runAgent(): Promise<void> {
    while (!isOver) {
      for (const { metadata, spec } of await scenario.nodes()) {
        const taints = spec?.taints ?? [];
        if (metadata.labels?.['karpenter.sh/registered'] !== 'true' || !taints.some(({ key }) => key === AGENT.key))
          continue;
        const labels = stripsLabel ? { team: null } : {};
        const rest = taints.filter(({ key }) => key !== AGENT.key);
        const { resourceVersion } = metadata;
        const patch = { metadata: { labels, resourceVersion }, spec: { taints: rest } };
        await scenario.kube.patch(NODE, { name: metadata.name }, patch).catch(() => undefined);
      }
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }

  const boughtFor = (nodePool: string): number =>
    scenario.log.filter(
      ({ message, NodePool }) =>
        message === 'created nodeclaim' && (NodePool as { name?: string } | undefined)?.name === nodePool,
    ).length;
  const eventsOf = async (reason: string, kind: string, name: string): Promise<readonly string[]> =>
    (await scenario.events(reason))
      .filter(({ involvedObject }) => involvedObject.kind === kind && involvedObject.name === name)
      .map(({ message }) => message);
  const isRunning = async (name: string): Promise<boolean> =>
    (await scenario.kube.find(POD, { name, namespace: 'default' }))?.status?.phase === 'Running';

  beforeAll(async () => {
    scenario = await startScenario();
    agent = runAgent();
    await scenario.apply(...scenario.example('ec2nodeclass.yaml'), agentPool(), pool({ name: 'plain' }));
    await scenario.kube.create(POD, podOf('choosy', { nodeSelector: { team: 'a' } }));
    const ignored = podOf('ignored', {
      schedulerName: 'elsewhere',
      nodeSelector: { 'karpenter.sh/nodepool': 'plain' },
    });
    await scenario.kube.create(POD, ignored);
    const conditions = [{ type: 'PodScheduled', status: 'False', reason: 'Unschedulable' }];
    const status = { phase: 'Pending', conditions };
    await scenario.kube.patch(POD, { name: 'ignored', namespace: 'default' }, { status }, { subresource: 'status' });
    await scenario.until('a first node of each NodePool', () => boughtFor('agents') > 0 && boughtFor('plain') > 0);
    await scenario.pass(10 * 60_000);
  }, 90_000);
  afterAll(async () => {
    isOver = true;
    await agent;
    await scenario.stop();
  }, 60_000);

  it('leads to at most two nodes in ten minutes if the nodes lack a label, and the label is reported', async () => {
    expect(boughtFor('agents')).toBe(2);
    const lack = 'the node does not have the label team, but the pod selects team In [a]';
    expect((await eventsOf('NotBound', 'Pod', 'choosy')).join()).toContain(lack);
    expect((await eventsOf('NotBound', 'NodePool', 'agents')).join()).toContain(lack);
    expect((await eventsOf('PodHeld', 'Pod', 'choosy')).join()).toContain(lack);
    expect(await scenario.debug('holds')).toMatchObject([
      { pod: 'default/choosy', code: 'not-bound', text: expect.stringContaining(lack), times: 1 },
    ]);
    await scenario.until('the nodes to be given back', async () =>
      (await scenario.nodes()).every(({ metadata }) => metadata.labels?.['karpenter.sh/nodepool'] !== 'agents'),
    );
  });

  it('leads to one node if its scheduler ignores it, and the scheduler is reported', async () => {
    expect(boughtFor('plain')).toBe(1);
    const text = 'the scheduler elsewhere has not bound the pod';
    expect((await eventsOf('NotBound', 'Pod', 'ignored')).join()).toContain(text);
    expect((await eventsOf('NotBound', 'NodePool', 'plain')).join()).toContain(text);
  });

  it('gets a node as soon as the cause is fixed', async () => {
    stripsLabel = false;
    await scenario.kube.patch(NODE_POOL, { name: 'agents' }, { spec: { weight: 5 } });
    await scenario.kube.delete(POD, { name: 'ignored', namespace: 'default' });
    await scenario.kube.create(POD, podOf('scheduled', { nodeSelector: { 'karpenter.sh/nodepool': 'plain' } }));
    await scenario.until('both to run', async () => (await isRunning('choosy')) && (await isRunning('scheduled')));
  });
});
