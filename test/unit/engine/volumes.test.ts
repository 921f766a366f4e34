import { describe, expect, it } from '@jest/globals';
import {
  type CSINode,
  HOSTNAME_LABEL,
  type PersistentVolume,
  type PersistentVolumeClaim,
  type Pod,
  type StorageClass,
  ZONE_LABEL,
} from '#api/objects';
import type { Plan } from '../../../src/engine/model.ts';
import { withinCpuTime } from '../../support/cpu-time.ts';
import { oneOf, planOf, pod, refusalText, stateNode } from './build.ts';

const BOUND = { 'pv.kubernetes.io/bind-completed': 'yes' };

function claim(name: string, parts: Partial<PersistentVolumeClaim> & { bound?: string } = {}): PersistentVolumeClaim {
  const { bound, ...rest } = parts;
  return {
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: { name, namespace: 'default', ...(bound === undefined ? {} : { annotations: BOUND }) },
    spec: bound === undefined ? { storageClassName: 'gp3' } : { volumeName: bound },
    ...rest,
  };
}

const volume = (name: string, zone: string, extra: Partial<PersistentVolume['spec']> = {}): PersistentVolume => ({
  apiVersion: 'v1',
  kind: 'PersistentVolume',
  metadata: { name },
  spec: {
    csi: { driver: 'ebs.csi.aws.com' },
    nodeAffinity: { required: { nodeSelectorTerms: [{ matchExpressions: [oneOf(ZONE_LABEL, zone)] }] } },
    ...extra,
  },
});

const storageClass = (parts: Partial<StorageClass> = {}): StorageClass => ({
  apiVersion: 'storage.k8s.io/v1',
  kind: 'StorageClass',
  metadata: { name: 'gp3' },
  provisioner: 'ebs.csi.aws.com',
  volumeBindingMode: 'WaitForFirstConsumer',
  ...parts,
});

const using = (name: string, ...claims: readonly string[]): Pod =>
  pod(name, {
    cpu: '100m',
    volumes: claims.map((claimName) => ({ name: claimName, persistentVolumeClaim: { claimName } })),
  });

const zonesOf = ({ claims }: Plan): readonly (readonly string[] | undefined)[] =>
  claims.map(({ requirements }) => requirements.find(({ key }) => key === ZONE_LABEL)?.values);

