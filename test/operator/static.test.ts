/** NodePools with a fixed number of nodes, which a user scales. */
import { afterEach, describe, expect, it } from '@jest/globals';
import { type KubeObject, NODE_POOL, type NodePool } from '#api/objects';
import type { Verdict } from '#engine/disruption';
import { collectionPath } from '../support/kube-api.ts';
import { deployment, type Scenario, startScenario } from './harness.ts';
import { apart, BRISK, commands, leaks, type PoolShape, pool } from './pools.ts';

let scenario: Scenario;
afterEach(async () => {
  await scenario.stop();
});

function staticPool(replicas: number, shape: PoolShape = {}, limits?: Record<string, string>): KubeObject {
  const made = pool({ name: 'fixed', cpus: [2], ...shape }) as NodePool;
  return { ...made, spec: { ...made.spec, replicas, ...(limits === undefined ? {} : { limits }) } } as KubeObject;
}

const begin = async (...objects: readonly KubeObject[]): Promise<void> => {
  scenario = await startScenario(BRISK);
  await scenario.apply(...scenario.example('ec2nodeclass.yaml'), ...objects);
};

/** Sends the same request as `kubectl scale nodepool fixed --replicas=…`. */
const scale = (replicas: number): Promise<unknown> =>
  scenario.kube.raw(
    'PATCH',
    `${collectionPath(NODE_POOL)}/fixed/scale`,
    { spec: { replicas } },
    'application/merge-patch+json',
  );

const nodesOf = (count: number): Promise<true> =>
  scenario.until(
    `tidy world of ${count} nodes`,
    async () =>
      (await scenario.nodes()).length === count &&
      scenario.instances().length === count &&
      (await leaks(scenario)).length === 0,
    60_000,
  );

describe('a static NodePool', () => {
  it('has the number of nodes that kubectl scale requests, and removes nodes without pods first', async () => {
    await begin(staticPool(2));
    await nodesOf(2);
    await scenario.until(
      'the number of nodes in its status',
      async () => (await scenario.kube.find(NODE_POOL, { name: 'fixed' }))?.status?.nodes === 2,
    );
    await scenario.apply(deployment('web', 2, apart('web')));
    await scenario.until('running pods', async () => (await scenario.running('web')).length === 2);
    const housing = new Set((await scenario.pods('web')).map(({ spec }) => spec.nodeName));

    await scale(4);
    await nodesOf(4);
    await scale(2);
    await nodesOf(2);
    expect(new Set((await scenario.nodes()).map(({ metadata }) => metadata.name))).toEqual(housing);
    expect(await scenario.running('web')).toHaveLength(2);
    // no other controller acted: no consolidation of idle nodes, no launch for pods
    expect(commands(scenario)).toEqual([]);

    await scale(0);
    await nodesOf(0);
    await scenario.pass(60_000);
    expect(scenario.instances()).toEqual([]);
  }, 300_000);

  it('replaces drifted nodes if its limit allows an additional node', async () => {
    await begin(staticPool(2, {}, { nodes: '3' }));
    await nodesOf(2);
    const before = new Set(scenario.instances().map(({ id }) => id));

    await scenario.apply(staticPool(2, { labels: { tier: 'gold' } }, { nodes: '3' }));
    let most = 0;
    await scenario.until(
      'new nodes only',
      () => {
        const present = scenario.instances();
        most = Math.max(most, present.length);
        return present.length === 2 && present.every(({ id }) => !before.has(id));
      },
      90_000,
    );
    await nodesOf(2);
    expect(most).toBe(3);
    for (const node of await scenario.nodes()) expect(node.metadata.labels?.tier).toBe('gold');
    expect(commands(scenario)).toHaveLength(2);
  }, 300_000);

  it('keeps drifted nodes at its limit and names the limit, until the limit allows an additional node', async () => {
    await begin(staticPool(2, {}, { nodes: '2' }));
    await nodesOf(2);
    const before = new Set(scenario.instances().map(({ id }) => id));

    await scenario.apply(staticPool(2, { labels: { tier: 'gold' } }, { nodes: '2' }));
    const verdicts = async (): Promise<readonly Verdict[]> => (await scenario.debug('verdicts')) as readonly Verdict[];
    await scenario.until('a verdict about the limit for both nodes', async () => {
      const found = await verdicts();
      return found.length === 2 && found.every(({ code }) => code === 'limits');
    });
    for (const verdict of await verdicts())
      expect(verdict).toMatchObject({
        object: { kind: 'NodePool', name: 'fixed' },
        text: 'a replacement would exceed the limit of its NodePool: nodes 2 of 2 in use',
        nearestMiss: 'spec.limits.nodes of 3 would allow one replacement at a time',
      });
    await scenario.until('an event on both nodes', async () => {
      const messages = (await scenario.events('DisruptionVerdict')).map(({ message }) => message);
      return messages.filter((message) => message.endsWith('[limits]')).length === 2;
    });
    await scenario.pass(5 * 60_000);
    expect(new Set(scenario.instances().map(({ id }) => id))).toEqual(before);
    expect(commands(scenario)).toEqual([]);

    await scenario.kube.patch(NODE_POOL, { name: 'fixed' }, { spec: { limits: { nodes: '3' } } });
    await scenario.until('new nodes only', () => scenario.instances().every(({ id }) => !before.has(id)), 90_000);
    await nodesOf(2);
  }, 300_000);
});
