import { describe, expect, it } from '@jest/globals';
import type { CSINode, PersistentVolume, PersistentVolumeClaim, Pod, StorageClass } from '#api/objects';
import { defined } from '#lib';
import type { Plan, Snapshot, StateNode } from '../../../src/engine/model.ts';
import { prepare, solve, type Variation } from '../../../src/engine/solve.ts';
import { daemon, OPTIONS, pod, replicas, type SnapshotParts, snapshot, stateNode } from './build.ts';
import { Draw, drawnSnapshot } from './scenarios.ts';

const EXPERIMENT = { ...OPTIONS, packing: 'compatible', reservedMode: 'fallback' } as const;
const textOf = (plan: Plan): string => JSON.stringify({ ...plan, refusals: [...plan.refusals] });

function drawnVariation(draw: Draw, { nodes, pendingPods }: Snapshot): Variation {
  const leaving = new Set(nodes.filter(() => draw.chance(0.3)).map(({ providerId }) => providerId));
  const moved = nodes.filter(({ providerId }) => leaving.has(providerId)).flatMap(({ pods }) => pods);
  return {
    leaving,
    pendingPods: [...pendingPods.filter(() => draw.chance(0.7)), ...moved.filter(() => draw.chance(0.9))],
  };
}

function applied(base: Snapshot, { leaving, pendingPods = [] }: Variation): Snapshot {
  return {
    ...base,
    nodes: base.nodes.map((node) => (leaving?.has(node.providerId) ? { ...node, markedForDeletion: true } : node)),
    pendingPods,
  };
}

describe('a prepared snapshot', () => {
  it.each(
    Array.from({ length: 12 }, (_, seed) => seed),
  )('returns the plans of the varied snapshots for a series of variations (seed %i)', (seed) => {
    const base = drawnSnapshot(seed, { nodes: 12, workloads: 10 });
    const prepared = prepare(base, EXPERIMENT);
    const draw = new Draw(seed + 1000);
    for (let count = 0; count < 5; count++) {
      const variation = drawnVariation(draw, base);
      expect(textOf(prepared.solve(variation))).toBe(textOf(solve(applied(base, variation), EXPERIMENT)));
    }
    expect(textOf(prepared.solve())).toBe(textOf(solve(base, EXPERIMENT)));
  });

  it('supports pods with rules on labels that no earlier pod used', () => {
    const apart = {
      labels: { shard: 'one' },
      affinity: {
        podAntiAffinity: {
          requiredDuringSchedulingIgnoredDuringExecution: [
            { topologyKey: 'kubernetes.io/hostname', labelSelector: { matchLabels: { shard: 'one' } } },
          ],
        },
      },
    };
    const prepared = prepare(snapshot({ pendingPods: [pod('web')] }), EXPERIMENT);
    expect(prepared.solve().claims).toHaveLength(1);
    expect(prepared.solve({ pendingPods: replicas(3, 'shard', apart) }).claims).toHaveLength(3);
  });

  it.each([
    ['names its node', { nodeName: 'n' }],
    ['names no node', {}],
    ['names another node', { nodeName: 'other' }],
  ])('does not count a moving pod on its current node if it %s', (_, bound) => {
    const spread = {
      labels: { app: 'web' },
      topologySpreadConstraints: [
        {
          maxSkew: 1,
          topologyKey: 'topology.kubernetes.io/zone',
          whenUnsatisfiable: 'DoNotSchedule' as const,
          labelSelector: { matchLabels: { app: 'web' } },
        },
      ],
    };
    const [first, second] = replicas(2, 'web', { ...spread, ...bound }) as [Pod, Pod];
    const prepared = prepare(snapshot({ nodes: [stateNode('n', { pods: [first, second] })] }), EXPERIMENT);
    // If it still counted there, the zone would be closed to it.
    expect(prepared.solve({ pendingPods: [first, second] }).placements.flatMap(({ pods }) => pods)).toContain(
      'default/web-0',
    );
  });

  it('stops when more claims than allowed are needed, and names the remaining pods', () => {
    const prepared = prepare(snapshot({ pendingPods: replicas(5, 'web', { cpu: '7' }) }), EXPERIMENT);
    const plan = prepared.solve({}, { mostClaims: 2 });
    expect(plan.claims).toHaveLength(3);
    expect(plan.notEvaluated).toEqual(['default/web-3', 'default/web-4']);
  });
});

