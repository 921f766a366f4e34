/** Windows of NodePolicies in the operator: nodes wait for the next opening. */
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { NODE_POLICY, NODE_POOL, type NodePolicy } from '#api/objects';
import { VerdictHistory } from '#engine/disruption';
import { World } from './harness.ts';

let world: World;
let history: VerdictHistory;
beforeEach(() => {
  world = new World();
  history = new VerdictHistory();
});
afterEach(() => world.kill());

type Windows = NonNullable<NodePolicy['spec']['windows']>;
const timeIn = (minutes: number): string => new Date(world.clock.now() + minutes * 60_000).toISOString().slice(11, 16);
/** Creates a policy whose windows open in a quarter of an hour. */
const policy = (reasons?: Windows['allowed'][number]['reasons']): unknown =>
  world.kube.create(NODE_POLICY, {
    apiVersion: 'karpenter-ts.sh/v1alpha1',
    kind: 'NodePolicy',
    metadata: { name: 'later' },
    spec: { windows: { allowed: [{ start: timeIn(15), end: timeIn(60), ...(reasons !== undefined && { reasons }) }] } },
  });

describe('a window', () => {
  it('keeps empty nodes until it opens, and appears in their verdicts', async () => {
    world.nodePool();
    world.deploy('large', 3, '6');
    world.start([], history);
    await world.pass(30);
    policy();
    await world.pass(5);
    world.deploy('large', 0);
    world.removePods(...world.pods);
    await world.pass(600);
    expect(world.nodes).toHaveLength(3);
    const verdicts = history.verdicts(world.cluster.nodes(), world.clock.now());
    expect(verdicts.map(({ code }) => code)).toEqual(['budget', 'budget', 'budget']);
    expect(JSON.stringify(verdicts)).toMatch(/by the windows of NodePolicy later until \d{4}-/);
    await world.pass(480);
    expect(world.nodes).toEqual([]);
  });

  it('allows the replacement of a drifted node while it is open', async () => {
    world.nodePool();
    world.deploy('web', 1);
    policy(['Empty']);
    world.start([], history);
    await world.pass(60);
    const [old] = world.claims;
    const metadata = { labels: { 'example.com/generation': '2' } };
    world.kube.patch(NODE_POOL, { name: 'default' }, { spec: { template: { metadata } } });
    await world.pass(120);
    expect(world.claims.map(({ metadata }) => metadata.uid)).not.toContain(old?.metadata.uid);
    expect(world.claims).toHaveLength(1);
  });

  it('holds back the end of expireAfter only if it names Expired', async () => {
    const expiring = (): unknown =>
      world.nodePool('default', {
        template: {
          spec: {
            nodeClassRef: { group: 'karpenter.k8s.aws', kind: 'EC2NodeClass', name: 'default' },
            requirements: [],
            expireAfter: '5m',
          },
        },
        disruption: { consolidateAfter: 'Never' },
      });
    for (const [reasons, isKept] of [
      [undefined, false],
      [['Expired'], true],
    ] as const) {
      world.kill();
      world = new World();
      expiring();
      world.deploy('web', 1);
      policy(reasons);
      world.start();
      await world.pass(30);
      const [first] = world.claims;
      const isThere = (): boolean => world.claims.some(({ metadata }) => metadata.uid === first?.metadata.uid);
      await world.pass(600);
      expect({ reasons, isThere: isThere() }).toEqual({ reasons, isThere: isKept });
      await world.pass(900);
      expect(isThere()).toBe(false);
    }
  });
});
