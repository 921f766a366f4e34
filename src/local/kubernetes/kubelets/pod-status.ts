/** Pod statuses that a kubelet reports. */
import { type Condition, type Container, getCondition, type Pod } from '#api/objects';
import { defined, timestamp } from '#lib';
import { withConditions } from '../../conditions.ts';
import { type RunContainer, readyAfterMs } from './container-timing.ts';
import { startResources } from './pod-resizes.ts';

type Status = Record<string, unknown>;
type Change = Omit<Condition, 'lastTransitionTime'>;

interface Running {
  readonly podIp: string;
  readonly hostIp: string;
  /**
   * Start of the containers, and the milliseconds for which they have been running. Containers whose probes need longer
   * are not ready.
   */
  readonly startedAt: number;
  readonly upMs: number;
  readonly now: number;
}

const conditions = (pod: Pod, now: number, changes: readonly Change[]): readonly Condition[] =>
  withConditions(pod.status?.conditions, changes, timestamp(now));

function containerStatus({ name, image = '' }: Container, state: Status, ready: boolean): Status {
  return {
    name,
    image,
    imageID: image,
    ready,
    started: ready,
    restartCount: 0,
    state,
    lastState: {},
    ...('waiting' in state ? {} : { containerID: `containerd://${name}` }),
  };
}

const unready = (containers: readonly Container[]) =>
  ({
    status: 'False',
    reason: 'ContainersNotReady',
    message: `containers with unready status: [${containers.map(({ name }) => name).join(' ')}]`,
  }) as const;

/** Status of a pod whose images are being pulled. */
export function starting(pod: Pod, hostIp: string, now: number): Status {
  const waiting = { waiting: { reason: 'ContainerCreating' } };
  return {
    phase: 'Pending',
    hostIP: hostIp,
    startTime: timestamp(now),
    conditions: conditions(pod, now, [
      { type: 'PodReadyToStartContainers', status: 'False' },
      { type: 'Initialized', status: pod.spec.initContainers?.length ? 'False' : 'True' },
      { type: 'Ready', ...unready(pod.spec.containers) },
      { type: 'ContainersReady', ...unready(pod.spec.containers) },
      { type: 'PodScheduled', status: 'True' },
    ]),
    containerStatuses: pod.spec.containers.map((container) => containerStatus(container, waiting, false)),
  };
}

const exitStatus = (now: number, exitCode: number, startedAt: string): Status => ({
  terminated: { exitCode, reason: exitCode === 0 ? 'Completed' : 'Error', startedAt, finishedAt: timestamp(now) },
});

/** Annotation of a pod. With the value `false`, its readiness probes of any kind fail until it is removed or changed. */
const READY_ANNOTATION = 'local.karpenter-ts.sh/ready';

export const failsProbes = ({ metadata }: Pod): boolean => metadata.annotations?.[READY_ANNOTATION] === 'false';

/** Returns the status of a running pod whose readiness probes fail from now on, or succeed again. */
export function probedStatus(pod: Pod, now: number): Status {
  const fails = failsProbes(pod);
  const readiness = fails ? unready(pod.spec.containers) : ({ status: 'True' } as const);
  return {
    conditions: conditions(pod, now, [
      { type: 'Ready', ...readiness },
      { type: 'ContainersReady', ...readiness },
    ]),
    containerStatuses: (pod.status?.containerStatuses ?? []).map((status) => ({ ...status, ready: !fails })),
  };
}

