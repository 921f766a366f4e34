/** Pods with volumes: bound in a zone, not provisioned yet, shared, and with unusable claims. */
import type { KubeObject } from '#api/objects';
import { type Dice, oneIn } from '../random.ts';
import { ZONES } from './node-classes.ts';
import { some, ZONE_LABEL } from './node-pools.ts';
import type { ClusterParts, Feature } from './parts.ts';
import type { PodParts } from './pods.ts';

const EBS = 'ebs.csi.aws.com';
const EBS_ZONE_LABEL = 'topology.ebs.csi.aws.com/zone';
const ACCESS = ['ReadWriteOnce'];
const SIZE = { storage: '4Gi' };

const any = (object: unknown): KubeObject => object as KubeObject;

const storageClass = (name: string, more: object): KubeObject =>
  any({ apiVersion: 'storage.k8s.io/v1', kind: 'StorageClass', metadata: { name }, provisioner: EBS, ...more });

/**
 * Returns the storage classes of a cluster: bound late in any zone, bound late in some zones, and bound immediately.
 */
const storageClasses = (roll: Dice, id: string): readonly KubeObject[] => [
  storageClass(`${id}-anywhere`, { volumeBindingMode: 'WaitForFirstConsumer' }),
  storageClass(`${id}-zonal`, {
    volumeBindingMode: 'WaitForFirstConsumer',
    allowedTopologies: [
      { matchLabelExpressions: [{ key: roll.pick([ZONE_LABEL, EBS_ZONE_LABEL]), values: some(roll, ZONES) }] },
    ],
  }),
  storageClass(`${id}-at-once`, { volumeBindingMode: 'Immediate' }),
];

const claim = (name: string, spec: object): KubeObject =>
  any({
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: { name, namespace: 'default' },
    spec: { accessModes: ACCESS, resources: { requests: SIZE }, ...spec },
  });

/** Returns an existing volume in a zone or on a host that no longer exists. */
function boundVolume(roll: Dice, name: string): readonly KubeObject[] {
  const isLocal = oneIn(roll, 5);
  const places = [
    { key: roll.pick([ZONE_LABEL, EBS_ZONE_LABEL]), operator: 'In', values: [roll.pick(ZONES)] },
    ...(isLocal ? [{ key: 'kubernetes.io/hostname', operator: 'In', values: ['gone'] }] : []),
  ];
  const volume = any({
    apiVersion: 'v1',
    kind: 'PersistentVolume',
    metadata: { name },
    spec: {
      capacity: SIZE,
      accessModes: ACCESS,
      storageClassName: 'static',
      persistentVolumeReclaimPolicy: 'Delete',
      claimRef: { apiVersion: 'v1', kind: 'PersistentVolumeClaim', name, namespace: 'default' },
      nodeAffinity: { required: { nodeSelectorTerms: [{ matchExpressions: places }] } },
      ...(isLocal ? { local: { path: '/data' } } : { csi: { driver: EBS, volumeHandle: `vol-${name}` } }),
    },
  });
  return [volume, claim(name, { storageClassName: 'static', volumeName: name })];
}

interface Kept {
  readonly objects: readonly KubeObject[];
  /** Volumes of the pod's spec. */
  readonly volumes: readonly object[];
}

const used = (claimName: string) => [{ name: 'data', persistentVolumeClaim: { claimName } }];

const KINDS: readonly ((roll: Dice, id: string, pod: PodParts) => Kept)[] = [
  (roll, _, { name }) => ({ objects: boundVolume(roll, name), volumes: used(name) }),
  (roll, id, { name }) => ({
    objects: [claim(name, { storageClassName: `${id}-${roll.pick(['anywhere', 'zonal'])}` })],
    volumes: used(name),
  }),
  (_, id, { name }) => ({ objects: [claim(name, { storageClassName: `${id}-at-once` })], volumes: used(name) }),
  (_, id, { name }) => ({ objects: [claim(name, { storageClassName: `${id}-nobody` })], volumes: used(name) }),
  (_, __, { name }) => ({ objects: [], volumes: used(`${name}-lost`) }),
  (_, id) => ({
    objects: [],
    volumes: [
      {
        name: 'scratch',
        ephemeral: {
          volumeClaimTemplate: {
            spec: { accessModes: ACCESS, resources: { requests: SIZE }, storageClassName: `${id}-zonal` },
          },
        },
      },
    ],
  }),
];

/** Adds volumes of one kind to all pods of one app. Each pod has its own volume, or all pods share the first one's. */
export const volumes: Feature = (roll: Dice, cluster: ClusterParts): ClusterParts => {
  const byApp = Map.groupBy(cluster.pods, ({ app }) => app);
  const kept = new Map<string, Kept>();
  for (const pods of byApp.values()) {
    if (oneIn(roll, 3)) continue;
    const kind = roll.pick(KINDS);
    const isShared = oneIn(roll, 4);
    const [first] = pods;
    const shared = isShared && first !== undefined ? kind(roll, cluster.id, first) : undefined;
    for (const pod of pods) {
      const own = shared ?? kind(roll, cluster.id, pod);
      kept.set(pod.name, own);
    }
  }
  const objects = new Set([...kept.values()].flatMap((each) => each.objects));
  return {
    ...cluster,
    others: [...cluster.others, ...storageClasses(roll, cluster.id), ...objects],
    pods: cluster.pods.map((pod) => {
      const own = kept.get(pod.name);
      return own === undefined ? pod : { ...pod, spec: { ...pod.spec, volumes: own.volumes } };
    }),
  };
};
