/** Limits of attached volumes on new, launching and existing nodes. */
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import {
  type CSINode,
  INSTANCE_TYPE_LABEL,
  type PersistentVolume,
  type PersistentVolumeClaim,
  type Pod,
} from '#api/objects';
import { causeText } from '../../../src/engine/causes/cause.ts';
import { causeCandidates } from '../../../src/engine/causes/nearest-pool.ts';
import type { InstanceType, Plan, StateNode } from '../../../src/engine/model.ts';
import { daemon, instanceType, nodePool, planOf, pod, type SnapshotParts, stateNode, type TypeParts } from './build.ts';

const EBS = 'ebs.csi.aws.com';

const claimNamed = (name: string, bound?: string): PersistentVolumeClaim => ({
  apiVersion: 'v1',
  kind: 'PersistentVolumeClaim',
  metadata: {
    name,
    namespace: 'default',
    ...(bound === undefined ? {} : { annotations: { 'pv.kubernetes.io/bind-completed': 'yes' } }),
  },
  spec: bound === undefined ? { storageClassName: 'gp3' } : { volumeName: bound },
});

const persistentVolume = (name: string, spec: PersistentVolume['spec']): PersistentVolume => ({
  apiVersion: 'v1',
  kind: 'PersistentVolume',
  metadata: { name },
  spec,
});

const GP3 = {
  apiVersion: 'storage.k8s.io/v1',
  kind: 'StorageClass',
  metadata: { name: 'gp3' },
  provisioner: EBS,
  volumeBindingMode: 'WaitForFirstConsumer',
} as const;

const using = (name: string, ...claims: readonly string[]): Pod =>
  pod(name, {
    cpu: '10m',
    volumes: claims.map((claimName) => ({ name: claimName, persistentVolumeClaim: { claimName } })),
  });

const limited = (name: string, most: number, parts: TypeParts = {}): InstanceType => ({
  ...instanceType(name, parts),
  volumeLimits: { [EBS]: most },
});

const csiNode = (name: string, count: number): CSINode => ({
  apiVersion: 'storage.k8s.io/v1',
  kind: 'CSINode',
  metadata: { name },
  spec: { drivers: [{ name: EBS, allocatable: { count } }] },
});

const nodeOf = (name: string, type: string, parts: Partial<StateNode> = {}): StateNode => ({
  ...stateNode(name, { labels: { [INSTANCE_TYPE_LABEL]: type } }),
  ...parts,
});

/** Returns the plan for pods whose claims are not bound. */
function planFor(pods: readonly Pod[], parts: SnapshotParts = {}): Plan {
  const names = new Set(
    pods.flatMap(({ spec }) => (spec.volumes ?? []).flatMap((each) => each.persistentVolumeClaim?.claimName ?? [])),
  );
  return planOf({
    persistentVolumeClaims: [...names].map((name) => claimNamed(name)),
    storageClasses: [GP3],
    pendingPods: pods,
    ...parts,
  });
}

const owners = (count: number): readonly Pod[] =>
  Array.from({ length: count }, (_, index) => using(`db-${index}`, `data-${index}`));
const podCounts = ({ claims }: Plan): readonly number[] => claims.map(({ pods }) => pods.length).sort((a, b) => b - a);

