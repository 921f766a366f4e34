/**
 * Nodes whose pods are not bound, in virtual time: launches stop after two, report the cause, and resume when the cause
 * may be gone.
 */
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { NODE, NODE_POOL, type Node, type NodePool, POD, type Pod } from '#api/objects';
import { matchesNodeSelection } from '#local/testing';
import { World } from '../harness.ts';

const MINUTE = 60;

let world: World;
/** Changes each Node every second without the operator. */
let meddle: (node: Node) => void;
/** Decides if the scheduler considers a pod. */
let schedules: (pod: Pod) => boolean;

beforeEach(() => {
  world = new World();
  meddle = () => undefined;
  schedules = () => true;
  const bindAll = world.bindPods.bind(world);
  // kube-scheduler compares labels, but the scheduler of the harness does not.
  world.bindPods = () => {
    for (const node of world.nodes) meddle(node);
    const hidden = world.pods.filter(
      (pod) => !pod.spec.nodeName && !(schedules(pod) && world.nodes.some((node) => matchesNodeSelection(pod, node))),
    );
    const all = Object.getOwnPropertyDescriptor(World.prototype, 'pods')?.get?.call(world) as readonly Pod[];
    Object.defineProperty(world, 'pods', { configurable: true, get: () => all.filter((pod) => !hidden.includes(pod)) });
    bindAll();
    delete (world as unknown as Record<string, unknown>).pods;
  };
});
afterEach(() => world.kill());

function teamPool(): NodePool {
  const pool = world.nodePool('model');
  world.kube.delete(NODE_POOL, { name: 'model' });
  const requirements = [{ key: 'team', operator: 'In' as const, values: ['a', 'b'] }];
  const template = { ...pool.spec.template, spec: { ...pool.spec.template.spec, requirements } };
  return world.nodePool('default', { template });
}

let serial = 0;
function podOf(spec: Partial<Pod['spec']> = {}, name = `p-${serial++}`): Pod {
  return world.kube.create(POD, {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace: 'default', uid: `uid-${serial++}` },
    spec: {
      containers: [{ name: 'main', resources: { requests: { cpu: '1' } } }],
      nodeSelector: { team: 'a' },
      ...spec,
    },
    status: { phase: 'Pending', conditions: [{ type: 'PodScheduled', status: 'False', reason: 'Unschedulable' }] },
  });
}

const strip = (node: Node): void => {
  if (node.metadata.labels?.team) world.kube.patch(NODE, node.metadata, { metadata: { labels: { team: null } } });
};
const begin = async (): Promise<void> => {
  world.start();
  await world.pass(2);
};
const told = (reason: string, kind = 'Pod') =>
  world.events.filter((event) => event.reason === reason && event.object.kind === kind).map(({ message }) => message);
const isBound = (pod: Pod): boolean => Boolean(world.kube.find(POD, pod.metadata)?.spec.nodeName);

/** Reports whether the node has room for another such pod. */
const hasRoom = ({ metadata }: Node): boolean =>
  metadata.labels?.['karpenter.sh/initialized'] === 'true' &&
  !metadata.deletionTimestamp &&
  !world.pods.some(({ spec }) => spec.nodeName === metadata.name);

async function boundWithin(pod: Pod, seconds: number): Promise<boolean> {
  for (let second = 0; second < seconds && !isBound(pod); second += 1) await world.pass(1);
  return isBound(pod);
}

describe('a node without the label that a pod selects', () => {
  beforeEach(async () => {
    teamPool();
    meddle = strip;
    await begin();
  });

  it('is launched twice in ten minutes, and events contain the label', async () => {
    const pod = podOf();
    await world.pass(10 * MINUTE);
    expect(world.cloud.creations).toBe(2);
    const lack = 'the node does not have the label team, but the pod selects team In [a]';
    expect(told('NotBound')).toContain(`Pod is not bound to node/node-1, although it is initialized: ${lack}`);
    expect(told('NotBound', 'NodePool')).toContain(
      `Pod default/${pod.metadata.name} is not bound to node/node-1 of this NodePool, which was launched for it: ${lack}`,
    );
    expect(told('PodHeld')[0]).toMatch(
      /^No nodes are launched for this pod until 2026-.*Z: .*does not have the label team/,
    );
    expect(world.lines.filter(({ message }) => message === 'holding back launches')).toHaveLength(1);
  });

  it('is launched at increasing intervals, one after each back-off', async () => {
    podOf();
    await world.pass(60 * MINUTE);
    // Withheld for 5, 10, 20 and 40 minutes.
    expect(world.cloud.creations).toBeGreaterThan(2);
    expect(world.cloud.creations).toBeLessThanOrEqual(5);
  });

  it('is not launched by consolidation, which ignores the pod', async () => {
    world.deploy('a', 7);
    await world.pass(15);
    world.deploy('b', 7);
    await world.pass(20);
    podOf();
    await world.pass(3 * MINUTE);
    expect(told('PodHeld')).not.toEqual([]);
    const { creations } = world.cloud;
    world.deploy('a', 5);
    world.deploy('b', 2);
    await world.pass(3 * MINUTE);
    expect(world.nodes).toHaveLength(1);
    expect(world.cloud.creations).toBe(creations);
    const commands = world.lines.filter(({ message }) => message === 'disrupting node(s)');
    expect(commands.at(-1)?.fields).toMatchObject({ decision: 'delete' });
  });

  it('is launched twice for a pod that is deleted and created again every minute', async () => {
    let pod = podOf();
    for (let minute = 0; minute < 10; minute += 1) {
      await world.pass(MINUTE);
      world.removePods(pod);
      pod = podOf();
    }
    expect(world.cloud.creations).toBeLessThanOrEqual(2);
  });

  it('is launched once at a time after the first batch for many such pods', async () => {
    for (let n = 0; n < 100; n += 1) podOf();
    await world.pass(20);
    const first = world.cloud.creations;
    await world.pass(10 * MINUTE);
    expect(world.cloud.creations).toBeLessThanOrEqual(first + 1);
    expect(told('PodHeld').length).toBeGreaterThanOrEqual(100);
  });

  it('does not slow launches for other pods', async () => {
    podOf();
    await world.pass(3 * MINUTE);
    expect(await boundWithin(podOf({ nodeSelector: {} }), 20)).toBe(true);
  });

  it('is launched again when the NodePool is edited, and serves the pod if the cause is gone', async () => {
    const pod = podOf();
    await world.pass(4 * MINUTE);
    expect(world.cloud.creations).toBe(2);
    meddle = () => undefined;
    world.kube.patch(NODE_POOL, { name: 'default' }, { spec: { weight: 7 } });
    expect(await boundWithin(pod, 30)).toBe(true);
  });

  it('is launched immediately for a pod that selects another label', async () => {
    podOf();
    await world.pass(4 * MINUTE);
    const pod = podOf({ nodeSelector: { 'kubernetes.io/arch': 'amd64' } });
    expect(await boundWithin(pod, 30)).toBe(true);
  });

  it('is launched at most twice more after a restart', async () => {
    podOf();
    await world.pass(4 * MINUTE);
    world.kill();
    await begin();
    await world.pass(10 * MINUTE);
    expect(world.cloud.creations).toBeLessThanOrEqual(4);
  });

  it('is launched a few times if the NodePool is edited every minute', async () => {
    podOf();
    for (let minute = 0; minute < 20; minute += 1) {
      await world.pass(MINUTE);
      world.kube.patch(NODE_POOL, { name: 'default' }, { spec: { weight: minute + 1 } });
    }
    expect(world.cloud.creations).toBeLessThanOrEqual(6);
  });
});

