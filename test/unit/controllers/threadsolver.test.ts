/** The solver in a thread of its own. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterAll, describe, expect, it } from '@jest/globals';
import { NODE_POOL, POD } from '../../../src/api/kinds.ts';
import { localSolver } from '../../../src/controllers/solver.ts';
import { threadSolver } from '../../../src/controllers/threadsolver.ts';
import type { Snapshot, SolveOptions } from '../../../src/engine/model.ts';
import { World } from './harness.ts';

const OPTIONS: SolveOptions = {
  preferencePolicy: 'Respect',
  minValuesPolicy: 'Strict',
  reservedMode: 'off',
  ignoreDraRequests: true,
};

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

describe('the solver in a thread', () => {
  const solver = threadSolver();
  afterAll(() => solver.close());

  it('answers what the solver in this thread answers, again and again', async () => {
    const snapshot = snapshotOf(40);
    const plan = await localSolver()(snapshot, OPTIONS);
    expect(plan.claims.length).toBeGreaterThan(0);
    expect(await solver.solve(snapshot, OPTIONS)).toEqual(plan);
    expect(await Promise.all([snapshot, snapshotOf(3)].map((each) => solver.solve(each, OPTIONS)))).toEqual([
      plan,
      await localSolver()(snapshotOf(3), OPTIONS),
    ]);
  });

  it('lets this thread go on while it works', async () => {
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
    // 20 turns copy the pods; all others come while the thread works, which in this one would be a single turn
    expect(turns).toBeGreaterThan(100);
  });

  it('tells what went wrong, and works on', async () => {
    const broken = { ...snapshotOf(1), daemonPods: [null] } as unknown as Snapshot;
    await expect(solver.solve(broken, OPTIONS)).rejects.toThrow(/null/);
    expect((await solver.solve(snapshotOf(1), OPTIONS)).claims).toHaveLength(1);
  });

  it('forgets what went over only in part: the next solve misses nothing', async () => {
    const snapshot = snapshotOf(600);
    const uncloneable = { metadata: { name: 'odd' }, spec: { containers: [], odd: () => undefined } };
    const broken = { ...snapshot, pendingPods: [...snapshot.pendingPods, uncloneable] } as unknown as Snapshot;
    await expect(solver.solve(broken, OPTIONS)).rejects.toThrow(/could not be cloned/);
    const plan = await solver.solve(snapshot, OPTIONS);
    expect(plan.claims.flatMap(({ pods }) => pods)).toHaveLength(600);
  });

  it('starts anew after its thread ended', async () => {
    await solver.close();
    expect((await solver.solve(snapshotOf(1), OPTIONS)).claims).toHaveLength(1);
  });
});
