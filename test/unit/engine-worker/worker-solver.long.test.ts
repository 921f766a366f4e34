/** The solver in a worker thread. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { afterAll, describe, expect, it, jest } from '@jest/globals';
import { NODE_POOL, NODEPOOL_LABEL, POD, type Pod } from '#api/objects';
import type { Plan, Snapshot, SolveOptions } from '#engine/model';
import { EngineWorker, WorkerSolver } from '../../../src/engine-worker/engine-worker.ts';
import { SentTypes } from '../../../src/engine-worker/instance-type-lists.ts';
import type { StateMessage } from '../../../src/engine-worker/protocol.ts';
import { localSolver } from '../../../src/engine-worker/solver.ts';
import { EngineWorkerEnd } from '../../../src/engine-worker/watchdog.ts';
import { WorkerState } from '../../../src/engine-worker/worker-state.ts';
import { World } from '../controllers/harness.ts';
import { virtualClock } from '../virtualclock.ts';

const OPTIONS: SolveOptions = {
  preferencePolicy: 'Respect',
  minValuesPolicy: 'Strict',
  reservedMode: 'off',
  ignoreDraRequests: true,
};

const PLAN: Plan = { claims: [], placements: [], refusals: new Map(), notEvaluated: [], emptyPools: [] };

function snapshotOf(pods: number): Snapshot {
  const world = new World();
  world.nodePool();
  world.pending(pods, '300m');
  return {
    nowMs: world.clock.now(),
    pools: world.kube.all(NODE_POOL).map((nodePool) => ({ nodePool, instanceTypes: world.cloud.types })),
    nodes: [],
    pendingPods: world.kube.all(POD),
    daemonPods: [],
    namespaces: [],
    podDisruptionBudgets: [],
    persistentVolumeClaims: [],
    persistentVolumes: [],
    storageClasses: [],
  };
}

/** Returns a snapshot with NodePools that have separate lists of instance types, and with one pod for each NodePool. */
function snapshotOfPools(count: number): Snapshot {
  const world = new World();
  for (let at = 0; at < count; at++) {
    world.nodePool(`pool-${at}`);
    world.pending(1, '300m', `pod-${at}`);
  }
  const pendingPods = world.kube.all(POD).map((pod) => ({
    ...pod,
    spec: { ...pod.spec, nodeSelector: { [NODEPOOL_LABEL]: `pool-${pod.metadata.labels?.app?.slice('pod-'.length)}` } },
  }));
  const pools = world.kube.all(NODE_POOL).map((nodePool) => ({ nodePool, instanceTypes: [...world.cloud.types] }));
  return { ...snapshotOf(0), pools, pendingPods };
}

/** Returns the same pools with copies of their lists. */
const relisted = (snapshot: Snapshot): Snapshot => ({
  ...snapshot,
  pools: snapshot.pools.map(({ nodePool, instanceTypes }) => ({ nodePool, instanceTypes: [...instanceTypes] })),
});

/** Returns the number of lists of instance types that the worker holds after each message. */
function listsHeld(messages: readonly StateMessage[]): readonly number[] {
  const held = new Set<number>();
  return messages.map((message) => {
    if (message.kind === 'types') for (const [id, { kind }] of message.parts) if (kind === 'list') held.add(id);
    if (message.kind === 'forget') for (const id of message.ids) held.delete(id);
    return held.size;
  });
}

