/** Observed NodePools, and an operator that only observes: decisions are reported and not carried out. */
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { CAPACITY_BUFFER, NODE_CLAIM, NODE_POLICY, NODE_POOL, POD_TEMPLATE } from '#api/objects';
import { VerdictHistory } from '#engine/disruption';
import { type LoggedDecision, newHistory, type Observed } from '#observe/history';
import { World } from './harness.ts';

let world: World;
let history: VerdictHistory;
beforeEach(() => {
  world = newWorld();
  history = new VerdictHistory();
});
afterEach(() => world.kill());

function newWorld(): World {
  const made = new World();
  made.costHistory = newHistory();
  return made;
}

const observe = (names: readonly string[], of: World = world): unknown =>
  of.kube.create(NODE_POLICY, {
    apiVersion: 'karpenter-ts.sh/v1alpha1',
    kind: 'NodePolicy',
    metadata: { name: 'watched' },
    spec: { nodePools: { names: [...names] }, mode: 'Observe' },
  });
const entriesOf = (of: World): readonly LoggedDecision[] => of.costHistory?.decisions.entries ?? [];
const observed = (of: World = world): readonly Observed[] =>
  entriesOf(of).filter((entry): entry is Observed => entry.kind === 'observed');
const texts = (): readonly string[] =>
  history.verdicts(world.cluster.nodes(), world.clock.now()).map(({ code, text }) => `${code}: ${text}`);
const counted = async (decision: string): Promise<number> => {
  const text = await world.metrics.text();
  const lines = text.split('\n').filter((line) => line.startsWith('karpenter_observed_decisions_total{'));
  return lines
    .filter((line) => line.includes(`decision="${decision}"`))
    .reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0);
};

/** Starts with three nodes that become empty. */
async function withEmptyNodes(of: World, args: readonly string[] = []): Promise<void> {
  of.nodePool();
  of.deploy('large', 3, '6');
  of.start(args, history);
  await of.pass(30);
  expect(of.nodes).toHaveLength(3);
}
function empty(of: World): void {
  of.deploy('large', 0);
  of.removePods(...of.pods);
}

const EXPIRING = {
  spec: {
    nodeClassRef: { group: 'karpenter.k8s.aws', kind: 'EC2NodeClass', name: 'default' },
    requirements: [],
    expireAfter: '5m',
  },
};

