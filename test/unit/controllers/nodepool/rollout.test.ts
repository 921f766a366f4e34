/** Replacement of drifted nodes in stages, by operators that crash. */
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import {
  getCondition,
  isTrue,
  NODE,
  NODE_CLAIM,
  NODE_POLICY,
  NODE_POOL,
  type NodePolicy,
  ROLLOUT_ANNOTATION,
} from '#api/objects';
import { CreateFailed, InsufficientCapacity } from '#cloud';
import { readRollout, VerdictHistory } from '#engine/disruption';
import { World } from '../harness.ts';

let world: World;
let history: VerdictHistory;
beforeEach(() => {
  world = new World();
  history = new VerdictHistory();
});
afterEach(() => world.kill());

type Section = NonNullable<NodePolicy['spec']['rollout']>;
const policy = (section: Partial<Section> = {}): unknown =>
  world.kube.create(NODE_POLICY, {
    apiVersion: 'karpenter-ts.sh/v1alpha1',
    kind: 'NodePolicy',
    metadata: { name: 'careful' },
    spec: { rollout: { canaries: '2', ...section } },
  });

/** Starts one node for each of the pods. Budgets allow all disruptions. */
const begin = async (nodes: number, section?: Partial<Section>): Promise<void> => {
  world.nodePool('default', { disruption: { consolidateAfter: 'Never', budgets: [{ nodes: '100%' }] } });
  world.deploy('web', nodes, '6');
  policy(section);
  world.start([], history);
  await world.pass(60);
  expect(world.nodes).toHaveLength(nodes);
};

let generation = 1;
const edit = (): unknown => {
  generation += 1;
  const metadata = { labels: { 'example.com/generation': `${generation}` } };
  return world.kube.patch(NODE_POOL, { name: 'default' }, { spec: { template: { metadata } } });
};
const nodePool = () => world.kube.find(NODE_POOL, { name: 'default' });
const stage = (): string | undefined => {
  const found = nodePool();
  return found && getCondition(found, 'DriftRollout')?.reason;
};
const old = (uids: ReadonlySet<string | undefined>): number =>
  world.claims.filter(({ metadata }) => uids.has(metadata.uid)).length;
const uids = (): ReadonlySet<string | undefined> => new Set(world.claims.map(({ metadata }) => metadata.uid));

describe('a rollout with good nodes', () => {
  it('replaces the canaries, waits for the soak, and replaces the remaining nodes', async () => {
    await begin(6);
    const before = uids();
    edit();
    await world.pass(120);
    expect(old(before)).toBe(4);
    expect(stage()).toBe('Soak');
    await world.pass(420);
    expect(old(before)).toBe(4);
    await world.pass(400);
    expect(old(before)).toBe(0);
    await world.pass(60);
    expect(stage()).toBeUndefined();
    expect(nodePool()?.metadata.annotations?.[ROLLOUT_ANNOTATION]).toBeUndefined();
    expect(world.events.map(({ reason }) => reason)).not.toContain('RolloutHalted');
  });

  it('replaces the node of a NodePool with one node', async () => {
    await begin(1);
    const before = uids();
    edit();
    await world.pass(120);
    expect(old(before)).toBe(0);
    expect(stage()).toBeUndefined();
  });

  it('replaces all nodes within budgets without the section', async () => {
    world.nodePool('default', { disruption: { consolidateAfter: 'Never', budgets: [{ nodes: '100%' }] } });
    world.deploy('web', 4, '6');
    world.start([], history);
    await world.pass(60);
    const before = uids();
    edit();
    await world.pass(180);
    expect(old(before)).toBe(0);
    expect(stage()).toBeUndefined();
  });

  it('starts again if the NodePool changes during the soak', async () => {
    await begin(6);
    const before = uids();
    edit();
    await world.pass(120);
    expect(stage()).toBe('Soak');
    const first = nodePool();
    const canaries = uids();
    edit();
    await world.pass(120);
    const second = nodePool();
    expect(first && second && readRollout(first)?.target).not.toBe(second && readRollout(second)?.target);
    expect(stage()).toBe('Soak');
    expect(old(canaries)).toBe(4);
    expect(old(before)).toBeGreaterThanOrEqual(2);
  });

  it('replaces another node for a canary that a user deletes', async () => {
    await begin(6);
    const before = uids();
    edit();
    await world.pass(120);
    const canary = world.claims.find(({ metadata }) => !before.has(metadata.uid));
    world.kube.delete(NODE_CLAIM, { name: canary?.metadata.name ?? '' });
    await world.pass(120);
    expect(stage()).toBe('Soak');
    expect(old(before)).toBeGreaterThanOrEqual(3);
  });
});