describe('the solver in a worker', () => {
  const solver = new WorkerSolver();
  afterAll(() => solver.close());

  it('returns the same plans as the solver in the main thread, for repeated and concurrent requests', async () => {
    const snapshot = snapshotOf(40);
    const plan = await localSolver()(snapshot, OPTIONS);
    expect(plan.claims.length).toBeGreaterThan(0);
    expect(await solver.solve(snapshot, OPTIONS)).toEqual(plan);
    expect(await Promise.all([snapshot, snapshotOf(3)].map((each) => solver.solve(each, OPTIONS)))).toEqual([
      plan,
      await localSolver()(snapshotOf(3), OPTIONS),
    ]);
  });

  it('copies dynamic resources, and none while they are ignored', async () => {
    const base = snapshotOf(1);
    const [pending] = base.pendingPods;
    const { metadata, spec, status } = pending as Pod;
    const claiming: Pod = {
      ...(pending as Pod),
      metadata: { ...metadata, uid: 'pod-uid' },
      spec: { ...spec, resourceClaims: [{ name: 'd', resourceClaimTemplateName: 't' }] },
      status: { ...status, resourceClaimStatuses: [{ name: 'd', resourceClaimName: 'd' }] },
    };
    const owner = { apiVersion: 'v1', kind: 'Pod', name: metadata.name, uid: 'pod-uid', controller: true };
    const named = (kind: string, name: string) => ({
      ...{ apiVersion: 'resource.k8s.io/v1', kind, metadata: { name, namespace: 'default', ownerReferences: [owner] } },
    });
    const exactly = { deviceClassName: 'c' };
    const [pool] = base.pools;
    const name = pool?.instanceTypes[0]?.name ?? '';
    const deviceTemplates = new Map([[name, { pools: [{ driver: 'd', pool: 'p', devices: [{ name: 'x' }] }] }]]);
    const snapshot: Snapshot = {
      ...base,
      pools: base.pools.map((each) => ({ ...each, deviceTemplates })),
      pendingPods: [claiming],
      resourceClaims: [{ ...named('ResourceClaim', 'd'), spec: { devices: { requests: [{ name: 'r', exactly }] } } }],
      resourceSlices: [],
      deviceClasses: [{ ...named('DeviceClass', 'c'), spec: {} }],
      deviceTaintRules: [],
    };
    const options = { ...OPTIONS, ignoreDraRequests: false };
    const plan = await localSolver()(snapshot, options);
    expect(plan.claims.map(({ instanceTypes }) => instanceTypes)).toEqual([[name]]);
    const allocation = { ms: expect.any(Number), expired: 0 };
    expect(await solver.solve(snapshot, options)).toEqual({ ...plan, allocation });
    const { refusals } = await solver.solve({ ...base, pendingPods: [claiming] }, OPTIONS);
    expect([...refusals.values()]).toEqual([expect.objectContaining({ code: 'unsupported' })]);
  });

  it('copies instance types in the warm-up, so that the first solve copies pods only', async () => {
    const own = new WorkerSolver();
    const post = jest.spyOn(Worker.prototype, 'postMessage');
    const lists = (): number => post.mock.calls.filter(([{ kind }]) => kind === 'types').length;
    const snapshot = snapshotOf(3);
    await own.solve.warmUp?.(snapshot, OPTIONS);
    const copied = lists();
    const { claims } = await own.solve(snapshot, OPTIONS);
    expect(claims.length).toBeGreaterThan(0);
    expect([copied, lists()]).toEqual([1, 1]);
    post.mockRestore();
    await own.close();
  });

  it('continues after a failed warm-up', async () => {
    const own = new WorkerSolver();
    const broken = { ...snapshotOf(1), persistentVolumeClaims: [{}] } as unknown as Snapshot;
    await own.solve.warmUp?.(broken, OPTIONS);
    expect((await own.solve(snapshotOf(1), OPTIONS)).claims).toHaveLength(1);
    await own.close();
  });

  it('collects garbage on request, and continues', async () => {
    const own = new WorkerSolver();
    const post = jest.spyOn(Worker.prototype, 'postMessage');
    // before its first solve there is no garbage
    expect(own.isIdle).toBe(true);
    await own.giveBack();
    expect(post).not.toHaveBeenCalled();
    const { claims } = await own.solve(snapshotOf(1_000), OPTIONS);
    const thread = post.mock.contexts[0] as Worker;
    post.mockRestore();
    const total = async (): Promise<number> => (await thread.getHeapStatistics()).total_heap_size;
    const before = await total();
    await own.giveBack();
    expect(await total()).toBeLessThan(before - 2 ** 20);
    expect((await own.solve(snapshotOf(1_000), OPTIONS)).claims).toHaveLength(claims.length);
    await own.close();
    // a worker that has exited has no memory to release
    await own.giveBack();
  });

  it('does not block the main thread', async () => {
    const snapshot = snapshotOf(5_000);
    let turns = 0;
    let isDone = false;
    const work = solver.solve(snapshot, OPTIONS).finally(() => {
      isDone = true;
    });
    while (!isDone) {
      turns++;
      await nextTurn();
    }
    expect((await work).claims.flatMap(({ pods }) => pods)).toHaveLength(5_000);
    // Copying the pods takes 20 turns. The remaining turns run while the worker solves; a solve in this thread would be
    // one turn.
    expect(turns).toBeGreaterThan(100);
  });

  it('returns the error of a failed request, and continues with the next request', async () => {
    const broken = { ...snapshotOf(1), persistentVolumeClaims: [{}] } as unknown as Snapshot;
    await expect(solver.solve(broken, OPTIONS)).rejects.toThrow(/undefined/);
    expect((await solver.solve(snapshotOf(1), OPTIONS)).claims).toHaveLength(1);
  });

  it('discards a partial copy, so that the next solve has all pods', async () => {
    const snapshot = snapshotOf(600);
    const uncloneable = { metadata: { name: 'odd' }, spec: { containers: [], odd: () => undefined } };
    const broken = { ...snapshot, pendingPods: [...snapshot.pendingPods, uncloneable] } as unknown as Snapshot;
    await expect(solver.solve(broken, OPTIONS)).rejects.toThrow(/could not be cloned/);
    const plan = await solver.solve(snapshot, OPTIONS);
    expect(plan.claims.flatMap(({ pods }) => pods)).toHaveLength(600);
  });

  it('holds the instance types of every NodePool in a request, regardless of their number', async () => {
    const snapshot = snapshotOfPools(40);
    const plan = await localSolver()(snapshot, OPTIONS);
    expect(plan.claims).toHaveLength(40);
    expect(await solver.solve(snapshot, OPTIONS)).toEqual(plan);
    expect(await solver.solve(snapshot, OPTIONS)).toEqual(plan);
    const questions = [snapshot, snapshotOfPools(39), snapshot, relisted(snapshot)];
    const plans = await Promise.all(questions.map((each) => solver.solve(each, OPTIONS)));
    expect(plans.map(({ claims }) => claims.length)).toEqual([40, 39, 40, 40]);
  });

  it('does not copy a list that is still in use, and releases unused lists', async () => {
    const own = new WorkerSolver();
    const sent = jest.spyOn(Worker.prototype, 'postMessage');
    const snapshot = snapshotOfPools(40);
    const kindsOf = async (question: Snapshot): Promise<readonly string[]> => {
      const before = sent.mock.calls.length;
      await own.solve(question, OPTIONS);
      return sent.mock.calls.slice(before).map(([message]) => (message as StateMessage).kind);
    };
    await own.solve(snapshot, OPTIONS);
    expect(await kindsOf(snapshot)).toEqual(['solve']);
    const fewer = { ...snapshot, pools: snapshot.pools.slice(0, 39) };
    expect(await kindsOf(fewer)).toEqual(['solve', 'forget']);
    expect(await kindsOf(snapshot)).toEqual(['types', 'solve']);
    for (let round = 0; round < 4; round++) await own.solve(relisted(snapshot), OPTIONS);
    const held = listsHeld(sent.mock.calls.map(([message]) => message as StateMessage));
    sent.mockRestore();
    await own.close();
    expect(held.at(-1)).toBe(40);
    // during a request, its lists exist in addition to the lists of the previous request
    expect(Math.max(...held)).toBe(80);
  });

  it('accepts NodePools without instance types', async () => {
    const snapshot = snapshotOfPools(2);
    const [first, second] = snapshot.pools;
    if (first === undefined || second === undefined) throw new Error('there are too few NodePools');
    const { claims } = await solver.solve({ ...snapshot, pools: [{ ...first, instanceTypes: [] }, second] }, OPTIONS);
    expect(claims).toHaveLength(1);
  });

  it('throws an error if a list is missing', async () => {
    const held = new WorkerState(undefined);
    const [pool] = snapshotOfPools(1).pools;
    if (pool === undefined) throw new Error('there is no NodePool');
    const withTypes = (types: number) => held.withTypes([{ types, rest: { nodePool: pool.nodePool } }]);
    expect(() => withTypes(3)).toThrow('NodePool "pool-0": its list 3 of instance types is missing');
    const shown = new SentTypes((message) => held.receive(message));
    const id = await shown.send(pool.instanceTypes);
    expect(withTypes(id)).toEqual([pool]);
    shown.keep(new Set());
    expect(() => withTypes(id)).toThrow('is missing');
  });

  it('terminates its worker instead of the process if the worker exceeds its heap limit', async () => {
    const own = new WorkerSolver({ resourceLimits: { maxOldGenerationSizeMb: 32 } });
    const numbers = Array.from({ length: 100 }, () => Array.from({ length: 100_000 }, (_, at) => at / 3));
    const large = { ...snapshotOf(1), nowMs: numbers } as unknown as Snapshot;
    await expect(own.solve(large, OPTIONS)).rejects.toThrow(/out of memory/);
    await own.close();
  });

  it('repeats a solve with the packing of Karpenter if the worker ran out of memory', async () => {
    const asked: unknown[] = [];
    const ask = jest.spyOn(EngineWorker.prototype, 'ask').mockImplementation(async (_, prepare) => {
      asked.push((await (prepare as () => Promise<{ options: SolveOptions }>)()).options.packing);
      if (asked.length === 1) throw new EngineWorkerEnd('solver', 'out-of-memory', { text: 'ended' });
      return PLAN;
    });
    const own = new WorkerSolver({ clock: virtualClock() });
    expect(await own.solve(snapshotOf(1), { ...OPTIONS, packing: 'cheapest' })).toEqual(PLAN);
    expect(asked).toEqual(['cheapest', 'compatible']);
    ask.mockRestore();
    await own.close();
  });

  it('starts a new worker if the previous worker has exited', async () => {
    await solver.close();
    expect((await solver.solve(snapshotOf(1), OPTIONS)).claims).toHaveLength(1);
  });
});
