/**
 * Resizes the running pods of one kubelet in place. The status of a pod is its whole state: a resize is admitted when its
 * requests are allocated, and complete when they are in effect.
 */
import {
  type Container,
  type ContainerStatus,
  getCondition,
  type Pod,
  RESIZE_PENDING,
  type ResourceRequirements,
} from '#api/objects';
import { addResources, amountIn, podRequests, type Resources } from '#engine/model';
import { sameJson, timestamp } from '#lib';
import type { Clock } from '#lib/clock';
import type { KubeletOptions } from './options.ts';

const IN_PROGRESS = 'PodResizeInProgress';
/** Annotation of a pod. With the value `false`, admitted resizes take effect when the annotation is removed or changed. */
const RESIZE_ANNOTATION = 'local.karpenter-ts.sh/resize';
const RESIZABLE = ['cpu', 'memory'] as const;

export interface ResizeOptions {
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly options: Pick<KubeletOptions, 'podResizeMs'>;
  /** Returns the running pods of the node. */
  readonly pods: () => readonly Pod[];
  /** Returns the allocatable resources of the node. */
  readonly allocatable: () => Resources;
  /** Writes a part of the status of a pod. */
  readonly write: (pod: Pod, status: Record<string, unknown>) => Promise<unknown>;
}

/** Returns the resources that a kubelet reports for a container or pod that it starts. */
export const startResources = (
  resources: ResourceRequirements = {},
): Pick<ContainerStatus, 'resources' | 'allocatedResources'> => {
  const { requests, limits } = resources;
  return {
    ...(requests === undefined ? {} : { allocatedResources: requests }),
    resources: { ...(requests === undefined ? {} : { requests }), ...(limits === undefined ? {} : { limits }) },
  };
};

type Statuses = Pick<NonNullable<Pod['status']>, 'containerStatuses' | 'initContainerStatuses'>;

/** Returns the reports with another value for each running container. Ordinary init containers have ended. */
function withReports(pod: Pod, report: (container: Container, status: ContainerStatus) => object): Statuses {
  const { spec, status = {} } = pod;
  const updateReports = (containers: readonly Container[], statuses: readonly ContainerStatus[] | undefined) =>
    statuses?.map((each) => {
      const container = containers.find(({ name }) => name === each.name);
      return container === undefined ? each : { ...each, ...report(container, each) };
    });
  const sidecars = (spec.initContainers ?? []).filter(({ restartPolicy }) => restartPolicy === 'Always');
  const [main, init] = [
    updateReports(spec.containers, status.containerStatuses),
    updateReports(sidecars, status.initContainerStatuses),
  ];
  return { ...(main && { containerStatuses: main }), ...(init && { initContainerStatuses: init }) };
}

const allocationOf = (pod: Pod): Statuses & { readonly allocatedResources?: ResourceRequirements['requests'] } => {
  const { requests } = pod.spec.resources ?? {};
  return {
    ...withReports(pod, ({ resources }) =>
      resources?.requests === undefined ? {} : { allocatedResources: resources.requests },
    ),
    ...(requests === undefined ? {} : { allocatedResources: requests }),
  };
};

const effectOf = (pod: Pod): Statuses & { readonly resources?: ResourceRequirements } => ({
  ...withReports(pod, (container, status) => ({
    resources: startResources(container.resources).resources,
    ...(restarts(container, status) ? { restartCount: countOf(status) + 1 } : {}),
  })),
  ...(pod.spec.resources === undefined ? {} : { resources: startResources(pod.spec.resources).resources ?? {} }),
});

/** Fields of containers and their statuses that the operator does not read. */
interface Restarts {
  readonly resizePolicy?: readonly { readonly resourceName: string; readonly restartPolicy: string }[];
  readonly restartCount?: number;
}

const countOf = (status: ContainerStatus & Restarts): number => status.restartCount ?? 0;

/** Returns true if the policy of a changed resource restarts the container. */
const restarts = ({ resources, resizePolicy = [] }: Container & Restarts, { resources: before }: ContainerStatus) =>
  resizePolicy.some(
    ({ resourceName, restartPolicy }) =>
      restartPolicy === 'RestartContainer' &&
      (['requests', 'limits'] as const).some(
        (list) => resources?.[list]?.[resourceName] !== before?.[list]?.[resourceName],
      ),
  );

const isReported = ({ status }: Pod): boolean =>
  (status?.containerStatuses ?? []).length > 0 && (status?.containerStatuses ?? []).every(({ resources }) => resources);

/** Returns true if the status already has these values. */
const hasStatus = ({ status = {} }: Pod, values: object): boolean =>
  Object.entries(values).every(([field, value]) => sameJson((status as Record<string, unknown>)[field], value));

/** Returns the requests that a pod needs when its resize is complete. */
const desiredRequests = ({ status: _, ...pod }: Pod): Resources => podRequests(pod);

