/** What a kubelet says about its pods. */
import type { Condition, Container, Pod } from '../../../api/kubernetes.ts';
import { timestamp } from '../../../api/times.ts';
import { withConditions } from '../../conditions.ts';

type Status = Record<string, unknown>;
type Change = Omit<Condition, 'lastTransitionTime'>;

interface Running {
  readonly podIp: string;
  readonly hostIp: string;
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

/** The kubelet has seen the pod and pulls its images. */
export function starting(pod: Pod, hostIp: string, now: number): Status {
  const waiting = { waiting: { reason: 'ContainerCreating' } };
  const names = pod.spec.containers.map(({ name }) => name).join(' ');
  const unready = {
    status: 'False',
    reason: 'ContainersNotReady',
    message: `containers with unready status: [${names}]`,
  } as const;
  return {
    phase: 'Pending',
    hostIP: hostIp,
    startTime: timestamp(now),
    conditions: conditions(pod, now, [
      { type: 'PodReadyToStartContainers', status: 'False' },
      { type: 'Initialized', status: pod.spec.initContainers?.length ? 'False' : 'True' },
      { type: 'Ready', ...unready },
      { type: 'ContainersReady', ...unready },
      { type: 'PodScheduled', status: 'True' },
    ]),
    containerStatuses: pod.spec.containers.map((container) => containerStatus(container, waiting, false)),
  };
}

const exited = (now: number, exitCode: number, startedAt: string): Status => ({
  terminated: { exitCode, reason: exitCode === 0 ? 'Completed' : 'Error', startedAt, finishedAt: timestamp(now) },
});

/** All containers run and are ready. */
export function running(pod: Pod, { podIp, hostIp, now }: Running): Status {
  const state = { running: { startedAt: timestamp(now) } };
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
      { type: 'Ready', status: 'True' },
      { type: 'ContainersReady', status: 'True' },
      { type: 'PodScheduled', status: 'True' },
    ]),
    ...(pod.spec.initContainers?.length
      ? {
          initContainerStatuses: pod.spec.initContainers.map((container) =>
            container.restartPolicy === 'Always'
              ? containerStatus(container, state, true)
              : { ...containerStatus(container, exited(now, 0, timestamp(now)), true), started: false },
          ),
        }
      : {}),
    containerStatuses: pod.spec.containers.map((container) => containerStatus(container, state, true)),
  };
}

/** The pod ran all the time, whatever others thought. */
export const readyAgain = (pod: Pod, now: number): Status => ({
  conditions: conditions(pod, now, [{ type: 'Ready', status: 'True', reason: 'ContainersReady' }]),
});

/** The pod ran to its end. */
export function finished(pod: Pod, now: number): Status {
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
      containerStatus(container, exited(now, 0, startedAt), false),
    ),
  };
}

/** The machine goes away under the pod. */
export function killed(pod: Pod, now: number): Status {
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

/** How long a pod that may end runs: the seconds of a `sleep` in its command, else ten. */
export function durationMs(pod: Pod): number {
  const [container] = pod.spec.containers as readonly (Container & { command?: string[]; args?: string[] })[];
  const line = [...(container?.command ?? []), ...(container?.args ?? [])].join(' ');
  return 1000 * Number(/\bsleep\s+(\d+)/.exec(line)?.[1] ?? 10);
}
