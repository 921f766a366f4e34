/** Unproductive launches of every origin in virtual time: few are made, and other pods are not affected. */
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { getCondition, isTrue } from '../../../../src/api/conditions.ts';
import { CAPACITY_BUFFER, NODE, NODE_CLAIM, NODE_POOL, POD, POD_TEMPLATE } from '../../../../src/api/kinds.ts';
import type { Node, Pod } from '../../../../src/api/kubernetes.ts';
import type { NodePool } from '../../../../src/api/nodepool.ts';
import { untolerated } from '../../../../src/engine/taints.ts';
import { ApiError } from '../../../../src/kube/client.ts';
import { matchesNodeSelection } from '../../../../src/local/kubernetes/scheduler/selectors.ts';
import { World } from '../harness.ts';

const MINUTE = 60;
const AGENT = { key: 'agent', value: 'missing', effect: 'NoSchedule' } as const;
const TOLERATES_AGENT = { tolerations: [{ key: 'agent', operator: 'Exists' }] } as const;

let world: World;
/** Called for every Node each second. */
let meddle: (node: Node) => void;
let serial: number;

beforeEach(() => {
  world = new World();
  serial = 0;
  meddle = () => undefined;
  world.bindPods = () => {
    for (const node of world.nodes) meddle(node);
    for (const pod of world.pods.filter(({ spec }) => !spec.nodeName)) {
      const node = world.nodes.find((candidate) => takes(candidate, pod));
      if (node === undefined) continue;
      const bound = world.kube.patch(POD, pod.metadata, { spec: { nodeName: node.metadata.name } });
      world.kube.patch(POD, bound.metadata, { status: { phase: 'Running', conditions: [] } }, 'status');
    }
  };
});
afterEach(() => world.kill());

const milli = (text: unknown): number => {
  const amount = String(text ?? '0');
  return amount.endsWith('m') ? Number(amount.slice(0, -1)) : Number(amount) * 1000;
};
const cpuOf = ({ spec }: Pod): number =>
  spec.containers.reduce((sum, { resources }) => sum + milli(resources?.requests?.cpu), 0);

/** A scheduler that knows CPU, selectors and taints. */
function takes(node: Node, pod: Pod): boolean {
  const { spec, status, metadata } = node;
  if (
    !isTrue(node, 'Ready') ||
    metadata.deletionTimestamp ||
    untolerated(pod.spec.tolerations, spec?.taints).length > 0
  )
    return false;
  const used = world.pods
    .filter((other) => other.spec.nodeName === metadata.name)
    .reduce((sum, other) => sum + cpuOf(other), 0);
  return matchesNodeSelection(pod, node) && used + cpuOf(pod) <= milli(status?.allocatable?.cpu);
}

function podOf(spec: Partial<Pod['spec']> = {}, cpu = '1', metadata: Partial<Pod['metadata']> = {}): Pod {
  serial += 1;
  return world.kube.create(POD, {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: `p-${serial}`, namespace: 'default', uid: `uid-${serial}`, ...metadata },
    spec: { containers: [{ name: 'main', resources: { requests: { cpu } } }], ...spec },
    status: { phase: 'Pending', conditions: [{ type: 'PodScheduled', status: 'False', reason: 'Unschedulable' }] },
  });
}

function poolWith(requirements: NodePool['spec']['template']['spec']['requirements']): void {
  const { template } = world.nodePool('model').spec;
  world.kube.delete(NODE_POOL, { name: 'model' });
  world.nodePool('default', { template: { ...template, spec: { ...template.spec, requirements } } });
}

const taintNew = (node: Node): void => {
  const taints = node.spec?.taints ?? [];
  const isNew =
    node.metadata.labels?.['karpenter.sh/registered'] === 'true' && !taints.some(({ key }) => key === 'agent');
  if (isNew && !world.pods.some(({ spec }) => spec.nodeName === node.metadata.name))
    world.kube.patch(NODE, node.metadata, { spec: { taints: [...taints, AGENT] } });
};
const isBound = (pod: Pod): boolean => Boolean(world.kube.find(POD, pod.metadata)?.spec.nodeName);
async function boundWithin(pod: Pod, seconds: number): Promise<boolean> {
  for (let second = 0; second < seconds && !isBound(pod); second += 1) await world.pass(1);
  return isBound(pod);
}
const condition = (name = 'default') => getCondition(world.kube.get(NODE_POOL, { name }), 'LaunchesProductive');
const begin = async (...args: readonly string[]): Promise<void> => {
  world.start(args);
  await world.pass(2);
};