describe('a volume', () => {
  it('requires its zone if it exists', () => {
    const plan = planOf({
      persistentVolumeClaims: [claim('data', { bound: 'pv' })],
      persistentVolumes: [volume('pv', 'zone-c')],
      pendingPods: [using('db', 'data')],
    });
    expect(zonesOf(plan)).toEqual([['zone-c']]);
  });

  it('requires the topologies of its class, one after the other, if it does not exist yet', () => {
    const terms = ['nowhere', 'zone-b'].map((zone) => ({
      matchLabelExpressions: [{ key: 'topology.ebs.csi.aws.com/zone', values: [zone] }],
    }));
    const plan = planOf({
      persistentVolumeClaims: [claim('data')],
      storageClasses: [storageClass({ allowedTopologies: terms })],
      pendingPods: [using('db', 'data')],
    });
    expect(zonesOf(plan)).toEqual([['zone-b']]);
  });

  it('keeps the pod pending in a zone that its pod cannot use', () => {
    const db = using('db', 'data');
    const plan = planOf({
      persistentVolumeClaims: [claim('data', { bound: 'pv' })],
      persistentVolumes: [volume('pv', 'zone-c')],
      pendingPods: [{ ...db, spec: { ...db.spec, nodeSelector: { [ZONE_LABEL]: 'zone-a' } } }],
    });
    expect(refusalText(plan, 'db')).toBe(
      `incompatible volume requirements, key ${ZONE_LABEL}, ${ZONE_LABEL} In [zone-c] not in ${ZONE_LABEL} In [zone-a]`,
    );
  });

  it('does not bind its pod to a host if it is local', () => {
    const terms = [{ matchExpressions: [oneOf(HOSTNAME_LABEL, 'gone')] }];
    const plan = planOf({
      persistentVolumeClaims: [claim('data', { bound: 'pv' })],
      persistentVolumes: [volume('pv', '', { local: {}, nodeAffinity: { required: { nodeSelectorTerms: terms } } })],
      pendingPods: [using('db', 'data')],
    });
    expect(plan.claims).toHaveLength(1);
  });

  const inZones = (name: string, ...zones: readonly string[]): PersistentVolume =>
    volume(name, '', {
      nodeAffinity: {
        required: { nodeSelectorTerms: zones.map((zone) => ({ matchExpressions: [oneOf(ZONE_LABEL, zone)] })) },
      },
    });
  const both = (one: PersistentVolume, two: PersistentVolume) =>
    planOf({
      persistentVolumeClaims: [claim('one', { bound: 'pv-1' }), claim('two', { bound: 'pv-2' })],
      persistentVolumes: [one, two],
      pendingPods: [using('db', 'one', 'two')],
    });

  it('is combined with other volumes of its pod to their common zones', () => {
    expect(zonesOf(both(inZones('pv-1', 'zone-a', 'zone-b'), inZones('pv-2', 'zone-b', 'zone-c')))).toEqual([
      ['zone-b'],
    ]);
  });

  it('keeps its pod pending without a common zone with another volume, with a reason', () => {
    const plan = both(inZones('pv-1', 'zone-a'), inZones('pv-2', 'zone-c'));
    expect(plan.claims).toEqual([]);
    expect(refusalText(plan, 'db')).toMatch(/topology\.kubernetes\.io\/zone/);
  });

  it('binds its pod to a zone without changing the eligible domains of the pod', () => {
    // The spread has three zones and a skew of one, so only one pod can follow its volume.
    const constraint = { maxSkew: 1, topologyKey: ZONE_LABEL, whenUnsatisfiable: 'DoNotSchedule' as const };
    const labels = { app: 'db' };
    const pods = ['a', 'b'].map((name) => {
      const db = using(name, 'data');
      const topologySpreadConstraints = [{ ...constraint, labelSelector: { matchLabels: labels } }];
      return { ...db, metadata: { ...db.metadata, labels }, spec: { ...db.spec, topologySpreadConstraints } };
    });
    const plan = planOf({
      persistentVolumeClaims: [claim('data', { bound: 'pv' })],
      persistentVolumes: [volume('pv', 'zone-c')],
      pendingPods: pods,
    });
    expect(plan.claims.flatMap((each) => each.pods)).toHaveLength(1);
    expect(plan.refusals.size).toBe(1);
  });

  it('is looked up by claim name and namespace', () => {
    const db = pod('db', { cpu: '100m', volumes: [{ name: 'scratch', ephemeral: {} }] });
    const plan = planOf({
      persistentVolumeClaims: [claim('db-scratch', { bound: 'pv' })],
      persistentVolumes: [volume('pv', 'zone-b')],
      pendingPods: [db],
    });
    expect(zonesOf(plan)).toEqual([['zone-b']]);
    expect(refusalText(planOf({ pendingPods: [db] }), 'db')).toContain('"db-scratch" not found');
  });

  it.each<[string, Partial<Parameters<typeof planOf>[0]>, string]>([
    [
      'a claim that is being deleted',
      {
        persistentVolumeClaims: [
          claim('data', {
            metadata: { name: 'data', namespace: 'default', deletionTimestamp: '2026-01-01T00:00:00Z' },
          }),
        ],
      },
      'persistentvolumeclaim is being deleted',
    ],
    [
      'a volume that does not exist',
      { persistentVolumeClaims: [claim('data', { bound: 'pv' })] },
      'failed to validate pvc, persistentvolumes "pv" not found',
    ],
    [
      'a class that does not exist',
      { persistentVolumeClaims: [claim('data')] },
      'getting storage class, storageclasses.storage.k8s.io "gp3" not found',
    ],
    ['no claim', {}, 'getting persistent volume claim, persistentvolumeclaims "data" not found'],
    [
      'a lost claim',
      { persistentVolumeClaims: [claim('data', { status: { phase: 'Lost' } })] },
      'persistentvolumeclaim bound to non-existent persistentvolume',
    ],
    [
      'a claim without a class',
      { persistentVolumeClaims: [claim('data', { spec: {} })] },
      'unbound pvc must define a storage class',
    ],
    [
      'a class with immediate binding',
      { persistentVolumeClaims: [claim('data')], storageClasses: [storageClass({ volumeBindingMode: 'Immediate' })] },
      'pvc with immediate volume binding mode must be bound',
    ],
    [
      'an incomplete binding',
      {
        persistentVolumeClaims: [claim('data', { spec: { volumeName: 'pv' } })],
        persistentVolumes: [volume('pv', 'zone-a')],
      },
      'pvc is considered unbound because it does not contain annotation',
    ],
  ])('refuses its pod with %s', (_, parts, text) => {
    const plan = planOf({ ...parts, pendingPods: [using('db', 'data')] });
    expect(plan.refusals.get('default/db')).toEqual({ code: 'ignored', text, optedOut: false });
  });

  it('uses a slot of an existing node, once if it is shared', () => {
    const csiNode: CSINode = {
      apiVersion: 'storage.k8s.io/v1',
      kind: 'CSINode',
      metadata: { name: 'n' },
      spec: { drivers: [{ name: 'ebs.csi.aws.com', allocatable: { count: 1 } }] },
    };
    const plan = planOf({
      nodes: [{ ...stateNode('n'), csiNode }],
      persistentVolumeClaims: [claim('shared'), claim('own')],
      storageClasses: [storageClass()],
      pendingPods: [using('a', 'shared'), using('b', 'shared'), using('c', 'own')],
    });
    expect(plan.placements).toEqual([{ node: 'n', providerId: 'aws:///n', pods: ['default/a', 'default/b'] }]);
    expect(plan.claims.map(({ pods }) => pods)).toEqual([['default/c']]);
  });

  it('uses a slot of its CSI driver if it is of a migrated in-tree driver', () => {
    const csiNode: CSINode = {
      apiVersion: 'storage.k8s.io/v1',
      kind: 'CSINode',
      metadata: { name: 'n' },
      spec: { drivers: [{ name: 'ebs.csi.aws.com', allocatable: { count: 1 } }] },
    };
    const inTree: PersistentVolume = { ...volume('pv', 'zone-a'), spec: { awsElasticBlockStore: {} } };
    const plan = planOf({
      nodes: [{ ...stateNode('n'), csiNode }],
      persistentVolumeClaims: [claim('old', { bound: 'pv' }), claim('new')],
      persistentVolumes: [inTree],
      storageClasses: [storageClass({ provisioner: 'kubernetes.io/aws-ebs' })],
      pendingPods: [using('a', 'old'), using('b', 'new')],
    });
    expect(plan.placements.map(({ pods }) => pods)).toEqual([['default/a']]);
    expect(plan.claims.map(({ pods }) => pods)).toEqual([['default/b']]);
  });
});

