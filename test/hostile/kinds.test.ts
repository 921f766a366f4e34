/** Extreme built-in objects other than pods, and Nodes with the identity of another Node. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { EVENT, type KubeEvent, NODE, NODE_CLAIM, NODE_POOL, type Node, POD } from '#api/objects';
import { openPool, smallPod } from './healthy.ts';
import { type HostileWorld, startHostileWorld } from './hostile-world.ts';
import { KIND_INPUTS } from './kind-inputs.ts';
import { expectBounded } from './memory.ts';
import { removeOne } from './objects-away.ts';
import { groupsBySize, playObjects } from './play.ts';

let hostile: HostileWorld;
beforeAll(async () => {
  hostile = await startHostileWorld({
    furniture: [[NODE_POOL, openPool()]],
    aws: { stateChangeEvents: true },
    env: { IGNORE_DRA_REQUESTS: 'false' },
  });
});
afterAll(() => hostile.stop());

describe('the operator', () => {
  it.each(groupsBySize(KIND_INPUTS))('survives $names', ({ inputs }) => playObjects(hostile, inputs));

  it('survives a Node with the provider ID of another Node, and its deletion', async () => {
    const { kube } = hostile;
    const pod = smallPod('kept', { 'karpenter.sh/nodepool': 'healthy', 'example.com/node': 'kept' });
    await kube.create(POD, pod);
    const name = await hostile.until(
      'node of the pod',
      async () => (await kube.find(POD, { name: 'kept', namespace: 'default' }))?.spec.nodeName,
    );
    const before = (await kube.find(NODE, { name })) as Node;
    const claims = async (): Promise<readonly string[]> =>
      (await kube.list(NODE_CLAIM)).items
        .filter(({ metadata }) => metadata.labels?.['example.com/node'] === 'kept' && !metadata.deletionTimestamp)
        .map(({ metadata }) => metadata.name);
    const owned = await claims();
    expect(owned).toHaveLength(1);
    for (const labels of [{}, before.metadata.labels ?? {}]) {
      const twin = {
        ...before,
        metadata: { name: 'twin', labels },
        spec: { providerID: before.spec?.providerID ?? '' },
      };
      await kube.create(NODE, twin as Node);
      await hostile.expectHealthy();
      await removeOne(kube, NODE, twin as Node);
      await hostile.expectHealthy();
    }
    expect(await claims()).toEqual(owned);
    expect((await kube.find(NODE, { name }))?.metadata.uid).toBe(before.metadata.uid);
    await removeOne(kube, POD, pod);
  });

  it('survives 4,000 foreign events', async () => {
    const event = (i: number): KubeEvent =>
      ({
        apiVersion: 'v1',
        kind: 'Event',
        metadata: { name: `flood-${i}`, namespace: 'default' },
        involvedObject: { apiVersion: 'karpenter.sh/v1', kind: 'NodePool', name: 'healthy' },
        reason: 'constructor',
        message: 'x'.repeat(1_000),
        type: 'Warning',
        source: { component: 'somebody' },
      }) as unknown as KubeEvent;
    for (let from = 0; from < 4_000; from += 200)
      await Promise.all(Array.from({ length: 200 }, (_, i) => hostile.kube.create(EVENT, event(from + i))));
    await hostile.expectHealthy();
  });

  it('survives all of these objects within its memory limits', () => expectBounded(hostile));
});