/** Status of a pod with all containers running. Containers are ready unless their probes fail or need more time. */
export function running(pod: Pod, { podIp, hostIp, startedAt, upMs, now }: Running): Status {
  const state = { running: { startedAt: timestamp(startedAt) } };
  const isReady = (container: Container): boolean =>
    !failsProbes(pod) && (readyAfterMs(container) ?? Number.POSITIVE_INFINITY) <= upMs;
  const waiting = pod.spec.containers.filter((container) => !isReady(container));
  const readiness = waiting.length === 0 ? ({ status: 'True' } as const) : unready(waiting);
  const ip = pod.spec.hostNetwork ? hostIp : podIp;
  return {
    phase: 'Running',
    hostIP: hostIp,
    hostIPs: [{ ip: hostIp }],
    podIP: ip,
    podIPs: [{ ip }],
    conditions: conditions(pod, now, [
      { type: 'PodReadyToStartContainers', status: 'True' },
      { type: 'Initialized', status: 'True' },
      { type: 'Ready', ...readiness },
      { type: 'ContainersReady', ...readiness },
      { type: 'PodScheduled', status: 'True' },
    ]),
    ...(pod.spec.initContainers?.length
      ? {
          initContainerStatuses: pod.spec.initContainers.map((container) =>
            container.restartPolicy === 'Always'
              ? { ...containerStatus(container, state, true), ...resourcesOf(pod, container) }
              : { ...containerStatus(container, exitStatus(now, 0, timestamp(now)), true), started: false },
          ),
        }
      : {}),
    containerStatuses: pod.spec.containers.map((container) => ({
      ...containerStatus(container, state, isReady(container)),
      ...resourcesOf(pod, container),
      started: true,
    })),
    ...(pod.spec.resources === undefined ? {} : startResources(pod.spec.resources)),
  };
}

/** Returns the resources of a container that starts, or of a running container, which may be resized at the same time. */
function resourcesOf({ status = {} }: Pod, { name, resources }: Container): Status {
  const known = [...(status.containerStatuses ?? []), ...(status.initContainerStatuses ?? [])].find(
    (each) => each.name === name && each.resources !== undefined,
  );
  return known === undefined
    ? startResources(resources)
    : defined({ resources: known.resources, allocatedResources: known.allocatedResources });
}

/** Status of a pod that ran all the time although it was reported as not ready. It is ready if its containers are. */
export function readyAgain(pod: Pod, now: number): Status {
  const containers = getCondition(pod, 'ContainersReady');
  const ready = { status: 'True', reason: 'ContainersReady' } as const;
  const change: Omit<Change, 'type'> = containers?.status === 'False' ? unready(pod.spec.containers) : ready;
  return { conditions: conditions(pod, now, [{ type: 'Ready', ...change }]) };
}

/** Status of a pod that ran to completion. */
export function finishedStatus(pod: Pod, now: number): Status {
  const over = { status: 'False', reason: 'PodCompleted' } as const;
  const startedAt = pod.status?.startTime ?? timestamp(now);
  return {
    phase: 'Succeeded',
    conditions: conditions(pod, now, [
      { type: 'PodReadyToStartContainers', status: 'False' },
      { type: 'Initialized', status: 'True', reason: 'PodCompleted' },
      { type: 'Ready', ...over },
      { type: 'ContainersReady', ...over },
    ]),
    containerStatuses: pod.spec.containers.map((container) =>
      containerStatus(container, exitStatus(now, 0, startedAt), false),
    ),
  };
}

/** Status of a pod whose machine was shut down. */
export function killedStatus(pod: Pod, now: number): Status {
  const message = 'Pod was terminated in response to imminent node shutdown.';
  const over = { status: 'False', reason: 'PodFailed' } as const;
  return {
    phase: 'Failed',
    reason: 'Terminated',
    message,
    conditions: conditions(pod, now, [
      { type: 'DisruptionTarget', status: 'True', reason: 'TerminationByKubelet', message },
      { type: 'Ready', ...over },
      { type: 'ContainersReady', ...over },
    ]),
  };
}

/** Returns the runtime of a pod that completes: the seconds of a `sleep` in its command, otherwise ten seconds. */
export function durationMs(pod: Pod): number {
  const [container] = pod.spec.containers as readonly RunContainer[];
  const line = [...(container?.command ?? []), ...(container?.args ?? [])].join(' ');
  return 1000 * Number(/\bsleep\s+(\d+)/.exec(line)?.[1] ?? 10);
}