describe('a volume in many places', () => {
  const placed = (name: string, terms: readonly (readonly ReturnType<typeof oneOf>[])[]): PersistentVolume =>
    volume(name, '', {
      nodeAffinity: { required: { nodeSelectorTerms: terms.map((matchExpressions) => ({ matchExpressions })) } },
    });
  const many = <T>(count: number, make: (index: number) => T): T[] => Array.from({ length: count }, (_, i) => make(i));
  const world = (volumes: readonly PersistentVolume[]) => ({
    persistentVolumeClaims: volumes.map(({ metadata: { name } }) => claim(name, { bound: name })),
    persistentVolumes: volumes,
    pendingPods: [using('db', ...volumes.map(({ metadata: { name } }) => name))],
  });

  it('uses the last place if it is the only existing one', () => {
    const zones = [...many(999, (i) => `nowhere-${i}`), 'zone-c'];
    const places = zones.map((zone) => [oneOf(ZONE_LABEL, zone)]);
    const plan = planOf(world(many(3, (i) => placed(`pv-${i}`, places))));
    expect(zonesOf(plan).map((zones) => zones?.includes('zone-c'))).toEqual([true]);
  });

  it.each([
    {
      what: 'with few common places',
      of: (at: number) => many(1_000, (i) => [oneOf('a', `v${i * (at + 1)}`), oneOf('b', `v${i}`)]),
    },
    {
      what: 'with all places in common',
      of: (at: number) => many(1_000, (i) => [oneOf(`a${at}-${i}`, 'v'), oneOf('b', 'v')]),
    },
    {
      what: 'without common places',
      of: (at: number) => many(1_000, (i) => [oneOf('a', `v${at}`), oneOf('b', `v${i}`)]),
    },
  ])('is evaluated quickly: $what', ({ of }) => {
    const input = world(many(200, (at) => placed(`pv-${at}`, of(at))));
    const plan = withinCpuTime(8_000, () => planOf(input));
    expect(plan.claims).toEqual([]);
    expect(refusalText(plan, 'db')).not.toBe('');
  });
});