describe('a node that a pod cannot use for another reason', () => {
  it.each([
    {
      why: 'a taint',
      change: { spec: { taints: [{ key: 'agent', value: 'missing', effect: 'NoSchedule' }] } },
      text: 'the node has the taint agent=missing:NoSchedule, which the pod does not tolerate',
    },
    {
      why: 'less room than their instance type should have',
      change: { status: { allocatable: { cpu: '900m', memory: '4Gi', pods: '58' } } },
      text: 'the node has 900m of cpu for pods, but the pod requests 1',
    },
  ])('is launched twice because of $why', async ({ change, text }) => {
    teamPool();
    meddle = (node) => {
      if (node.metadata.labels?.['karpenter.sh/initialized'] !== 'true') return;
      world.kube.patch(NODE, node.metadata, change, 'status' in change ? 'status' : undefined);
    };
    await begin();
    podOf();
    await world.pass(10 * MINUTE);
    expect(world.cloud.creations).toBe(2);
    expect(told('NotBound')[0]).toContain(text);
  });
});

describe('a node that fits its pod', () => {
  it('is launched once if the scheduler of the pod ignores it, and an event reports that', async () => {
    teamPool();
    schedules = ({ spec }) => spec.schedulerName === undefined;
    await begin();
    const pod = podOf({ schedulerName: 'elsewhere' });
    await world.pass(10 * MINUTE);
    expect(world.cloud.creations).toBe(1);
    expect(told('NotBound')[0]).toContain('the node is suitable, but the scheduler elsewhere has not bound');
    expect(told('NotBound', 'NodePool')).not.toEqual([]);
    schedules = () => true;
    expect(await boundWithin(pod, 5)).toBe(true);
  });

  it('is reported even if it existed before the pod', async () => {
    teamPool();
    await begin();
    expect(await boundWithin(podOf(), 30)).toBe(true);
    schedules = () => false;
    podOf({ containers: [{ name: 'main', resources: { requests: { cpu: '100m' } } }] });
    await world.pass(MINUTE);
    expect(told('NotBound')).toEqual([]);
    await world.pass(2 * MINUTE);
    expect(told('NotBound')).not.toEqual([]);
    expect(world.cloud.creations).toBe(1);
  });

  it('is not reported while the pod can still be bound in time', async () => {
    teamPool();
    schedules = () => false;
    await begin();
    const pod = podOf();
    await world.pass(20);
    schedules = () => true;
    expect(await boundWithin(pod, 5)).toBe(true);
    expect(world.eventReasons()).not.toContain('NotBound');
  });
});

describe('a pod whose node is always used by another pod', () => {
  it('gets a new node without delay every time', async () => {
    teamPool();
    schedules = ({ metadata }) => metadata.name !== 'victim';
    await begin();
    const victim = podOf({}, 'victim');
    for (let round = 0; round < 6; round += 1) {
      let free: readonly Node[] = [];
      for (let second = 0; second < 25 && free.length === 0; second += 1) {
        await world.pass(1);
        free = world.nodes.filter(hasRoom);
      }
      expect(free).toHaveLength(1);
      await world.pass(5);
      for (const { metadata } of free) podOf({ nodeName: metadata.name, nodeSelector: {} });
    }
    expect(world.eventReasons()).not.toContain('PodHeld');
    schedules = () => true;
    expect(await boundWithin(victim, 30)).toBe(true);
  });
});

describe('a deleted pod', () => {
  it('does not count as a failure', async () => {
    teamPool();
    meddle = strip;
    await begin();
    for (let round = 0; round < 4; round += 1) {
      const pod = podOf({ priority: round });
      await world.pass(12);
      world.removePods(pod);
      await world.pass(6 * MINUTE);
    }
    expect(told('PodHeld')).toEqual([]);
  });
});