describe('an observed NodePool', () => {
  it('gets no NodeClaim: the launch is reported once, with its price, and carried out after the policy is gone', async () => {
    world.nodePool();
    observe(['default']);
    world.start();
    await world.pass(2);
    world.pending(3);
    await world.pass(60);
    expect(world.claims).toEqual([]);
    expect(observed()).toMatchObject([
      {
        decision: 'launch',
        reason: 'provisioned',
        nodePools: ['default'],
        pods: 3,
        text: expect.stringMatching(/^would launch \S+ for 3 pods at \$\d\.\d{4} an hour$/),
      },
    ]);
    expect(await counted('launch')).toBe(1);
    const messages = (reason: string) =>
      world.events.filter((each) => each.reason === reason).map((each) => each.message);
    expect(messages('WouldAct')[0]).toMatch(/^Observed, not carried out: would launch /);
    expect(messages('PodHeld')[0]).toMatch(/: NodePool default is observed \(NodePolicy watched\), would launch /);

    world.kube.delete(NODE_POLICY, { name: 'watched' });
    await world.pass(60);
    expect(world.claims).toHaveLength(1);
  });

  it('keeps its empty nodes, and their verdicts name the decision', async () => {
    await withEmptyNodes(world);
    observe(['default']);
    await world.pass(2);
    empty(world);
    await world.pass(300);
    expect(world.nodes).toHaveLength(3);
    expect(world.disruptedNodes()).toEqual([]);
    expect(texts()).toEqual(
      Array(3).fill(
        expect.stringMatching(
          /^observed: would delete nodes .+, saves \$\d\.\d{4} an hour; observed \(NodePolicy watched\)$/,
        ),
      ),
    );
    expect(observed()).toHaveLength(1);
    expect(await counted('delete')).toBe(1);
  });

  it('does not hold back another NodePool', async () => {
    world.nodePool('other', { weight: 10 });
    world.deploy('first', 1, '6');
    world.start();
    await world.pass(30);
    world.kube.patch(NODE_POOL, { name: 'other' }, { spec: { limits: { cpu: '1' } } });
    world.nodePool();
    world.deploy('large', 2, '6');
    await world.pass(60);
    const poolsOf = () => world.claims.map(({ metadata }) => metadata.labels?.['karpenter.sh/nodepool']).sort();
    expect(poolsOf()).toEqual(['default', 'default', 'other']);
    observe(['default']);
    await world.pass(2);
    world.deploy('large', 0);
    world.deploy('first', 0);
    world.removePods(...world.pods);
    await world.pass(120);
    expect(poolsOf()).toEqual(['default', 'default']);
    expect(observed().length).toBeGreaterThan(0);
  });

  it('keeps expired nodes, and reports each once', async () => {
    world.nodePool('default', { template: EXPIRING, disruption: { consolidateAfter: 'Never' } });
    world.deploy('web', 1);
    world.start();
    await world.pass(30);
    const [first] = world.claims;
    observe(['default']);
    await world.pass(600);
    expect(
      world.kube.find(NODE_CLAIM, { name: first?.metadata.name ?? '' })?.metadata.deletionTimestamp,
    ).toBeUndefined();
    expect(observed().filter(({ reason }) => reason === 'expired')).toHaveLength(1);
  });

  it('gets no replicas if it is static', async () => {
    world.start(['--feature-gates=StaticCapacity=true']);
    observe(['static']);
    await world.pass(2);
    world.nodePool('static', { replicas: 2 });
    await world.pass(90);
    expect(world.claims).toEqual([]);
    expect(observed()).toMatchObject([{ text: 'would launch 2 of the nodes of static NodePool static' }]);
  });

  it('makes the first decisions of a twin that acts', async () => {
    const twin = newWorld();
    try {
      await withEmptyNodes(world);
      await withEmptyNodes(twin);
      observe(['default']);
      await world.pass(2);
      await twin.pass(2);
      for (const each of [world, twin]) {
        each.pending(2, '7', 'more');
        await each.pass(20);
      }
      const bought = entriesOf(twin)
        .filter((entry) => entry.kind === 'bought')
        .slice(3);
      const launches = observed().filter(({ decision }) => decision === 'launch');
      expect(launches.map(({ pods, usdPerHour }) => ({ pods, usdPerHour }))).toEqual(
        bought.map(({ pods, usdPerHour }) => ({ pods, usdPerHour })),
      );
      world.removePods(...world.pods.filter(({ metadata }) => metadata.labels?.app === 'more'));
      empty(world);
      empty(twin);
      await world.pass(120);
      await twin.pass(120);
      const [disrupted] = entriesOf(twin).filter((entry) => entry.kind === 'disrupted');
      const [command] = observed().filter(({ decision }) => decision !== 'launch');
      expect(command?.reason).toBe(disrupted?.reason);
      expect(command?.decision).toBe(disrupted?.decision);
    } finally {
      twin.kill();
    }
  });
});

/** Creates a buffer of two virtual pods of 6 CPUs. */
function addBuffer(): void {
  const metadata = { name: 'spare', namespace: 'default' };
  world.kube.create(POD_TEMPLATE, {
    apiVersion: 'v1',
    kind: 'PodTemplate',
    metadata,
    template: { spec: { containers: [{ name: 'main', resources: { requests: { cpu: '6' } } }] } },
  });
  world.kube.create(CAPACITY_BUFFER, {
    apiVersion: 'autoscaling.x-k8s.io/v1beta1',
    kind: 'CapacityBuffer',
    metadata,
    spec: { replicas: 2, podTemplateRef: { name: 'spare' } },
  });
}
const GATES = '--feature-gates=CapacityBuffer=true,StaticCapacity=true';
/** Removes the writes of the test and of its scheduler. */
const since = (before: number): readonly string[] =>
  world.kube.writes.slice(before).filter((write) => !write.endsWith(' pods'));
