/** Objects of generated traces. */
import {
  DO_NOT_DISRUPT_ANNOTATION,
  HOSTNAME_LABEL,
  type KubeObject,
  type PodSpec,
  type Toleration,
  type TopologySpreadConstraint,
  ZONE_LABEL,
} from '#api/objects';
import { BACKOFF_LIMIT } from '../objects.ts';
import type { Random } from './random.ts';

/** Resource requests of a pod. */
export interface Size {
  readonly cpuMilli: number;
  readonly memoryMi: number;
  readonly gpus?: number;
}

export interface PodShape {
  readonly namespace: string;
  readonly name: string;
  readonly size: Size;
  /** Number that changes with each rollout. */
  readonly version?: number;
  readonly spread?: 'zone-hard' | 'zone-soft' | 'host';
  readonly doNotDisrupt?: boolean;
  readonly graceSeconds?: number;
  /** Seconds from the start of the container until the pod is ready. */
  readonly startSeconds?: number;
  /** True if no other such pod may run on the same node. */
  readonly isAlone?: boolean;
}

const ALONE = { 'one-per-node': 'true' };
/** A replay does not pull images. */
const IMAGE = 'pause';
/** Finished Jobs are deleted after this many seconds. */
const TTL_SECONDS = 300;
const GPU = 'nvidia.com/gpu';
const GPU_TOLERATION: Toleration = { key: GPU, operator: 'Exists', effect: 'NoSchedule' };
/** Memory requests are multiples of this many MiB. */
const MEMORY_STEP_MI = 64;

/** Rounds an amount of memory to a size that people would write. */
export const roundedMi = (mebibytes: number): number =>
  Math.max(MEMORY_STEP_MI, Math.round(mebibytes / MEMORY_STEP_MI) * MEMORY_STEP_MI);

/**
 * Returns a size with `cpuMilli` and an amount of memory around `gibPerCore` for each core.
 * @param spread 95th percentile of the ratio, divided by its median
 */
export function sizeOf(random: Random, cpuMilli: number, gibPerCore: number, spread = 2): Size {
  const gib = random.logNormal({ p50: gibPerCore, p95: gibPerCore * spread }) * (cpuMilli / 1000);
  return { cpuMilli, memoryMi: roundedMi(gib * 1024) };
}

function requestsOf({ cpuMilli, memoryMi, gpus }: Size): Record<string, string> {
  const memory = memoryMi % 1024 === 0 ? `${memoryMi / 1024}Gi` : `${memoryMi}Mi`;
  return {
    cpu: cpuMilli % 1000 === 0 ? `${cpuMilli / 1000}` : `${cpuMilli}m`,
    memory,
    ...(gpus === undefined ? {} : { [GPU]: `${gpus}` }),
  };
}

function spreadOf({ name, spread }: PodShape): readonly TopologySpreadConstraint[] | undefined {
  if (spread === undefined) return undefined;
  return [
    {
      maxSkew: 1,
      topologyKey: spread === 'host' ? HOSTNAME_LABEL : ZONE_LABEL,
      whenUnsatisfiable: spread === 'zone-hard' ? 'DoNotSchedule' : 'ScheduleAnyway',
      labelSelector: { matchLabels: { app: name } },
    },
  ];
}

const APART = {
  requiredDuringSchedulingIgnoredDuringExecution: [
    { topologyKey: HOSTNAME_LABEL, labelSelector: { matchLabels: ALONE } },
  ],
};

function podSpec(shape: PodShape): PodSpec {
  const { size, name, graceSeconds, startSeconds, isAlone = false } = shape;
  const requests = requestsOf(size);
  const { cpu: _, ...limits } = requests;
  const spread = spreadOf(shape);
  return {
    ...(graceSeconds === undefined ? {} : { terminationGracePeriodSeconds: graceSeconds }),
    ...(size.gpus === undefined ? {} : { tolerations: [GPU_TOLERATION] }),
    ...(spread === undefined ? {} : { topologySpreadConstraints: spread }),
    ...(isAlone ? { affinity: { podAntiAffinity: APART } } : {}),
    containers: [
      {
        name,
        image: IMAGE,
        resources: { requests, limits },
        ...(startSeconds === undefined ? {} : { readinessProbe: { initialDelaySeconds: startSeconds } }),
      },
    ],
  };
}

const templateOf = (shape: PodShape, more: Partial<PodSpec> = {}) => ({
  metadata: {
    labels: {
      app: shape.name,
      ...(shape.isAlone === true ? ALONE : {}),
      ...(shape.version === undefined ? {} : { version: `v${shape.version}` }),
    },
    ...(shape.doNotDisrupt === true ? { annotations: { [DO_NOT_DISRUPT_ANNOTATION]: 'true' } } : {}),
  },
  spec: { ...podSpec(shape), ...more },
});

type Made = KubeObject & Readonly<Record<string, unknown>>;

const metadataOf = ({ namespace, name }: PodShape) => ({ name, namespace, labels: { app: name } });

export const deployment = (shape: PodShape, replicas: number): Made => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: metadataOf(shape),
  spec: { replicas, selector: { matchLabels: { app: shape.name } }, template: templateOf(shape) },
});

/** @param volumeGi size of the volume of each pod */
export const statefulSet = (shape: PodShape, replicas: number, volumeGi: number): Made => ({
  apiVersion: 'apps/v1',
  kind: 'StatefulSet',
  metadata: metadataOf(shape),
  spec: {
    replicas,
    serviceName: shape.name,
    selector: { matchLabels: { app: shape.name } },
    template: templateOf(shape),
    volumeClaimTemplates: [
      {
        metadata: { name: 'data' },
        spec: {
          accessModes: ['ReadWriteOnce'],
          storageClassName: 'gp3',
          resources: { requests: { storage: `${volumeGi}Gi` } },
        },
      },
    ],
  },
});

/** Returns a Job that runs `pods` pods at the same time until each of them succeeds. */
export const job = (shape: PodShape, pods: number): Made => ({
  apiVersion: 'batch/v1',
  kind: 'Job',
  metadata: metadataOf(shape),
  spec: {
    ...(pods === 1 ? {} : { parallelism: pods, completions: pods }),
    backoffLimit: BACKOFF_LIMIT,
    ttlSecondsAfterFinished: TTL_SECONDS,
    template: templateOf(shape, { restartPolicy: 'Never' }),
  },
});

export const pod = (shape: PodShape): Made => {
  const { metadata, spec } = templateOf(shape, { restartPolicy: 'Never' });
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: shape.name, namespace: shape.namespace, ...metadata },
    spec,
  };
};

export const disruptionBudget = ({ namespace, name }: PodShape, maxUnavailable: number | string): Made => ({
  apiVersion: 'policy/v1',
  kind: 'PodDisruptionBudget',
  metadata: { name, namespace },
  spec: { maxUnavailable, selector: { matchLabels: { app: name } } },
});

export const namespace = (name: string): Made => ({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } });

/** Returns a DaemonSet of an agent on every node. */
export const daemonSet = (shape: PodShape): Made => ({
  apiVersion: 'apps/v1',
  kind: 'DaemonSet',
  metadata: metadataOf(shape),
  spec: {
    selector: { matchLabels: { app: shape.name } },
    template: templateOf(shape, { priorityClassName: 'system-node-critical', tolerations: [{ operator: 'Exists' }] }),
  },
});