/** Refuses evictions as a PodDisruptionBudget without disruptions left does. */
function blockEvictions(): void {
  const client = world.kube.client.bind(world.kube);
  world.kube.client = (signal) => ({
    ...client(signal),
    evict: async () => {
      throw new ApiError(429, 'TooManyRequests', "Cannot evict pod as it would violate the pod's disruption budget.");
    },
  });
}

describe('a pod of a leaving node with a blocked eviction, while an agent taints new nodes', () => {
  it('has two nodes launched in ten minutes, and few per hour after that', async () => {
    blockEvictions();
    world.nodePool();
    await begin();
    const pod = podOf();
    expect(await boundWithin(pod, 30)).toBe(true);
    const before = world.cloud.creations;
    meddle = taintNew;
    for (const { metadata } of world.claims) world.kube.delete(NODE_CLAIM, metadata);
    await world.pass(10 * MINUTE);
    expect(world.cloud.creations - before).toBe(2);
    expect(condition()).toMatchObject({ status: 'False', reason: 'TaintNotTolerated' });
    await world.pass(60 * MINUTE);
    expect(world.cloud.creations - before).toBeLessThanOrEqual(6);
  });
});

describe('a capacity buffer, while an agent taints new nodes', () => {
  it('has two nodes launched in ten minutes', async () => {
    meddle = taintNew;
    world.nodePool();
    world.kube.create(POD_TEMPLATE, {
      apiVersion: 'v1',
      kind: 'PodTemplate',
      metadata: { name: 'small', namespace: 'default' },
      template: { spec: { containers: [{ name: 'main', resources: { requests: { cpu: '1' } } }] } },
    });
    world.kube.create(CAPACITY_BUFFER, {
      apiVersion: 'autoscaling.x-k8s.io/v1beta1',
      kind: 'CapacityBuffer',
      metadata: { name: 'spare', namespace: 'default' },
      spec: { replicas: 1, podTemplateRef: { name: 'small' } },
    });
    await begin('--feature-gates=CapacityBuffer=true');
    await world.pass(10 * MINUTE);
    expect(world.cloud.creations).toBe(2);
    expect(condition()).toMatchObject({ status: 'False', reason: 'TaintNotTolerated' });
  });
});

describe('a pod that is created anew with other demands each time', () => {
  it.each([
    { what: '1m more CPU', anew: (round: number) => podOf({}, `${1000 + round}m`) },
    { what: 'another namespace', anew: (round: number) => podOf({}, '1', { namespace: `n-${round}` }) },
    {
      what: 'another toleration',
      anew: (round: number) => podOf({ tolerations: [{ key: `t-${round}`, operator: 'Exists' }] }),
    },
    {
      what: 'another scheduler name',
      anew: (round: number) => podOf({ priority: round, schedulerName: `s-${round}` }),
    },
  ])('$what has few nodes launched', async ({ anew }) => {
    meddle = taintNew;
    world.nodePool();
    await begin();
    let pod = anew(0);
    for (let round = 1; round <= 24; round += 1) {
      await world.pass(5);
      world.removePods(pod);
      pod = anew(round);
    }
    expect(world.cloud.creations).toBeLessThanOrEqual(5);
  });

  it('leaves a pod that is not affected its node within seconds', async () => {
    meddle = taintNew;
    world.nodePool();
    await begin();
    for (let round = 1; round <= 24; round += 1) {
      const pod = podOf({}, `${1000 + round}m`);
      await world.pass(5);
      world.removePods(pod);
    }
    podOf();
    expect(await boundWithin(podOf(TOLERATES_AGENT, '7'), 20)).toBe(true);
  });

  it('of ever new causes has few nodes launched, and fewer per hour after that', async () => {
    const keys = Array.from({ length: 30 }, (_, at) => `key-${at}`);
    const requirements = keys.map((key) => ({ key, operator: 'In' as const, values: ['a'] }));
    poolWith(requirements);
    meddle = (node) => {
      const labels = Object.fromEntries(keys.filter((key) => node.metadata.labels?.[key]).map((key) => [key, null]));
      if (Object.keys(labels).length > 0) world.kube.patch(NODE, node.metadata, { metadata: { labels } });
    };
    await begin();
    for (let round = 0; round < 60; round += 1) {
      const pod = podOf({ nodeSelector: { [`key-${round % 30}`]: 'a' } }, `${1000 + round}m`);
      await world.pass(10);
      world.removePods(pod);
    }
    const first = world.cloud.creations;
    expect(first).toBeLessThanOrEqual(10);
    for (let round = 0; round < 360; round += 1) {
      const pod = podOf({ nodeSelector: { [`key-${round % 30}`]: 'a' } }, `${2000 + round}m`);
      await world.pass(10);
      world.removePods(pod);
    }
    expect(world.cloud.creations - first).toBeLessThanOrEqual(5);
    expect(condition()).toMatchObject({ status: 'False', reason: 'SeveralCauses' });
  });

  it('of ever new causes does not slow pods whose like runs on nodes of the NodePool', async () => {
    poolWith(['a', 'b', 'c', 'd'].map((key) => ({ key, operator: 'In' as const, values: ['a'] })));
    await begin();
    expect(await boundWithin(podOf({}, '7'), 30)).toBe(true);
    meddle = (node) => {
      const labels = { a: null, b: null, c: null, d: null };
      if (node.metadata.labels?.a) world.kube.patch(NODE, node.metadata, { metadata: { labels } });
    };
    for (const key of ['a', 'b', 'c', 'd']) podOf({ nodeSelector: { [key]: 'a' } });
    await world.pass(3 * MINUTE);
    const more = Array.from({ length: 20 }, () => podOf({}, '7'));
    await world.pass(30);
    expect(more.filter((pod) => !isBound(pod))).toEqual([]);
  });
});

