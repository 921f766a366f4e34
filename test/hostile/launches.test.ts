/** Unproductive launches for pods of leaving nodes and for capacity buffers: an agent taints new nodes. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { CAPACITY_BUFFER, NODE, NODE_CLAIM, NODE_POOL, POD, POD_DISRUPTION_BUDGET, POD_TEMPLATE } from '#api/objects';
import { openPool, smallPod } from './healthy.ts';
import { type HostileWorld, startHostileWorld } from './hostile-world.ts';
import { expectBounded } from './memory.ts';

const OPEN = { 'karpenter.sh/nodepool': 'open' };
const AGENT = { key: 'agent', effect: 'NoSchedule' } as const;
const ROUNDS = 8;
const ROUND_MS = 15_000;

let hostile: HostileWorld;
let agent: Promise<void> | undefined;
let isOver = false;
const spared = new Set<string>();

async function taintNewNodes(): Promise<void> {
  while (!isOver) {
    for (const { metadata, spec } of (await hostile.kube.list(NODE)).items) {
      const taints = spec?.taints ?? [];
      const isNew =
        metadata.labels?.['karpenter.sh/nodepool'] === 'open' && !taints.some(({ key }) => key === AGENT.key);
      if (!isNew || spared.has(metadata.name)) continue;
      const patch = {
        metadata: { resourceVersion: metadata.resourceVersion },
        spec: { taints: [...taints, AGENT] },
      };
      await hostile.kube.patch(NODE, { name: metadata.name }, patch).catch(() => undefined);
    }
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

const launched = (): number =>
  hostile
    .since()
    .filter(
      ({ message, NodePool }) => message === 'created nodeclaim' && (NodePool as { name?: string }).name === 'open',
    ).length;

/** Lets time pass while healthy pods get nodes. */
async function rounds(): Promise<void> {
  for (let round = 0; round < ROUNDS; round += 1) {
    await hostile.expectHealthy();
    await hostile.clock.sleep(ROUND_MS);
  }
}

beforeAll(async () => {
  hostile = await startHostileWorld({ furniture: [[NODE_POOL, openPool()]] });
});
afterAll(async () => {
  isOver = true;
  await agent;
  await hostile.stop();
});

describe('the operator', () => {
  const running = {
    ...smallPod('leaving', OPEN),
    metadata: { name: 'leaving', namespace: 'default', labels: { app: 'leaving' } },
  };
  const pod = { ...running, spec: { ...running.spec, tolerations: [] } };

  it('launches few nodes for a pod of a draining node while a PodDisruptionBudget blocks the eviction, and healthy pods get nodes', async () => {
    await hostile.kube.create(POD, pod);
    const bound = async (): Promise<string | undefined> =>
      (await hostile.kube.find(POD, { name: 'leaving', namespace: 'default' }))?.spec.nodeName;
    spared.add(await hostile.until('node of the pod', bound));
    await hostile.kube.create(POD_DISRUPTION_BUDGET, {
      apiVersion: 'policy/v1',
      kind: 'PodDisruptionBudget',
      metadata: { name: 'leaving', namespace: 'default' },
      spec: { minAvailable: 1, selector: { matchLabels: { app: 'leaving' } } },
    });
    agent = taintNewNodes();
    hostile.mark();
    for (const { metadata } of (await hostile.kube.list(NODE_CLAIM)).items)
      if (metadata.labels?.['karpenter.sh/nodepool'] === 'open')
        await hostile.kube.delete(NODE_CLAIM, { name: metadata.name });
    await hostile.until('first launch', () => launched() > 0);
    await rounds();
    expect(launched()).toBeLessThanOrEqual(4);
    await hostile.kube.delete(POD_DISRUPTION_BUDGET, { name: 'leaving', namespace: 'default' });
    await hostile.kube.delete(POD, { name: 'leaving', namespace: 'default' }, { gracePeriodSeconds: 0 });
  });

  it('launches few nodes for capacity buffers that replace each other with different requests, and healthy pods get nodes', async () => {
    hostile.mark();
    for (let round = 0; round < ROUNDS; round += 1) {
      const containers = [{ name: 'main', resources: { requests: { cpu: `${1000 + round}m` } } }];
      await hostile.kube.create(POD_TEMPLATE, {
        apiVersion: 'v1',
        kind: 'PodTemplate',
        metadata: { name: `small-${round}`, namespace: 'default' },
        template: { spec: { nodeSelector: OPEN, containers } },
      });
      await hostile.kube.create(CAPACITY_BUFFER, {
        apiVersion: 'autoscaling.x-k8s.io/v1beta1',
        kind: 'CapacityBuffer',
        metadata: { name: `spare-${round}`, namespace: 'default' },
        spec: { replicas: 1, podTemplateRef: { name: `small-${round}` } },
      });
      await hostile.clock.sleep(ROUND_MS);
      await hostile.kube.delete(CAPACITY_BUFFER, { name: `spare-${round}`, namespace: 'default' });
      await hostile.expectHealthy();
    }
    expect(launched()).toBeLessThanOrEqual(6);
  });

  it('keeps its memory bounded', () => expectBounded(hostile));
});