describe('a new node', () => {
  it('gets at most the volumes that its instance type attaches, with both packings', () => {
    for (const packing of ['cheapest', 'compatible'] as const) {
      const plan = planOf(
        {
          types: [limited('only', 4)],
          persistentVolumeClaims: Array.from({ length: 10 }, (_, index) => claimNamed(`data-${index}`)),
          storageClasses: [GP3],
          pendingPods: owners(10),
        },
        { packing },
      );
      expect(podCounts(plan).every((count) => count <= 4)).toBe(true);
      expect(plan.claims).toHaveLength(3);
    }
  });

  it('has an instance type that attaches all volumes of a pod', () => {
    const plan = planFor([using('db', 'a', 'b', 'c')], {
      types: [limited('few', 2, { cpu: 2 }), limited('many', 3, { cpu: 8 })],
    });
    expect(plan.claims.map(({ instanceTypes }) => instanceTypes)).toEqual([['many']]);
  });

  it('has no limit without a prediction, or for another driver', () => {
    const plan = planFor(owners(10), { types: [instanceType('unknown')] });
    expect(podCounts(plan)).toEqual([10]);
    const other = planFor(owners(10), {
      types: [limited('only', 4)],
      storageClasses: [{ ...GP3, provisioner: 'efs.csi.aws.com' }],
    });
    expect(podCounts(other)).toEqual([10]);
  });

  it('counts a volume that several pods share once', () => {
    const shared = Array.from({ length: 6 }, (_, index) => using(`reader-${index}`, 'shared'));
    expect(podCounts(planFor([...shared, ...owners(1)], { types: [limited('only', 2)] }))).toEqual([7]);
  });

  it('counts two claims with the same volume handle once', () => {
    const volumes = ['one', 'two'].map((name) =>
      persistentVolume(name, { csi: { driver: EBS, volumeHandle: 'vol-1' } }),
    );
    const plan = planOf({
      types: [limited('only', 1)],
      persistentVolumeClaims: [claimNamed('a', 'one'), claimNamed('b', 'two')],
      persistentVolumes: volumes,
      pendingPods: [using('x', 'a'), using('y', 'b')],
    });
    expect(podCounts(plan)).toEqual([2]);
  });

  it('counts volumes of the former in-tree plugin and its inline volumes', () => {
    const inline = (name: string, volumeID: string): Pod =>
      pod(name, { cpu: '10m', volumes: [{ name: 'disk', awsElasticBlockStore: { volumeID } }] });
    const plan = planOf({
      types: [limited('only', 2)],
      persistentVolumeClaims: [claimNamed('old', 'pv'), claimNamed('new')],
      persistentVolumes: [persistentVolume('pv', { awsElasticBlockStore: { volumeID: 'aws://zone-a/vol-1' } })],
      storageClasses: [{ ...GP3, provisioner: 'kubernetes.io/aws-ebs' }],
      pendingPods: [using('a', 'old'), inline('b', 'vol-1'), inline('c', 'vol-2'), using('d', 'new')],
    });
    expect(podCounts(plan)).toEqual([3, 1]);
  });

  it('keeps room for ephemeral volumes of DaemonSets', () => {
    const agent = daemon('agent', {
      cpu: '10m',
      volumes: [{ name: 'cache', ephemeral: { volumeClaimTemplate: { spec: { storageClassName: 'gp3' } } } }],
    });
    const plan = planFor(owners(2), { types: [limited('only', 2)], daemonPods: [agent] });
    expect(podCounts(plan)).toEqual([1, 1]);
    expect(Object.keys(plan.claims[0]?.requests ?? {}).sort()).toEqual(['cpu', 'pods']);
  });

  it('is refused with the cause and the remedy if no instance type attaches all volumes', () => {
    const db = using('db', ...Array.from({ length: 5 }, (_, index) => `data-${index}`));
    const types = [limited('few', 3), limited('more', 4)];
    const plan = planFor([db], { types });
    const refusal = plan.refusals.get('default/db');
    if (refusal?.code !== 'no-fit') throw new Error(`refused with ${refusal?.code}`);
    expect(refusal.pools[0]?.misfit).toMatchObject({ code: 'volume-limit', driver: EBS, wanted: 5, most: 4 });
    expect(refusal.text).toContain('no instance type can attach 5 volumes of ebs.csi.aws.com to a node (at most 4)');
    const {
      causes: [cause],
    } = causeCandidates(db, refusal.pools, () => ({
      pool: nodePool('default'),
      instanceTypes: types,
      usage: () => ({ inUse: {}, leaving: {}, launching: {}, planned: {}, returning: {} }),
      ceilings: () => [],
      chargesUsdPerHour: 0,
    }));
    expect(cause && causeText(cause)).toBe(
      'NodePool "default" has no instance type that attaches enough volumes: the pod uses 5 volumes of ebs.csi.aws.com, ' +
        'but a node attaches at most 4. Divide the volumes among several pods, or allow instance types that attach more volumes.',
    );
  });

  it('is refused with another cause if the pod is too large in any case', () => {
    const plan = planFor(
      [{ ...using('db', 'a', 'b'), spec: { ...using('db', 'a', 'b').spec, ...pod('x', { cpu: '99' }).spec } }],
      {
        types: [limited('few', 1)],
      },
    );
    const refusal = plan.refusals.get('default/db');
    expect(refusal?.code === 'no-fit' && refusal.pools[0]?.misfit.code).toBe('instance-types');
  });

  it('never exceeds the limit of any of its instance types', () => {
    const volume = fc.integer({ min: 0, max: 11 }).map((number) => `data-${number}`);
    const pods = fc.array(fc.uniqueArray(volume, { minLength: 0, maxLength: 4 }), { minLength: 1, maxLength: 14 });
    const limits = fc.array(fc.integer({ min: 1, max: 6 }), { minLength: 1, maxLength: 3 });
    fc.assert(
      fc.property(pods, limits, fc.constantFrom('cheapest', 'compatible'), (claims, most, packing) => {
        const types = most.map((count, index) => limited(`type-${index}`, count, { cpu: 2 ** (index + 1), gib: 16 }));
        const pending = claims.map((names, index) => using(`pod-${index}`, ...names));
        const plan = planOf(
          {
            types,
            persistentVolumeClaims: Array.from({ length: 12 }, (_, number) => claimNamed(`data-${number}`)),
            storageClasses: [GP3],
            pendingPods: pending,
          },
          { packing: packing as 'cheapest' },
        );
        for (const planned of plan.claims) {
          const own = new Set(planned.pods.flatMap((key) => claims[Number(key.split('-')[1])] ?? []));
          for (const name of planned.instanceTypes)
            expect(own.size).toBeLessThanOrEqual(types.find((type) => type.name === name)?.volumeLimits?.[EBS] ?? 0);
        }
        const largest = Math.max(...most);
        for (const [index, names] of claims.entries())
          expect(plan.refusals.has(`default/pod-${index}`)).toBe(names.length > largest);
      }),
      { numRuns: 60 },
    );
  });
});