describe('instances that never join', () => {
  it('are launched again ever less often for pods', async () => {
    world.joining = false;
    world.nodePool();
    await begin();
    for (let n = 0; n < 3; n += 1) podOf({}, '7');
    await world.pass(180 * MINUTE);
    // three together, then one at a time: each time-out takes 15 minutes
    expect(world.cloud.creations).toBeLessThanOrEqual(9);
    expect(condition()).toMatchObject({ status: 'False', reason: 'NodesNeverJoined' });
    world.joining = true;
    world.kube.patch(NODE_POOL, { name: 'default' }, { spec: { weight: 7 } });
    await world.pass(20 * MINUTE);
    expect(world.pods.every(isBound)).toBe(true);
    expect(condition()?.status).toBe('True');
  });

  it('are launched again ever less often for a static NodePool', async () => {
    world.joining = false;
    world.nodePool('default', { replicas: 3 });
    await begin('--feature-gates=StaticCapacity=true');
    await world.pass(180 * MINUTE);
    expect(world.cloud.creations).toBeLessThanOrEqual(9);
    expect(condition()?.reason).toBe('NodesNeverJoined');
  });
});

describe('NodeClaims that are deleted before their nodes are initialized', () => {
  const endNew = (): void => {
    for (const claim of world.claims)
      if (isTrue(claim, 'Launched') && !claim.metadata.deletionTimestamp) world.kube.delete(NODE_CLAIM, claim.metadata);
  };

  it.each([
    { of: 'pods', replicas: undefined },
    { of: 'a static NodePool', replicas: 1 },
  ])('are launched again ever less often for $of', async ({ replicas }) => {
    world.joining = false;
    world.nodePool('default', replicas === undefined ? {} : { replicas });
    await begin('--feature-gates=StaticCapacity=true');
    if (replicas === undefined) podOf();
    meddle = () => undefined;
    const { bindPods } = world;
    world.bindPods = () => {
      endNew();
      bindPods();
    };
    await world.pass(10 * MINUTE);
    expect(world.cloud.creations).toBeLessThanOrEqual(7);
    expect(condition()).toMatchObject({ status: 'False', reason: 'NodesTerminated' });
    const after = world.cloud.creations;
    await world.pass(60 * MINUTE);
    expect(world.cloud.creations - after).toBeLessThanOrEqual(4);
  });

  it('do not count when a static NodePool is made smaller', async () => {
    world.joining = false;
    world.nodePool('default', { replicas: 0 });
    await begin('--feature-gates=StaticCapacity=true');
    for (let round = 0; round < 4; round += 1) {
      world.kube.patch(NODE_POOL, { name: 'default' }, { spec: { replicas: 2 } });
      await world.pass(20);
      world.kube.patch(NODE_POOL, { name: 'default' }, { spec: { replicas: 0 } });
      await world.pass(20);
    }
    expect(world.cloud.creations).toBe(8);
    expect(condition()).toBeUndefined();
  });
});

describe('replacements', () => {
  it('of drifted nodes are not launched for pods that earlier nodes do not serve', async () => {
    world.nodePool();
    await begin();
    const pod = podOf({}, '7');
    expect(await boundWithin(pod, 30)).toBe(true);
    meddle = taintNew;
    const other = podOf({}, '7');
    await world.pass(3 * MINUTE);
    expect(isBound(other)).toBe(false);
    const before = world.cloud.creations;
    world.cloud.drifted = 'AMIDrift';
    await world.pass(6 * MINUTE);
    expect(world.cloud.creations).toBe(before);
    expect(isBound(pod)).toBe(true);
  });

  it('of drifted static nodes are not launched while launches end early', async () => {
    world.nodePool('default', { replicas: 2 });
    await begin('--feature-gates=StaticCapacity=true');
    await world.pass(30);
    expect(world.cloud.creations).toBe(2);
    world.joining = false;
    world.cloud.drifted = 'AMIDrift';
    await world.pass(180 * MINUTE);
    expect(world.cloud.creations).toBeLessThanOrEqual(14);
  });
});

