/** Workloads of a scenario. */
import type { KubeObject, Pod, PodSpec } from '#api/objects';

export interface Workload {
  readonly name: string;
  readonly owner: string;
  readonly cpu: number;
  readonly memory: number;
  readonly spec: Partial<PodSpec>;
  readonly annotations: Readonly<Record<string, string>>;
  readonly alone: boolean;
}

export function topologyOf(rules: string, app: string): Partial<PodSpec> {
  const labelSelector = { matchLabels: { app } };
  const [zone, host] = ['topology.kubernetes.io/zone', 'kubernetes.io/hostname'];
  const hard = 'DoNotSchedule' as const;
  switch (rules) {
    case 'zones':
      return { topologySpreadConstraints: [{ maxSkew: 1, topologyKey: zone, whenUnsatisfiable: hard, labelSelector }] };
    case 'hosts':
      return { topologySpreadConstraints: [{ maxSkew: 2, topologyKey: host, whenUnsatisfiable: hard, labelSelector }] };
    case 'wish':
      return {
        topologySpreadConstraints: [
          { maxSkew: 1, topologyKey: host, whenUnsatisfiable: 'ScheduleAnyway', labelSelector },
        ],
      };
    case 'apart':
      return {
        affinity: {
          podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [{ topologyKey: host, labelSelector }] },
        },
      };
    case 'near':
      return {
        affinity: {
          podAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [{ topologyKey: zone, labelSelector }] },
        },
      };
    default:
      return {};
  }
}

export function ownedBy(kind: string, name: string): Pick<Pod['metadata'], 'ownerReferences'> {
  if (kind === 'None') return {};
  const apiVersion = kind === 'Job' ? 'batch/v1' : 'apps/v1';
  return { ownerReferences: [{ apiVersion, kind, name, uid: name, controller: true }] };
}

export const claimed = (zone: string) => ({ name: 'v', persistentVolumeClaim: { claimName: `bound-${zone}` } });

export const volumeIn = (zone: string): readonly KubeObject[] => [
  {
    apiVersion: 'v1',
    kind: 'PersistentVolume',
    metadata: { name: `pv-${zone}` },
    spec: {
      capacity: { storage: '10Gi' },
      accessModes: ['ReadWriteOnce'],
      csi: { driver: 'ebs.csi.aws.com', volumeHandle: `vol-${zone}` },
      nodeAffinity: {
        required: {
          nodeSelectorTerms: [
            { matchExpressions: [{ key: 'topology.kubernetes.io/zone', operator: 'In', values: [zone] }] },
          ],
        },
      },
    },
  } as KubeObject,
  {
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: { name: `bound-${zone}`, namespace: 'default' },
    spec: { volumeName: `pv-${zone}`, storageClassName: 'gp3', accessModes: ['ReadWriteOnce'] },
    status: { phase: 'Bound' },
  } as KubeObject,
];

export const daemonSet = ({ name, spec, cpu, memory }: Workload): KubeObject =>
  ({
    apiVersion: 'apps/v1',
    kind: 'DaemonSet',
    metadata: { name, namespace: 'default' },
    spec: {
      selector: { matchLabels: { ds: name } },
      template: {
        metadata: { labels: { ds: name } },
        spec: {
          ...spec,
          containers: [{ name: 'c', resources: { requests: { cpu: `${cpu}m`, memory: `${memory}Mi` } } }],
        },
      },
    },
  }) as KubeObject;
