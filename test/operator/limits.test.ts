/** Limits of NodePools hold while pods arrive faster than nodes are launched. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type KubeObject, NODE_POOL, type NodePool, POD, type Pod } from '#api/objects';
import { type Scenario, startScenario } from './harness.ts';
import { BRISK, pool } from './pools.ts';

const BATCHES = 10;
const PODS_PER_BATCH = 20;
const BATCH_INTERVAL_MS = 50;

const limitedPool = (nodes: string): KubeObject => {
  const { spec, ...rest } = pool() as NodePool;
  return { ...rest, spec: { ...spec, limits: { nodes } } } as KubeObject;
};

const podOf = (name: string): Pod => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name, namespace: 'default' },
  spec: { containers: [{ name: 'main', image: 'pause', resources: { requests: { cpu: '3' } } }] },
});

// The second window is shorter than the interval, so that a solve starts while NodeClaims of the last solve are created.
describe.each(['1s', '20ms'])('a NodePool with limits.nodes of 7 and a batch window of %s', (window) => {
  let scenario: Scenario;
  const created = (): number => scenario.log.filter(({ message }) => message === 'created nodeclaim').length;
  const runningCount = async (): Promise<number> =>
    (await scenario.pods()).filter(({ status }) => status?.phase === 'Running').length;

  beforeAll(async () => {
    scenario = await startScenario({ ...BRISK, env: { BATCH_IDLE_DURATION: window } });
    await scenario.apply(...scenario.example('ec2nodeclass.yaml'), limitedPool('7'));
    // the operator creates NodeClaims in the real time of HTTP, so the batches arrive in real time too
    const before = scenario.speed(1);
    for (let batch = 0; batch < BATCHES; batch += 1) {
      const names = Array.from({ length: PODS_PER_BATCH }, (_, at) => `p-${batch}-${at}`);
      await Promise.all(names.map((name) => scenario.kube.create(POD, podOf(name))));
      await scenario.world.clock.sleep(BATCH_INTERVAL_MS);
    }
    scenario.speed(before);
    await scenario.until('running pods on seven nodes', async () => (await runningCount()) === 14, 60_000);
  }, 120_000);
  afterAll(() => scenario.stop());

  it('never has more than seven NodeClaims for 200 pods that arrive in ten batches', async () => {
    await scenario.pass(2 * 60_000);
    expect(created()).toBe(7);
    expect(await scenario.claims()).toHaveLength(7);
    expect(scenario.instances()).toHaveLength(7);
    // each plan already counts the NodeClaims of earlier plans, so no creation is refused
    expect(scenario.log.filter(({ error }) => String(error).includes('resource usage'))).toEqual([]);
  });

  it('reports the limit to the pods that wait and on the NodePool', async () => {
    const [reached] = await scenario.events('LimitReached');
    expect(reached).toMatchObject({ involvedObject: { kind: 'NodePool', name: 'default' } });
    expect(reached?.message).toContain('nodes 7 of 7');
    const texts = (await scenario.events('FailedScheduling')).map(({ message }) => message);
    expect(texts.some((text) => text.includes('limit'))).toBe(true);
  });

  it('launches two more nodes if the limit is increased by two', async () => {
    await scenario.kube.patch(NODE_POOL, { name: 'default' }, { spec: { limits: { nodes: '9' } } });
    await scenario.until('running pods on nine nodes', async () => (await runningCount()) === 18, 60_000);
    await scenario.pass(60_000);
    expect(created()).toBe(9);
  });
});