/** Returns the requests that are allocated to a pod. */
function allocatedRequests(pod: Pod): Resources {
  const { status: _, ...fresh } = pod;
  const { spec, status = {} } = pod;
  const statuses = [...(status.containerStatuses ?? []), ...(status.initContainerStatuses ?? [])];
  const withAllocation = (containers: readonly Container[]): readonly Container[] =>
    containers.map((container) => {
      const requests = statuses.find(({ name }) => name === container.name)?.allocatedResources;
      return requests === undefined ? container : { ...container, resources: { ...container.resources, requests } };
    });
  const { containers, initContainers, resources } = spec;
  const whole = status.allocatedResources ?? resources?.requests;
  return podRequests({
    ...fresh,
    spec: {
      ...spec,
      containers: withAllocation(containers),
      ...(initContainers && { initContainers: withAllocation(initContainers) }),
      ...(resources && whole && { resources: { ...resources, requests: whole } }),
    },
  });
}

interface Refusal {
  readonly reason: 'Infeasible' | 'Deferred';
  readonly message: string;
}

export class PodResizes {
  readonly #options: ResizeOptions;
  /** UIDs of pods with a pending write of their status, or with a resize in progress. */
  readonly #busy = new Set<string>();

  constructor(options: ResizeOptions) {
    this.#options = options;
  }

  /** Continues the resizes of all pods. Deferred resizes are tried again after each change on the node. */
  sync(): void {
    for (const pod of this.#options.pods()) this.#continue(pod);
  }

  #continue(pod: Pod): void {
    const uid = pod.metadata.uid ?? '';
    if (this.#busy.has(uid) || pod.status?.phase !== 'Running' || !isReported(pod)) return;
    const step = this.#stepOf(pod);
    if (step === undefined) return;
    this.#busy.add(uid);
    void step().finally(() => {
      this.#busy.delete(uid);
      if (!this.#options.signal.aborted) this.sync();
    });
  }

  /** Returns the next step of the pod's resize, or undefined after the last step. */
  #stepOf(pod: Pod): (() => Promise<unknown>) | undefined {
    const { write, clock } = this.#options;
    const now = timestamp(clock.now());
    const pending = getCondition(pod, RESIZE_PENDING);
    const remove = (type: string) => ({ type, $patch: 'delete' });
    const allocation = allocationOf(pod);
    if (!hasStatus(pod, allocation)) {
      const refusal = this.#refusalOf(pod);
      if (refusal === undefined) {
        const progress = { type: IN_PROGRESS, status: 'True', lastTransitionTime: now };
        return () =>
          write(pod, { ...allocation, conditions: [progress, ...(pending ? [remove(RESIZE_PENDING)] : [])] });
      }
      if (pending?.reason === refusal.reason && pending.message === refusal.message) return undefined;
      return () =>
        write(pod, { conditions: [{ type: RESIZE_PENDING, status: 'True', lastTransitionTime: now, ...refusal }] });
    }
    if (pending !== undefined) return () => write(pod, { conditions: [remove(RESIZE_PENDING)] });
    const isComplete = hasStatus(pod, effectOf(pod));
    if (isComplete && getCondition(pod, IN_PROGRESS) === undefined) return undefined;
    if (pod.metadata.annotations?.[RESIZE_ANNOTATION] === 'false') return undefined;
    return () => this.#complete(pod);
  }

  async #complete({ metadata: { uid } }: Pod): Promise<void> {
    const { clock, signal, options, pods, write } = this.#options;
    await clock.sleep(options.podResizeMs, signal);
    const pod = pods().find((each) => each.metadata.uid === uid);
    // the pod may have ended, or may have been resized again
    if (signal.aborted || pod === undefined || !hasStatus(pod, allocationOf(pod))) return;
    await write(pod, { ...effectOf(pod), conditions: [{ type: IN_PROGRESS, $patch: 'delete' }] });
  }

  /** Returns the reason why the node cannot provide the desired requests, as the kubelet words it. */
  #refusalOf(pod: Pod): Refusal | undefined {
    const { pods, allocatable } = this.#options;
    const [desired, current, all] = [desiredRequests(pod), allocatedRequests(pod), allocatable()];
    const others = pods().filter((each) => each.metadata.uid !== pod.metadata.uid);
    const used = addResources(...others.map(allocatedRequests));
    for (const name of RESIZABLE) {
      const [requested, capacity] = [amountIn(desired, name), amountIn(all, name)];
      if (requested <= amountIn(current, name)) continue;
      if (requested > capacity) {
        const message = `Node didn't have enough capacity: ${name}, requested: ${requested}, capacity: ${capacity}`;
        return { reason: 'Infeasible', message };
      }
      if (requested > capacity - amountIn(used, name)) {
        const amounts = `requested: ${requested}, used: ${amountIn(used, name)}, capacity: ${capacity}`;
        return { reason: 'Deferred', message: `Node didn't have enough resource: ${name}, ${amounts}` };
      }
    }
    return undefined;
  }
}