describe('a report of an existing node', () => {
  const types = [limited('only', 4)];

  it('lowers the prediction for its instance type, and never raises it', () => {
    const nodes = (count: number): readonly StateNode[] => [
      nodeOf('n', 'only', { markedForDeletion: true, csiNode: csiNode('n', count) }),
    ];
    expect(podCounts(planFor(owners(4), { types, nodes: nodes(2) }))).toEqual([2, 2]);
    expect(podCounts(planFor(owners(4), { types, nodes: nodes(9) }))).toEqual([4]);
    const others = [limited('only', 4), limited('other', 4, { cpu: 1 })];
    expect(podCounts(planFor(owners(4), { types: others, nodes: nodes(2) }))).toEqual([4]);
  });

  it('counts if it is the lower median of all reports', () => {
    const plan = (...counts: readonly number[]): readonly number[] =>
      podCounts(
        planFor(owners(4), {
          types,
          nodes: counts.map((count, index) =>
            nodeOf(`n${index}`, 'only', { markedForDeletion: true, csiNode: csiNode(`n${index}`, count) }),
          ),
        }),
      );
    expect(plan(1, 4, 4)).toEqual([4]);
    expect(plan(2, 4)).toEqual([2, 2]);
    expect(plan(2, 2, 4)).toEqual([2, 2]);
  });
});

describe('an existing node', () => {
  const placed = (node: StateNode, count: number, parts: SnapshotParts = {}): number =>
    planFor(owners(count), { types: [limited('only', 2)], nodes: [node], ...parts }).placements.flatMap(
      ({ pods }) => pods,
    ).length;

  it('uses the prediction until the driver of a launching node has started', () => {
    expect(placed(nodeOf('n', 'only', { initialized: false }), 5)).toBe(2);
    expect(placed(nodeOf('n', 'only', { initialized: false, csiNode: csiNode('n', 3) }), 5)).toBe(3);
    for (const drivers of [[], null]) {
      const none: CSINode = { ...csiNode('n', 0), spec: { drivers } };
      expect(placed(nodeOf('n', 'only', { initialized: false, csiNode: none }), 5)).toBe(2);
    }
  });

  it('has no limit after initialization if the driver reports no limit, as for kube-scheduler', () => {
    expect(placed(nodeOf('n', 'only'), 5)).toBe(5);
  });

  it('counts volumes that are attached without a pod, unless the new pod uses them', () => {
    const volumes = ['detaching', 'old'].map((name) =>
      persistentVolume(name, { csi: { driver: EBS, volumeHandle: `vol-${name}` } }),
    );
    const node = nodeOf('n', 'only', {
      csiNode: csiNode('n', 2),
      attachedVolumes: [{ driver: EBS, volume: 'detaching' }],
    });
    expect(placed(node, 2, { persistentVolumes: volumes })).toBe(1);
    const again = planOf({
      nodes: [node],
      persistentVolumes: volumes,
      persistentVolumeClaims: [claimNamed('a', 'detaching'), claimNamed('b', 'old')],
      pendingPods: [using('x', 'a', 'b')],
    });
    expect(again.placements).toHaveLength(1);
  });
});