describe('a rollout with nodes that do not join', () => {
  const isHalted = (): boolean => stage() === 'Halted';

  it('halts with the cause and the remedy, keeps all nodes, and starts again after a change', async () => {
    await begin(8);
    const before = uids();
    world.joining = false;
    edit();
    await world.pass(660);
    expect(isHalted()).toBe(true);
    await world.pass(3600);
    expect(isHalted()).toBe(true);
    expect(old(before)).toBe(8);
    expect(world.cloud.instances.size).toBeLessThanOrEqual(10);
    const condition = getCondition(nodePool() ?? { metadata: { name: '' }, apiVersion: '', kind: '' }, 'DriftRollout');
    expect(condition?.status).toBe('False');
    expect(condition?.message).toMatch(/^NodeClaim default-\w+ was not registered within 10m0s; it starts again when/);
    expect(world.events.filter(({ reason }) => reason === 'RolloutHalted')).toHaveLength(1);
    expect(world.lines.filter(({ message }) => message === 'halted the rollout of the nodepool')).toHaveLength(1);
    const verdicts = history.verdicts(world.cluster.nodes(), world.clock.now());
    expect(verdicts.filter(({ code }) => code === 'rollout')).toHaveLength(8);
    expect(await world.metrics.text()).toContain(
      'karpenter_nodepools_rollout_drifted_nodes{nodepool="default",stage="Halted"} 8',
    );
    world.joining = true;
    edit();
    await world.pass(1500);
    expect(old(before)).toBe(0);
    expect(stage()).toBeUndefined();
  });

  it('writes nothing while it is halted', async () => {
    await begin(4);
    world.joining = false;
    edit();
    await world.pass(1800);
    expect(isHalted()).toBe(true);
    const version = nodePool()?.metadata.resourceVersion;
    await world.pass(1200);
    expect(nodePool()?.metadata.resourceVersion).toBe(version);
  });

  it('tries the same change again if a user removes the record', async () => {
    await begin(4);
    const before = uids();
    world.joining = false;
    edit();
    await world.pass(1800);
    expect(isHalted()).toBe(true);
    world.joining = true;
    world.kube.patch(NODE_POOL, { name: 'default' }, { metadata: { annotations: { [ROLLOUT_ANNOTATION]: null } } });
    await world.pass(1500);
    expect(old(before)).toBe(0);
  });

  it('halts if no leader runs at the deadline', async () => {
    await begin(8);
    const before = uids();
    world.joining = false;
    edit();
    await world.pass(120);
    world.kill();
    await world.pass(1800);
    world.start([], history);
    await world.pass(2400);
    expect(stage()).toBe('Halted');
    expect(old(before)).toBe(8);
  });

  it.each([
    5, 30, 300, 599, 601, 640, 850, 899, 901, 1000,
  ])('halts if the leader crashes after %d s', async (seconds) => {
    await begin(8);
    const before = uids();
    world.joining = false;
    edit();
    await world.pass(seconds);
    world.kill();
    await world.pass(20);
    world.start([], history);
    await world.pass(2400);
    expect(isHalted()).toBe(true);
    expect(old(before)).toBe(8);
    expect(world.cloud.instances.size).toBeLessThanOrEqual(12);
  });
});

