/** Order in which kube-controller-manager deletes surplus pods of a workload. */
import { type ContainerStatus, getCondition, type Pod } from '#api/objects';
import { isPodActive, isPodReady, restartsOf } from './pods.ts';

const DELETION_COST = 'controller.kubernetes.io/pod-deletion-cost';
const PHASES: readonly (string | undefined)[] = ['Pending', 'Unknown', 'Running'];
const NANOSECONDS_PER_MS = 1_000_000;

/** Input for ReplicaSets in addition to the pods. */
interface Surroundings {
  /** Pods of all ReplicaSets of the same Deployment. */
  readonly related: readonly Pod[];
  /**
   * Current time. Ages are compared by their order of magnitude, so that the youngest pods are not always deleted
   * first.
   */
  readonly now: number;
}

/** Negative if the first pod is deleted before the second. */
type Comparison = (a: Pod, b: Pod) => number;

const lowest =
  (value: (pod: Pod) => number): Comparison =>
  (a, b) =>
    value(a) - value(b);
const highest =
  (value: (pod: Pod) => number): Comparison =>
  (a, b) =>
    value(b) - value(a);

/** Returns 0 for a cost that is not a valid 32-bit integer. */
const deletionCost = ({ metadata }: Pod): number => {
  const text = metadata.annotations?.[DELETION_COST] ?? '';
  const cost = /^(?:0|-?[1-9]\d*)$/.test(text) ? Number(text) : 0;
  return cost >= -(2 ** 31) && cost < 2 ** 31 ? cost : 0;
};

function crowding(related: readonly Pod[]): Comparison {
  const pods = new Map<string | undefined, number>();
  for (const pod of related) {
    const { nodeName } = pod.spec;
    if (isPodActive(pod)) pods.set(nodeName, (pods.get(nodeName) ?? 0) + 1);
  }
  return highest(({ spec }) => pods.get(spec.nodeName) ?? 0);
}

/** Compares times, latest first. With `now`, compares the orders of magnitude of the ages, then UIDs. */
const latest =
  (time: (pod: Pod) => number, now: number | undefined): Comparison =>
  (a, b) => {
    const [first, second] = [time(a), time(b)];
    if (first === second || Number.isNaN(first) || Number.isNaN(second)) return 0;
    if (now === undefined) return second - first;
    return (
      magnitude(now - first) - magnitude(now - second) || ((a.metadata.uid ?? '') < (b.metadata.uid ?? '') ? -1 : 1)
    );
  };

/** Returns the integer binary logarithm of an age in nanoseconds. */
const magnitude = (ageMs: number): number => (ageMs > 0 ? Math.trunc(Math.log2(ageMs * NANOSECONDS_PER_MS)) : -1);

const mostRestarts = (statuses: readonly ContainerStatus[] | undefined): number => Math.max(0, ...restartsOf(statuses));

const sidecarRestarts = ({ spec, status }: Pod): number => {
  const sidecars = new Set(
    (spec.initContainers ?? []).filter((one) => one.restartPolicy === 'Always').map(({ name }) => name),
  );
  return mostRestarts(status?.initContainerStatuses?.filter(({ name }) => sidecars.has(name)));
};

/** Sorts pods in the order of their deletion. Only ReplicaSets have surroundings. */
export function scaleDownOrder(pods: readonly Pod[], surroundings?: Surroundings): readonly Pod[] {
  const now = surroundings?.now;
  const comparisons: readonly Comparison[] = [
    lowest(({ spec }) => (spec.nodeName ? 1 : 0)),
    lowest(({ status }) => Math.max(0, PHASES.indexOf(status?.phase))),
    lowest((pod) => (isPodReady(pod) ? 1 : 0)),
    ...(surroundings ? [lowest(deletionCost), crowding(surroundings.related)] : []),
    latest((pod) => Date.parse((isPodReady(pod) && getCondition(pod, 'Ready')?.lastTransitionTime) || ''), now),
    highest(({ status }) => mostRestarts(status?.containerStatuses)),
    highest(sidecarRestarts),
    latest(({ metadata }) => Date.parse(metadata.creationTimestamp ?? ''), now),
    // not a rule of kube-controller-manager; makes runs repeatable
    (a, b) => (a.metadata.name < b.metadata.name ? -1 : 1),
  ];
  return [...pods].sort((a, b) => {
    for (const compare of comparisons) {
      const result = compare(a, b);
      if (result !== 0) return result;
    }
    return 0;
  });
}