const setReplicas = (replicas: number): unknown =>
  world.kube.patch(NODE_POOL, { name: 'static' }, { spec: { replicas } });
const isReported = (text: string): boolean => observed().some((entry) => entry.text.includes(text));

/** Starts with two nodes of a static NodePool and an empty node of another NodePool. */
async function withStaticNodes(): Promise<void> {
  await withEmptyNodes(world, [GATES]);
  world.nodePool('static', { replicas: 2 });
  await world.pass(60);
  expect(world.nodes).toHaveLength(5);
}

describe('a static NodePool and a capacity buffer', () => {
  it('are reported without a write to NodeClaims and Nodes by a policy with mode Observe', async () => {
    await withStaticNodes();
    observe(['default', 'static']);
    await world.pass(2);
    const before = world.kube.writes.length;
    addBuffer();
    setReplicas(3);
    await world.pass(60);
    setReplicas(1);
    await world.pass(120);
    expect(isReported('would launch 1 of the nodes of static NodePool static')).toBe(true);
    expect(isReported('would delete 1 of the nodes of static NodePool static')).toBe(true);
    expect(observed().filter(({ reason, pods }) => reason === 'provisioned' && (pods ?? 0) > 0)).not.toEqual([]);
    expect(await counted('launch')).toBeGreaterThanOrEqual(2);
    expect(await counted('delete')).toBeGreaterThanOrEqual(1);
    expect(since(before).filter((write) => / (nodes|nodeclaims)$/.test(write))).toEqual([]);
    expect(world.errors()).toEqual([]);
  });

  it('are reported without a write of any kind by an operator that observes', async () => {
    await withStaticNodes();
    world.kill();
    const before = world.kube.writes.length;
    world.start(['--mode=observe', GATES], history);
    await world.pass(10);
    addBuffer();
    setReplicas(3);
    await world.pass(60);
    setReplicas(1);
    await world.pass(120);
    expect(isReported('would launch 1 of the nodes of static NodePool static')).toBe(true);
    expect(isReported('would delete 1 of the nodes of static NodePool static')).toBe(true);
    expect(observed().filter(({ reason }) => reason === 'provisioned')).not.toEqual([]);
    // the writes of this test
    expect(since(before)).toEqual([
      'create podtemplates',
      'create capacitybuffers',
      'patch nodepools',
      'patch nodepools',
    ]);
    expect(world.errors()).toEqual([]);
  });

  it('lets an operator that observes report expired nodes', async () => {
    world.nodePool('default', { template: EXPIRING, disruption: { consolidateAfter: 'Never' } });
    world.deploy('large', 1, '6');
    world.start();
    await world.pass(60);
    world.kill();
    world.start(['--mode=observe'], history);
    const before = world.kube.writes.length;
    await world.pass(360);
    expect(observed().filter(({ reason }) => reason === 'expired')).toHaveLength(1);
    expect(since(before)).toEqual([]);
  });
});

describe('an operator that observes', () => {
  it('writes nothing, and reports a launch and the deletion of empty nodes', async () => {
    await withEmptyNodes(world);
    world.kill();
    empty(world);
    for (const { metadata } of world.claims)
      world.kube.patch(
        NODE_CLAIM,
        metadata,
        {
          status: {
            conditions: [
              ...(world.kube.find(NODE_CLAIM, metadata)?.status?.conditions ?? []),
              {
                type: 'Consolidatable',
                status: 'True',
                reason: 'Consolidatable',
                lastTransitionTime: new Date(world.clock.now()).toISOString(),
              },
            ],
          },
        },
        'status',
      );
    const before = world.kube.writes.length;
    world.start(['--mode=observe'], history);
    await world.pass(60);
    world.pending(5, '7900m', 'more');
    await world.pass(60);
    const written = world.kube.writes.slice(before);
    expect(written.filter((write) => !write.endsWith(' pods'))).toEqual([]);
    expect(world.nodes).toHaveLength(3);
    expect(world.errors()).toEqual([]);
    expect(new Set(observed().map(({ decision }) => decision))).toEqual(new Set(['launch', 'delete']));
    expect(world.cluster.observation.text).toMatch(/MODE=observe/);
  });
});