describe('a rollout with launches that fail', () => {
  const refuse = (): never => {
    throw new CreateFailed('AMINotFound', 'AMI used for instance launch does not exist');
  };

  it('halts with the cause, keeps all nodes, and starts again after a change', async () => {
    await begin(8);
    const before = uids();
    world.cloud.beforeCreate = refuse;
    edit();
    await world.pass(240);
    expect(stage()).toBe('Canary');
    await world.pass(360);
    expect(stage()).toBe('Halted');
    const attempts = world.lines.filter(({ message }) => message === 'created nodeclaim').length;
    await world.pass(3600);
    expect(stage()).toBe('Halted');
    expect(uids()).toEqual(before);
    expect(world.lines.filter(({ message }) => message === 'created nodeclaim')).toHaveLength(attempts);
    const pool = nodePool();
    expect(pool && readRollout(pool)?.halted).toMatch(
      /^NodeClaim default-\w+ could not be launched, as all others for 5m0s: AMINotFound, AMI used for instance launch/,
    );
    world.cloud.beforeCreate = () => undefined;
    edit();
    await world.pass(1500);
    expect(old(before)).toBe(0);
    expect(stage()).toBeUndefined();
  });

  it.each([5, 60, 290, 299, 301, 320])('halts if the leader crashes after %d s', async (seconds) => {
    await begin(8);
    const before = uids();
    world.cloud.beforeCreate = refuse;
    edit();
    await world.pass(seconds);
    world.kill();
    await world.pass(20);
    world.start([], history);
    await world.pass(900);
    expect(stage()).toBe('Halted');
    expect(uids()).toEqual(before);
  });

  it.each<[string, () => never]>([
    [
      'AWS has no capacity',
      () => {
        throw new InsufficientCapacity('InsufficientInstanceCapacity');
      },
    ],
    [
      'AWS throttles',
      () => {
        throw new CreateFailed('RequestLimitExceeded', 'Request limit exceeded');
      },
    ],
  ])('waits without a halt while %s', async (_, refused) => {
    await begin(4);
    const before = uids();
    world.cloud.beforeCreate = refused;
    edit();
    await world.pass(1800);
    expect(stage()).toBe('Canary');
    expect(old(before)).toBe(4);
    world.cloud.beforeCreate = () => undefined;
    await world.pass(1500);
    expect(old(before)).toBe(0);
  });

  it('continues if a launch succeeds within the time', async () => {
    await begin(4);
    const before = uids();
    world.cloud.beforeCreate = refuse;
    edit();
    await world.pass(200);
    expect(nodePool()?.metadata.annotations?.[ROLLOUT_ANNOTATION]).toContain('"failing"');
    world.cloud.beforeCreate = () => undefined;
    await world.pass(120);
    expect(nodePool()?.metadata.annotations?.[ROLLOUT_ANNOTATION]).not.toContain('"failing"');
    await world.pass(1500);
    expect(old(before)).toBe(0);
    expect(world.events.map(({ reason }) => reason)).not.toContain('RolloutHalted');
  });
});

describe('a rollout of a static NodePool', () => {
  it('replaces the canaries one by one, and halts if a replacement does not join', async () => {
    const disruption = { consolidateAfter: 'Never', budgets: [{ nodes: '100%' }] };
    world.nodePool('default', { replicas: 4, disruption });
    policy();
    const gates = ['--feature-gates=StaticCapacity=true'];
    world.start(gates, history);
    await world.pass(60);
    expect(world.nodes).toHaveLength(4);
    const before = uids();
    edit();
    await world.pass(180);
    expect(old(before)).toBe(2);
    expect(stage()).toBe('Soak');
    world.joining = false;
    edit();
    await world.pass(1500);
    expect(stage()).toBe('Halted');
    expect(old(before)).toBe(2);
    expect(world.nodes.filter((node) => isTrue(node, 'Ready'))).toHaveLength(4);
  });
});

describe('a rollout with nodes that fail', () => {
  it('halts on a condition that only new nodes have', async () => {
    await begin(6);
    const before = uids();
    edit();
    await world.pass(120);
    const [canary] = world.claims.filter(({ metadata }) => !before.has(metadata.uid));
    const node = world.nodes.find(({ spec }) => spec?.providerID === canary?.status?.providerID);
    const conditions = [
      ...(node?.status?.conditions ?? []),
      {
        type: 'DiskPressure',
        status: 'True' as const,
        reason: 'KubeletHasDiskPressure',
        lastTransitionTime: new Date(world.clock.now()).toISOString(),
      },
    ];
    world.kube.patch(NODE, { name: node?.metadata.name ?? '' }, { status: { conditions } }, 'status');
    await world.pass(1800);
    expect(stage()).toBe('Halted');
    expect(old(before)).toBe(4);
    const pool = nodePool();
    expect(pool && readRollout(pool)?.halted).toBe(
      `node ${node?.metadata.name} has the condition DiskPressure=True (KubeletHasDiskPressure)`,
    );
  });

  it('continues if a condition is as frequent on the remaining nodes', async () => {
    await begin(4);
    const before = uids();
    const press = (): void => {
      for (const { metadata, status } of world.nodes) {
        if (status?.conditions?.some(({ type }) => type === 'DiskPressure')) continue;
        const lastTransitionTime = new Date(world.clock.now()).toISOString();
        const conditions = [
          ...(status?.conditions ?? []),
          { type: 'DiskPressure', status: 'True' as const, lastTransitionTime },
        ];
        world.kube.patch(NODE, metadata, { status: { conditions } }, 'status');
      }
    };
    press();
    edit();
    for (let minute = 0; minute < 25; minute++) {
      await world.pass(60);
      press();
    }
    expect(old(before)).toBe(0);
    expect(isTrue(world.nodes[0] ?? { metadata: { name: '' }, apiVersion: '', kind: '' }, 'DiskPressure')).toBe(true);
  });
});
