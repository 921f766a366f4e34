import { describe, expect, it } from '@jest/globals';
import type {
  CSINode,
  PersistentVolume,
  PersistentVolumeClaim,
  Pod,
  StorageClass,
} from '../../../src/api/kubernetes.ts';
import { HOSTNAME_LABEL, ZONE_LABEL } from '../../../src/api/labels.ts';
import type { Plan } from '../../../src/engine/model.ts';
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
  it('that exists takes its pod to its zone', () => {
    const plan = planOf({
      persistentVolumeClaims: [claim('data', { bound: 'pv' })],
      persistentVolumes: [volume('pv', 'zone-c')],
      pendingPods: [using('db', 'data')],
    });
    expect(zonesOf(plan)).toEqual([['zone-c']]);
  });

  it('that is still to be made takes its pod where its class allows, one alternative after the other', () => {
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

  it('in another zone than the pod must be in keeps it pending', () => {
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

  it('that is local does not tie its pod to a host', () => {
    const terms = [{ matchExpressions: [oneOf(HOSTNAME_LABEL, 'gone')] }];
    const plan = planOf({
      persistentVolumeClaims: [claim('data', { bound: 'pv' })],
      persistentVolumes: [volume('pv', '', { local: {}, nodeAffinity: { required: { nodeSelectorTerms: terms } } })],
      pendingPods: [using('db', 'data')],
    });
    expect(plan.claims).toHaveLength(1);
  });

  it.each<[string, Partial<Parameters<typeof planOf>[0]>, string]>([
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
      'a class that binds at once',
      { persistentVolumeClaims: [claim('data')], storageClasses: [storageClass({ volumeBindingMode: 'Immediate' })] },
      'pvc with immediate volume binding mode must be bound',
    ],
    [
      'a binding that is not complete',
      {
        persistentVolumeClaims: [claim('data', { spec: { volumeName: 'pv' } })],
        persistentVolumes: [volume('pv', 'zone-a')],
      },
      'pvc is considered unbound because it does not contain annotation',
    ],
  ])('with %s refuses its pod', (_, parts, text) => {
    const plan = planOf({ ...parts, pendingPods: [using('db', 'data')] });
    expect(plan.refusals.get('default/db')).toEqual({ code: 'ignored', text, optedOut: false });
  });

  it('takes a slot of an existing node, a shared one only once', () => {
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
});