describe('healthy pods', () => {
  it('in a burst are not slowed by a pod that no node serves', async () => {
    meddle = (node) => {
      if (node.metadata.labels?.team) world.kube.patch(NODE, node.metadata, { metadata: { labels: { team: null } } });
    };
    poolWith([{ key: 'team', operator: 'In', values: ['a'] }]);
    await begin();
    podOf({ nodeSelector: { team: 'a' } });
    await world.pass(3 * MINUTE);
    const before = world.cloud.creations;
    const burst = Array.from({ length: 300 }, () => podOf({}, '1'));
    await world.pass(12);
    expect(world.cloud.creations - before).toBeGreaterThanOrEqual(40);
    await world.pass(15);
    expect(burst.every(isBound)).toBe(true);
  });

  it('in a burst are not slowed by a taint that an agent removes half a minute after the initialization', async () => {
    const since = new Map<string, number>();
    meddle = (node) => {
      const { name, labels } = node.metadata;
      if (labels?.['karpenter.sh/registered'] !== 'true') return;
      const seconds = since.get(name) ?? 0;
      since.set(name, seconds + 1);
      const others = (node.spec?.taints ?? []).filter(({ key }) => key !== 'agent');
      if (seconds === 0) world.kube.patch(NODE, node.metadata, { spec: { taints: [...others, AGENT] } });
      if (seconds === 25) world.kube.patch(NODE, node.metadata, { spec: { taints: others } });
    };
    world.nodePool('default', { disruption: { consolidateAfter: '5m', budgets: [{ nodes: '100%' }] } });
    await begin();
    podOf({}, '7');
    podOf({}, '7');
    // the nodes have the taint now
    await world.pass(6);
    const before = world.cloud.creations;
    const burst = Array.from({ length: 100 }, (_, at) => podOf({}, '1', { namespace: `n-${at % 5}` }));
    await world.pass(4);
    expect(world.cloud.creations - before).toBeGreaterThanOrEqual(14);
    await world.pass(40);
    expect(burst.every(isBound)).toBe(true);
    expect(condition()?.status).not.toBe('False');
  });

  it('are not slowed by nodes that serve their pods after they were counted', async () => {
    world.nodePool('default', { disruption: { consolidateAfter: '5m', budgets: [{ nodes: '100%' }] } });
    const since = new Map<string, number>();
    meddle = (node) => {
      const { name, labels } = node.metadata;
      if (labels?.['karpenter.sh/registered'] !== 'true') return;
      const seconds = since.get(name) ?? 0;
      since.set(name, seconds + 1);
      const others = (node.spec?.taints ?? []).filter(({ key }) => key !== 'agent');
      if (seconds === 0) world.kube.patch(NODE, node.metadata, { spec: { taints: [...others, AGENT] } });
      if (seconds === 45) world.kube.patch(NODE, node.metadata, { spec: { taints: others } });
    };
    await begin();
    for (let round = 0; round < 8; round += 1) {
      const pods = Array.from({ length: 3 }, () =>
        podOf({ tolerations: [{ key: `t-${round}`, operator: 'Exists' }] }, '7'),
      );
      await world.pass(80);
      expect(pods.every(isBound)).toBe(true);
    }
    expect(world.launches?.holds()(podOf())).toBeUndefined();
  });

  it('get a node of another NodePool when the nodes of the preferred one do not serve them', async () => {
    world.nodePool('preferred', { weight: 10 });
    world.nodePool('other');
    meddle = (node) => {
      if (node.metadata.labels?.['karpenter.sh/nodepool'] === 'preferred') taintNew(node);
    };
    await begin();
    expect(await boundWithin(podOf(), 3 * MINUTE)).toBe(true);
  });
});

describe('a restart of the operator', () => {
  it('continues the back-off that the condition of the NodePool names', async () => {
    meddle = taintNew;
    world.nodePool();
    await begin();
    podOf();
    await world.pass(4 * MINUTE);
    expect(world.cloud.creations).toBe(2);
    for (let round = 0; round < 5; round += 1) {
      world.kill();
      await begin();
      await world.pass(MINUTE);
    }
    expect(world.cloud.creations).toBe(2);
    await world.pass(10 * MINUTE);
    expect(world.cloud.creations).toBe(3);
  });
});