/** The cluster a little later. Unchanged objects keep their identity. */
function later(draw: Draw, step: number, { nodes, pools, ...base }: Snapshot): Snapshot {
  const seed = 5000 + 10 * step + draw.below(10);
  const fresh = drawnSnapshot(seed, { nodes: 2, workloads: 4 });
  const kept = nodes.filter(() => draw.chance(0.9));
  const come = fresh.nodes.map((node, index) => ({ ...node, ...named(`later-${step}-${index}`) }));
  return {
    ...base,
    nodes: draw.chance(0.5) ? [...kept, ...come] : [...come, ...kept.toReversed()],
    pools: pools.map((pool) => (draw.chance(0.3) ? { ...pool, instanceTypes: pool.instanceTypes.slice(1) } : pool)),
    pendingPods: draw.chance(0.5) ? fresh.pendingPods : base.pendingPods,
    daemonPods: draw.chance(0.5) ? [daemon('agent', { cpu: `${100 * draw.below(20)}m` })] : base.daemonPods,
    storageClasses: draw.chance(0.3) ? base.storageClasses.slice(1) : base.storageClasses,
  };
}

const named = (name: string): Pick<StateNode, 'name' | 'providerId'> => ({ name, providerId: `aws:///${name}` });

const claimOf = (name: string, storageClassName: string): PersistentVolumeClaim => ({
  apiVersion: 'v1',
  kind: 'PersistentVolumeClaim',
  metadata: { name, namespace: 'default' },
  spec: { storageClassName },
  status: { phase: 'Pending' },
});

const storageClassOf = (name: string, provisioner = name): StorageClass => ({
  apiVersion: 'storage.k8s.io/v1',
  kind: 'StorageClass',
  metadata: { name },
  provisioner,
  volumeBindingMode: 'WaitForFirstConsumer',
});

describe('a cluster that is solved repeatedly', () => {
  it.each(Array.from({ length: 12 }, (_, seed) => seed))('has the plans of solves without caches (seed %i)', (seed) => {
    const draw = new Draw(seed + 2000);
    let present = drawnSnapshot(seed, { nodes: 12, workloads: 8 });
    for (let step = 0; step < 8; step++) {
      const variation = drawnVariation(draw, present);
      const unknown = structuredClone({ present, variation });
      expect(textOf(prepare(present, EXPERIMENT).solve(variation))).toBe(
        textOf(prepare(unknown.present, EXPERIMENT).solve(unknown.variation)),
      );
      present = later(draw, step, present);
    }
  });

  it('has the room that the current DaemonSets leave on a node', () => {
    const nodes = [stateNode('n', { allocatable: { cpu: '4' } })];
    const pendingPods = [pod('web', { cpu: '3' })];
    const placed = (cpu: string): number =>
      solve(snapshot({ nodes, pendingPods, daemonPods: [daemon('agent', { cpu })] }), OPTIONS).placements.length;
    expect(['500m', '2', '500m'].map(placed)).toEqual([1, 0, 1]);
  });

  describe('the number of volume slots of the cluster', () => {
    const drivers = [{ name: 'ebs.csi.aws.com', allocatable: { count: 1 } }];
    const csiNode: CSINode = {
      apiVersion: 'storage.k8s.io/v1',
      kind: 'CSINode',
      metadata: { name: 'n' },
      spec: { drivers },
    };
    const using = (name: string, claimName: string, nodeName?: string): Pod =>
      pod(name, { volumes: [{ name: 'data', persistentVolumeClaim: { claimName } }], ...defined({ nodeName }) });
    const nodes = [{ ...stateNode('n', { pods: [using('db', 'old', 'n')] }), csiNode }];
    const pendingPods = [using('web', 'new')];
    const wanted = claimOf('new', 'ebs.csi.aws.com');
    const storageClasses = ['ebs.csi.aws.com', 'other'].map((name) => storageClassOf(name));
    const placed = (parts: SnapshotParts): number =>
      solve(snapshot({ nodes, pendingPods, storageClasses, ...parts }), OPTIONS).placements.length;

    it('counts the current claims', () => {
      const placedWith = (driver: string): number =>
        placed({ persistentVolumeClaims: [claimOf('old', driver), wanted] });
      expect(['other', 'ebs.csi.aws.com', 'other'].map(placedWith)).toEqual([1, 0, 1]);
      expect(placed({ persistentVolumeClaims: [wanted] })).toBe(1);
    });

    it('counts by the current storage classes', () => {
      const persistentVolumeClaims = [claimOf('old', 'changing'), wanted];
      const placedWith = (driver: string): number =>
        placed({ persistentVolumeClaims, storageClasses: [...storageClasses, storageClassOf('changing', driver)] });
      expect(['other', 'ebs.csi.aws.com', 'other'].map(placedWith)).toEqual([1, 0, 1]);
    });

    it('counts the current volumes', () => {
      const persistentVolumeClaims = [{ ...claimOf('old', 'other'), spec: { volumeName: 'disk' } }, wanted];
      const placedWith = (driver: string): number => {
        const disk: PersistentVolume = {
          apiVersion: 'v1',
          kind: 'PersistentVolume',
          metadata: { name: 'disk' },
          spec: { csi: { driver } },
        };
        return placed({ persistentVolumeClaims, persistentVolumes: [disk] });
      };
      expect(['other', 'ebs.csi.aws.com', 'other'].map(placedWith)).toEqual([1, 0, 1]);
    });
  });
});
