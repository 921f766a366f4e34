/** Updates the status of a PodDisruptionBudget for the moment after a workload was scaled, when new pods are not healthy yet. */
import { desiredHealthy, isTrue, type Pod, type PodDisruptionBudget } from '#api/objects';
import { namespaceOf } from '../pods.ts';
import { selects } from '../selectors.ts';

interface Scaled {
  /** Pods of the workload before the change. */
  readonly pods: readonly Pod[];
  /** Removed pods. */
  readonly gone: readonly Pod[];
  /** Change of the number of pods. */
  readonly grown: number;
}

/** A budget without a status is not changed, because its controller has not counted its pods. */
export function budgetAfterScaling(budget: PodDisruptionBudget, { pods, gone, grown }: Scaled): PodDisruptionBudget {
  const { status, spec } = budget;
  const [pod] = pods;
  if (status?.expectedPods === undefined || pod === undefined || !isFor(budget, pod)) return budget;
  const expectedPods = Math.max(0, status.expectedPods + grown);
  const healthyGone = gone.filter((each) => isFor(budget, each) && isTrue(each, 'Ready')).length;
  const currentHealthy = Math.max(0, (status.currentHealthy ?? 0) - healthyGone);
  const required = desiredHealthy(spec, expectedPods);
  const disruptionsAllowed = expectedPods === 0 ? 0 : Math.max(0, currentHealthy - required);
  return {
    ...budget,
    status: { ...status, expectedPods, currentHealthy, desiredHealthy: required, disruptionsAllowed },
  };
}

const isFor = ({ metadata, spec }: PodDisruptionBudget, pod: Pod): boolean =>
  (metadata.namespace ?? 'default') === namespaceOf(pod) && selects(spec.selector, pod.metadata.labels);
