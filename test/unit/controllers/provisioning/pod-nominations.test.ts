/** Pods get their planned node as `status.nominatedNodeName`, and a nomination never leaves a pod without a node. */
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { type Condition, NODE, NODE_CLAIM, type Node, POD, type Pod, type Taint } from '#api/objects';
import { ApiError } from '#kube/client';
import { timestamp } from '#lib';
import { present } from '../../../support/present.ts';
import { World } from '../harness.ts';

const NOT_READY: Taint = { key: 'node.kubernetes.io/not-ready', effect: 'NoSchedule' };
const ON = ['--pod-nomination=true'];
const HOUR_S = 3_600;

/** Nodes join with a taint that the test removes. */
class SlowWorld extends World {
  isReady = false;
  #isBinding = false;
  /** Answer to each nomination. */
  answer: () => void = () => undefined;
  nominations = 0;

  constructor() {
    super();
    this.kube.beforeWrite = (operation) => {
      if (operation !== 'patch-status pods' || this.#isBinding) return;
      this.nominations += 1;
      this.answer();
    };
  }

  override join(...[providerID, created, more]: Parameters<World['join']>): Node {
    const node = super.join(providerID, created, more);
    return this.isReady
      ? node
      : this.kube.patch(NODE, node.metadata, { spec: { taints: [...this.#taintsOf(node), NOT_READY] } });
  }

  #taintsOf(node: Node): readonly Taint[] {
    return (node.spec?.taints ?? []).filter(({ key }) => key !== NOT_READY.key);
  }

  override bindPods(): void {
    this.#isBinding = true;
    super.bindPods();
    this.#isBinding = false;
  }

  /** Writes the status of a pod as kube-scheduler does. */
  schedulerWrites(pod: Pod, status: object): void {
    this.#isBinding = true;
    this.kube.patch(POD, pod.metadata, { status }, 'status');
    this.#isBinding = false;
  }

  /** Removes the taint from all nodes. */
  ready(): void {
    this.isReady = true;
    for (const node of this.nodes) this.kube.patch(NODE, node.metadata, { spec: { taints: this.#taintsOf(node) } });
  }
}

let world: SlowWorld;
beforeEach(() => {
  world = new SlowWorld();
  world.nodePool();
});
afterEach(() => world.kill());

const nominatedNodes = (): readonly (string | undefined)[] => world.pods.map(({ status }) => status?.nominatedNodeName);
const now = (pod: Pod | undefined): Pod => world.kube.get(POD, present(pod).metadata);
const nameOfNode = (at: number): string => present(world.nodes[at]).metadata.name;
const deny = (): never => {
  const user = 'system:serviceaccount:kube-system:karpenter';
  const text = `User "${user}" cannot patch resource "pods/status" in API group "" in the namespace "default"`;
  throw new ApiError(403, 'Forbidden', `pods "web-1" is forbidden: ${text}`);
};

/** Starts the operator with pending pods, whose nodes join but are not ready. */
async function startWithPods(count: number, args: readonly string[] = ON): Promise<readonly Pod[]> {
  world.start(args);
  await world.pass(2);
  const pods = world.pending(count, '3');
  await world.pass(20);
  expect(world.nodes.length).toBeGreaterThan(0);
  return pods;
}

describe('a nomination', () => {
  it('names the planned node of each pod after this node has joined, and before it is ready', async () => {
    await startWithPods(8);
    const names = new Set(world.nodes.map(({ metadata }) => metadata.name));
    expect(nominatedNodes().every((name) => name !== undefined && names.has(name))).toBe(true);
    expect(new Set(nominatedNodes())).toEqual(names);
    expect(world.nominations).toBe(8);
    world.ready();
    await world.pass(5);
    expect(world.pods.map(({ spec }) => Boolean(spec.nodeName))).toEqual(Array(8).fill(true));
  });

  it('is not written without the setting', async () => {
    await startWithPods(2, []);
    expect(world.nominations).toBe(0);
  });

  it('is written once for a pod and a node, even if kube-scheduler removes it', async () => {
    const [pod] = await startWithPods(1);
    expect(now(pod).status?.nominatedNodeName).toBe(nameOfNode(0));
    world.schedulerWrites(now(pod), { nominatedNodeName: null });
    await world.pass(120);
    expect(now(pod).status?.nominatedNodeName).toBeUndefined();
    expect(world.nominations).toBe(1);
  });

  it('waits until kube-scheduler has ended its first attempt, and does not replace a nomination for an existing node', async () => {
    world.start(ON);
    await world.pass(2);
    const [other] = await Promise.all([world.pending(1, '3', 'other')[0]]);
    await world.pass(20);
    const refused = { type: 'PodScheduled', status: 'False', reason: 'Unschedulable' };
    const [pod] = world.pending(1, '3');
    world.schedulerWrites(now(pod), {
      nominatedNodeName: nameOfNode(0),
      conditions: [{ ...refused, lastTransitionTime: timestamp(world.clock.now()) } as Condition],
    });
    await world.pass(60);
    expect(world.nodes.length).toBeGreaterThan(0);
    expect(now(pod).status?.nominatedNodeName).toBe(nameOfNode(0));
    expect(now(other).status?.nominatedNodeName).toBe(nameOfNode(0));
    expect(world.nominations).toBe(1);
  });

  it('is repeated at most twice after conflicts', async () => {
    world.answer = () => {
      throw new ApiError(409, 'Conflict', 'the object has been modified');
    };
    await startWithPods(1);
    await world.pass(120);
    expect(world.nominations).toBe(3);
    expect(world.errors()).toEqual([]);
  });
});

describe('a pod whose nominated node ends', () => {
  it('gets another node, and its nomination follows', async () => {
    const [pod] = await startWithPods(1);
    const first = nameOfNode(0);
    expect(now(pod).status?.nominatedNodeName).toBe(first);
    for (const claim of world.claims) world.kube.delete(NODE_CLAIM, claim.metadata);
    await world.pass(60);
    expect(world.nodes.map(({ metadata }) => metadata.name)).not.toContain(first);
    expect(world.nodes).toHaveLength(1);
    expect(now(pod).status?.nominatedNodeName).toBe(nameOfNode(0));
    world.ready();
    await world.pass(5);
    expect(now(pod).spec.nodeName).toBe(nameOfNode(0));
  });

  it.each([
    ['with the setting', ON],
    ['without the setting', []],
  ])('gets another node if an earlier leader wrote the nomination, %s', async (_, args) => {
    const [pod] = world.pending(1, '3');
    world.schedulerWrites(now(pod), { nominatedNodeName: 'node-of-yesterday' });
    world.ready();
    world.start(args);
    await world.pass(30);
    expect(now(pod).spec.nodeName).toBe(nameOfNode(0));
  });
});

describe('a pod that kube-scheduler preempts pods for', () => {
  const refused = { type: 'PodScheduled', status: 'False', reason: 'Unschedulable' } as const;
  const preempted = { type: 'DisruptionTarget', status: 'True', reason: 'PreemptionByScheduler' } as const;

  /** Starts a full node with one pod, whose termination has begun, and a pod with a higher priority. */
  async function startPreemption(): Promise<{ readonly victim: Pod; readonly pod: Pod }> {
    world.ready();
    world.start(ON);
    const [small] = world.pending(1, '3', 'small');
    await world.pass(30);
    const victim = now(small);
    expect(victim.spec.nodeName).toBe(nameOfNode(0));
    world.kube.patch(POD, victim.metadata, { metadata: { finalizers: ['test/grace'] } });
    world.schedulerWrites(victim, { conditions: [preempted] });
    world.kube.delete(POD, victim.metadata);
    const [pending] = world.pending(1, '3', 'large');
    world.kube.patch(POD, present(pending).metadata, { spec: { priority: 100 } });
    world.schedulerWrites(now(pending), { nominatedNodeName: nameOfNode(0), conditions: [refused] });
    return { victim, pod: now(pending) };
  }

  it('gets no node while these pods terminate, and is bound to the nominated node', async () => {
    const { victim, pod } = await startPreemption();
    await world.pass(20);
    expect(world.claims).toHaveLength(1);
    world.kube.patch(POD, victim.metadata, { metadata: { finalizers: [] } });
    await world.pass(5);
    expect(now(pod).spec.nodeName).toBe(nameOfNode(0));
    await world.pass(30);
    expect(world.claims).toHaveLength(1);
  });

  it('gets a node if one of these pods is stuck', async () => {
    const { pod, victim } = await startPreemption();
    await world.pass(50);
    expect(world.claims).toHaveLength(1);
    await world.pass(50);
    expect(now(pod).spec.nodeName).toBeDefined();
    expect(now(pod).spec.nodeName).not.toBe(victim.spec.nodeName);
  });
});

describe('the operator without the right to nominate nodes', () => {
  it('reports the missing right once, with long pauses between its attempts, and launches nodes as before', async () => {
    world.answer = deny;
    const [pod] = await startWithPods(1);
    await world.pass(HOUR_S);
    const reports = world.lines.filter(({ message }) => message === 'missing the right to nominate nodes for pods');
    expect(reports).toHaveLength(1);
    expect(world.nominations).toBeGreaterThan(1);
    expect(world.nominations).toBeLessThanOrEqual(5);
    world.answer = () => undefined;
    await world.pass(HOUR_S);
    expect(now(pod).status?.nominatedNodeName).toBe(nameOfNode(0));
    world.ready();
    await world.pass(5);
    expect(now(pod).spec.nodeName).toBe(nameOfNode(0));
  });

  it('continues with other pods if a webhook refuses one of them', async () => {
    const [pod] = world.pending(1, '3', 'refused');
    world.answer = () => {
      if (world.nominations <= 3) throw new ApiError(403, 'Forbidden', 'admission webhook "x" denied the request');
    };
    const [other] = await startWithPods(1);
    await world.pass(120);
    const nominated = [now(pod), now(other)].filter(({ status }) => status?.nominatedNodeName !== undefined);
    expect(nominated.length).toBeGreaterThan(0);
    expect(world.nominations).toBeLessThanOrEqual(6);
  });
});
