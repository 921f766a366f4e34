/** Decisions on cached snapshots are equal to decisions on new snapshots. */
import { beforeEach, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import {
  DAEMON_SET,
  DO_NOT_DISRUPT_ANNOTATION,
  type KubeObject,
  NAMESPACE,
  NODE,
  NODE_CLAIM,
  NODE_POOL,
  type Node,
  type NodePool,
  PERSISTENT_VOLUME_CLAIM,
  POD,
  POD_DISRUPTION_BUDGET,
  type Pod,
} from '#api/objects';
import { parseAwsSettings } from '#aws/settings';
import type { Commitment } from '#engine/costs';
import { type Method, type MethodResult, methodsOf, VerdictHistory } from '#engine/disruption';
import type { InstanceType } from '#engine/model';
import type { WithheldLaunch } from '#engine/solve';
import { emptiness, STUCK_MS } from '#engine/testing';
import { localSimulationRunner } from '#engine-worker';
import { silent } from '#observe/logger';
import { createMetrics } from '#observe/setup';
import type { DisruptionInput } from '#planner';
import { ClusterState } from '#state';
import type { Deps } from '../../../../src/controllers/deps.ts';
import { DisruptionLoop } from '../../../../src/controllers/disruption/loop.ts';
import { MoveHistory } from '../../../../src/controllers/disruption/moves.ts';
import { DisruptionQueue } from '../../../../src/controllers/disruption/queue.ts';
import { DecisionMemo, Snapshots } from '../../../../src/controllers/disruption/snapshots.ts';
import { partial } from '../../../support/partial.ts';
import { present } from '../../../support/present.ts';
import {
  at,
  budget,
  claim,
  instanceType,
  NOW,
  type NodeOptions,
  pod,
  pool,
  stateNode,
} from '../../engine/disruption/objects.ts';
import { handFed } from '../../kube/fakes.ts';
import { type SettableClock, settableClock } from '../../virtualclock.ts';

const METHODS = methodsOf('thorough');
const NODES = ['a', 'b', 'c'];
const MINUTE = 60_000;

const types = (usdPerHour: number): readonly InstanceType[] => [
  instanceType('m.large', 2, usdPerHour),
  instanceType('m.xlarge', 4, 2 * usdPerHour),
];

function nodeOf(name: string, options: NodeOptions): Node {
  const node = present(stateNode(name, options).node);
  const capacity = { cpu: '2', memory: '8Gi', pods: '58' };
  return { ...node, status: { ...node.status, capacity, allocatable: capacity } };
}

class World {
  readonly clock: SettableClock = settableClock(NOW);
  readonly fed = handFed();
  readonly cluster: ClusterState;
  readonly deps: Deps;
  readonly queue: DisruptionQueue;
  types = types(0.1);
  withheld: readonly WithheldLaunch[] = [];
  commitments: readonly Commitment[] = [];
  #version = 0;

  constructor(...args: readonly string[]) {
    const { informers } = this.fed;
    this.cluster = new ClusterState({ informers, clock: this.clock, manages: () => true });
    this.deps = {
      informers,
      cluster: this.cluster,
      cloud: { instanceTypes: async () => this.types, commitments: () => this.commitments },
      events: { publish: () => {} },
      clock: this.clock,
      log: silent,
      metrics: createMetrics(),
      settings: parseAwsSettings(['--cluster-name=test', '--cluster-endpoint=https://test', ...args], {}),
    } as unknown as Deps;
    this.queue = new DisruptionQueue(this.deps, new MoveHistory());
    this.put(NODE_POOL, this.pool({}));
    for (const [position, name] of NODES.entries()) {
      this.put(NODE, nodeOf(name, { type: position === 0 ? 'm.large' : 'm.xlarge' }));
      this.put(NODE_CLAIM, present(stateNode(name).nodeClaim));
      this.put(POD, this.pod(name, {}));
    }
  }

  put(kind: { readonly plural: string }, object: KubeObject): void {
    this.#version += 1;
    const metadata = { ...object.metadata, resourceVersion: String(this.#version) };
    this.fed.store<KubeObject>(partial(kind)).put({ ...object, metadata });
  }

  pool(disruption: Partial<NonNullable<NodePool['spec']['disruption']>>): NodePool {
    const { metadata, spec, ...rest } = pool('default', {
      consolidateAfter: '0s',
      budgets: [{ nodes: '100%' }],
      ...disruption,
    });
    const labels = { 'karpenter.sh/nodepool': 'default' };
    const template = { ...spec.template, metadata: { labels } };
    const status = { conditions: [{ type: 'Ready', status: 'True' as const }] };
    return { ...rest, metadata: { ...metadata, generation: 1 }, spec: { ...spec, template }, status };
  }

  /** Creates a pod that runs on a node and is named after the node. */
  pod(node: string, { annotations = {}, cpu = '500m' }: { annotations?: Record<string, string>; cpu?: string }): Pod {
    return pod(`on-${node}`, {
      metadata: { labels: { app: node }, annotations },
      spec: { nodeName: node, containers: [{ name: 'main', resources: { requests: { cpu } } }] },
      status: { phase: 'Running', startTime: at(NOW) },
    });
  }

  snapshots(): Snapshots {
    return new Snapshots(this.deps, this.queue, { withheldFromSimulations: () => this.withheld });
  }
}

const nodeAt = (position: number): string => NODES[position % NODES.length] ?? '';
const claimWith = (name: string, type: string, status: 'True' | 'False') => {
  const { nodeClaim } = stateNode(name);
  const others = (nodeClaim?.status?.conditions ?? []).filter((each) => each.type !== type);
  return claim(name, { status: { ...nodeClaim?.status, conditions: [...others, { type, status }] } });
};
const waiting = (name: string): Pod =>
  pod(name, {
    spec: { nodeName: '', containers: [] },
    status: { phase: 'Pending', conditions: [{ type: 'PodScheduled', status: 'False', reason: 'Unschedulable' }] },
  });

/** Changes to each input of a decision. */
const CHANGES: Readonly<Record<string, (world: World, position: number) => unknown>> = {
  'ten seconds pass': ({ clock }) => clock.advance(10_000),
  'minutes pass': ({ clock }, position) => clock.advance(position * MINUTE),
  'the clock is set': ({ clock }, position) => clock.put((position - 15) * MINUTE),
  'a pod comes': (world, position) => world.put(POD, waiting(`waiting-${position % 2}`)),
  'a pod ends': (world, position) => world.fed.store(POD).remove(world.pod(nodeAt(position), {})),
  'a pod runs': (world, position) => world.put(POD, world.pod(nodeAt(position), {})),
  'a pod grows': (world, position) => world.put(POD, world.pod(nodeAt(position), { cpu: '1500m' })),
  'a pod is protected': (world, position) =>
    world.put(POD, world.pod(nodeAt(position), { annotations: { [DO_NOT_DISRUPT_ANNOTATION]: 'true' } })),
  'a pod is protected for a time': (world, position) =>
    world.put(POD, world.pod(nodeAt(position), { annotations: { [DO_NOT_DISRUPT_ANNOTATION]: `${position + 1}m` } })),
  'a node is protected': (world, position) => {
    const annotations = { [DO_NOT_DISRUPT_ANNOTATION]: 'true' };
    world.put(NODE, nodeOf(nodeAt(position), { annotations }));
  },
  'a node is as at first': (world, position) => world.put(NODE, nodeOf(nodeAt(position), {})),
  'a node is nominated': ({ cluster }, position) =>
    cluster.nominate(`aws:///${nodeAt(position)}`, (position + 1) * MINUTE),
  'a node is marked': ({ cluster }, position) => cluster.markForDeletion(`aws:///${nodeAt(position)}`),
  'a node is not marked': ({ cluster }, position) => cluster.unmarkForDeletion(`aws:///${nodeAt(position)}`),
  'a node has room for a buffer': ({ cluster }, position) =>
    cluster.setBufferPods(new Map([[`aws:///${nodeAt(position)}`, position % 2]])),
  'a claim drifts': (world, position) => world.put(NODE_CLAIM, claimWith(nodeAt(position), 'Drifted', 'True')),
  'a claim is not consolidatable': (world, position) =>
    world.put(NODE_CLAIM, claimWith(nodeAt(position), 'Consolidatable', 'False')),
  'a claim is as at first': (world, position) => world.put(NODE_CLAIM, present(stateNode(nodeAt(position)).nodeClaim)),
  'a NodePool needs quiet': (world, position) =>
    world.put(NODE_POOL, world.pool({ consolidateAfter: `${45 + position}m` })),
  'a NodePool has a schedule': (world, position) => {
    const scheduled = { nodes: '0', schedule: `${position % 60} * * * *`, duration: `${1 + (position % 9)}m` };
    world.put(NODE_POOL, world.pool({ budgets: [{ nodes: '100%' }, scheduled] }));
  },
  'a NodePool lets nodes go': (world) => world.put(NODE_POOL, world.pool({})),
  'a budget holds pods': (world, position) =>
    world.put(
      POD_DISRUPTION_BUDGET,
      budget('only', { selector: { matchLabels: { app: nodeAt(position) } } }, position % 2),
    ),
  'a DaemonSet comes': (world) =>
    world.put(DAEMON_SET, {
      apiVersion: 'apps/v1',
      kind: 'DaemonSet',
      metadata: { name: 'agent', namespace: 'default', uid: 'agent' },
      spec: {
        selector: {},
        template: { spec: { containers: [{ name: 'main', resources: { requests: { cpu: '900m' } } }] } },
      },
    } as KubeObject),
  'a namespace changes': (world, position) =>
    world.put(NAMESPACE, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: `${position % 2}` } }),
  'a volume claim changes': (world, position) =>
    world.put(PERSISTENT_VOLUME_CLAIM, {
      apiVersion: 'v1',
      kind: 'PersistentVolumeClaim',
      metadata: { name: `${position % 2}`, namespace: 'default' },
      spec: {},
    } as KubeObject),
  'room is kept': ({ cluster }, position) => cluster.virtualPods.replace('buffer', [waiting(`room-${position}`)]),
  'room is kept no more': ({ cluster }) => cluster.virtualPods.replace('buffer', []),
  'claims are reserved': ({ cluster }) => cluster.reservedNodes.add('default'),
  'a claim is launched': ({ cluster }, position) => cluster.track(claim(`new-${position}`)),
  'prices change': (world, position) => {
    world.types = types(0.05 + position / 100);
  },
  'a type is not offered': (world) => {
    world.types = world.types.slice(1);
  },
  'launches are held back': (world, position) => {
    const cause = { code: 'unjoined' };
    world.withheld = [{ nodePool: 'default', cause, text: `${position}` } as unknown as WithheldLaunch];
  },
  'launches are not held back': (world) => {
    world.withheld = [];
  },
  'a command starts': ({ queue, cluster }, position) => {
    const name = nodeAt(position);
    const stateNodeNow = cluster.nodeByProviderId(`aws:///${name}`);
    const candidate = { name, providerId: `aws:///${name}`, nodeClaim: claim(name), stateNode: stateNodeNow };
    const command = { reason: 'Empty' as const, candidates: [candidate], replacements: [] };
    queue.enqueue(partial({ id: `${position}`, command, method: emptiness, fields: {}, replacements: ['gone'] }));
  },
};

const namesOf = ({ commands }: MethodResult): readonly object[] =>
  commands.map(({ candidates, replacements }) => ({
    candidates: candidates.map(({ name }) => name),
    replacements: replacements.map(({ instanceTypes }) => instanceTypes),
  }));

/** Returns verdicts and commands of a method. */
async function decisionOf(world: World, snapshots: Pick<Snapshots, 'current'>, method: Method) {
  const loop = new DisruptionLoop(world.deps, {
    ...{ snapshots, queue: world.queue, methods: [], simulations: localSimulationRunner() },
    history: new VerdictHistory(),
    launches: { room: () => Number.POSITIVE_INFINITY },
  });
  const { decide, blocks, declined, candidates, allowances, input } = await loop.prepare(method, silent);
  const result = await decide(new AbortController().signal);
  return {
    commands: namesOf(result),
    reasons: result.reasons,
    ...{ blocks, allowances, budgets: input.budgets, totals: input.totals, claims: input.claims },
    candidates: candidates.map(({ stateNode: _, ...candidate }) => candidate),
    declined: [...declined].map(([id, { reason }]) => [id, reason]),
  };
}

/** Compares passes that reuse results with passes that do not. */
class Passes {
  readonly #world: World;
  readonly #snapshots: Snapshots;
  readonly #memo: DecisionMemo;
  #last: DisruptionInput | undefined;
  /** Number of passes on the snapshot of the previous pass. */
  kept = 0;
  /** Number of commands. */
  decided = 0;

  constructor(world: World) {
    this.#world = world;
    this.#snapshots = world.snapshots();
    this.#memo = new DecisionMemo(world.cluster);
  }

  async pass(): Promise<void> {
    const snapshot = await this.#snapshots.current(silent);
    if (snapshot === this.#last) this.kept += 1;
    this.#last = snapshot;
    const due = new Set(this.#memo.due(METHODS, snapshot));
    const isOver = new Map<Method, boolean>();
    for (const method of METHODS) {
      const { commands } = await this.#compared(method);
      this.decided += commands.length;
      if (due.has(method)) isOver.set(method, commands.length === 0);
      else expect(commands).toEqual([]);
    }
    this.#memo.passed(isOver, snapshot);
  }

  async #compared(method: Method): Promise<{ readonly commands: readonly object[] }> {
    const decision = await decisionOf(this.#world, this.#snapshots, method);
    expect(decision).toEqual(await decisionOf(this.#world, this.#world.snapshots(), method));
    return decision;
  }
}

describe('a decision on a cached snapshot', () => {
  const names = Object.keys(CHANGES);
  const courses = fc.array(fc.tuple(fc.constantFrom(...names), fc.nat(30)), { minLength: 1, maxLength: 12 });

  it('is equal to a decision on a new snapshot after any changes', async () => {
    const seen = { kept: 0, decided: 0 };
    await fc.assert(
      fc.asyncProperty(courses, async (course) => {
        const world = new World();
        const passes = new Passes(world);
        for (const [name, position] of course) {
          await CHANGES[name]?.(world, position);
          await passes.pass();
        }
        seen.kept += passes.kept;
        seen.decided += passes.decided;
      }),
      { numRuns: 80, seed: 20_260_101, endOnFailure: true },
    );
    expect(seen.kept).toBeGreaterThan(20);
    expect(seen.decided).toBeGreaterThan(20);
  }, 60_000);

  it.each([
    ['a StatefulSet', 'StatefulSet'],
    ['a ReplicaSet', 'ReplicaSet'],
  ])('does not change when a terminating pod of %s counts as stuck', async (_, kind) => {
    const world = new World('--steering=false'); // prices change with time
    const { metadata, ...rest } = world.pod('a', {});
    const ownerReferences = [{ apiVersion: 'apps/v1', kind, name: 'web', uid: 'web', controller: true }];
    world.put(POD, { ...rest, metadata: { ...metadata, deletionTimestamp: at(NOW + 1000), ownerReferences } });
    const passes = new Passes(world);
    await passes.pass();
    await world.clock.advance(1000 + STUCK_MS + 1);
    await passes.pass();
    expect(passes.kept).toBe(1);
  });

  it.each(
    names.filter((name) => !/pass|no more|not|at first|runs|lets nodes go/.test(name)),
  )('uses a new snapshot if %s', async (name) => {
    const world = new World();
    const snapshots = world.snapshots();
    const before = await snapshots.current(silent);
    expect(await snapshots.current(silent)).toBe(before);
    await CHANGES[name]?.(world, 1);
    const after = await snapshots.current(silent);
    expect(after).not.toBe(before);
    expect(await snapshots.current(silent)).toBe(after);
  });
});

describe('a snapshot', () => {
  let world: World;
  let snapshots: Snapshots;
  beforeEach(() => {
    world = new World();
    snapshots = world.snapshots();
  });

  it('is reused for two minutes while nothing has changed', async () => {
    const first = await snapshots.current(silent);
    await world.clock.advance(2 * MINUTE - 1);
    expect(await snapshots.current(silent)).toBe(first);
    await world.clock.advance(1000);
    expect(await snapshots.current(silent)).not.toBe(first);
  });

  it('is renewed when a nomination ends', async () => {
    world.cluster.nominate('aws:///a', 20_000);
    const first = await snapshots.current(silent);
    await world.clock.advance(19_999);
    expect(await snapshots.current(silent)).toBe(first);
    await world.clock.advance(1);
    expect(await snapshots.current(silent)).not.toBe(first);
  });

  it('is reused while instance types of a NodePool cannot be listed', async () => {
    const cloud = { ...world.deps.cloud, instanceTypes: async () => Promise.reject(new Error('no answer')) };
    const failing = new Snapshots({ ...world.deps, cloud } as Deps, world.queue);
    const first = await failing.current(silent);
    expect([...first.pools]).toEqual([]);
    expect(await failing.current(silent)).toBe(first);
  });
});
