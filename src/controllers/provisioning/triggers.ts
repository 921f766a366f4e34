/** Pending pods, nodes whose pods will need another place, and NodePools that can buy again open a provisioning run. */
import { isTrue, READY } from '../../api/conditions.ts';
import { NODE, NODE_POOL, POD } from '../../api/kinds.ts';
import type { Node, Pod } from '../../api/kubernetes.ts';
import { DISRUPTED_TAINT } from '../../api/labels.ts';
import type { NodePool } from '../../api/nodepool.ts';
import { isProvisionable, podKey } from '../../engine/pods.ts';
import { sameTaint } from '../../engine/taints.ts';
import { after, type Reconciler, settled } from '../../kube/reconciler.ts';
import { timeOf } from '../../lib/times.ts';
import type { Deps } from '../deps.ts';
import type { PodBatcher } from './batcher.ts';
import { someAwaitReadiness } from './pools.ts';
import { isUntried, replicatorOf, UnschedulableReplicators } from './untried-replicas.ts';

/** A pod that a run did not help, because state was not synced or a launch failed, asks again this often. */
const AGAIN_MS = 10_000;

/** Kubernetes cuts its times to whole seconds. */
const SECOND_MS = 1_000;

/** When kube-scheduler tried it; never as far as one can see when it does not say. */
function triedMs({ status }: Pod): number {
  const { lastTransitionTime } = status?.conditions?.find(({ type }) => type === 'PodScheduled') ?? {};
  const ms = timeOf(lastTransitionTime);
  return Number.isNaN(ms) ? Number.NEGATIVE_INFINITY : ms;
}

/**
 * A pod that waits for a node opens a window, or keeps the open one open. Replicas count when they arrive and not again
 * when kube-scheduler has tried them: a window shall not stay open for as long as that takes for hundreds of them.
 */
export function podTrigger({ clock, cluster }: Deps, batcher: PodBatcher): Reconciler<Pod> {
  const unschedulable = new UnschedulableReplicators(cluster.stores.pods);
  const isLikeUnschedulable = (pod: Pod): boolean => {
    const replicator = replicatorOf(pod);
    return replicator !== undefined && unschedulable.has(replicator) && isUntried(pod);
  };
  /** How long a place is still trusted that was found before kube-scheduler tried the pod. */
  const trustedMs = (pod: Pod): number => {
    const { schedulableMs, decidedMs = 0 } = cluster.podTimings.get(podKey(pod));
    const isEarly = decidedMs < triedMs(pod) + SECOND_MS;
    return schedulableMs === undefined || !isEarly ? 0 : decidedMs + AGAIN_MS - clock.now();
  };
  return {
    name: 'provisioner.trigger.pod',
    watches: POD,
    concurrency: 1000,
    rateLimit: { qps: 1000, burst: 10_000 },
    filter: (pod, event) => event !== 'deleted' && (isProvisionable(pod) || isLikeUnschedulable(pod)),

    async reconcile(pod) {
      const isTried = isProvisionable(pod);
      if (!isTried && !isLikeUnschedulable(pod)) return settled;
      cluster.podTimings.acknowledge(podKey(pod), clock.now());
      const restMs = trustedMs(pod);
      if (restMs > 0) return after(restMs);
      batcher.trigger((isTried ? replicatorOf(pod) : undefined) ?? pod.metadata.uid ?? podKey(pod));
      return after(AGAIN_MS);
    },
  };
}

const isDisrupted = (node: Node): boolean =>
  (node.spec?.taints ?? []).some((taint) => sameTaint(taint, DISRUPTED_TAINT));

export function nodeTrigger(batcher: PodBatcher): Reconciler<Node> {
  return {
    name: 'provisioner.trigger.node',
    watches: NODE,
    concurrency: 10,
    filter: (node, event) => event !== 'deleted' && isDisrupted(node),

    async reconcile(node) {
      if (!isDisrupted(node)) return settled;
      batcher.trigger(node.metadata.uid ?? node.metadata.name);
      return after(AGAIN_MS);
    },
  };
}

/** A pool that became ready, or was edited while ready: what no pool would take before, it may take now. */
const mayTakeMore = (pool: NodePool, before: NodePool | undefined): boolean =>
  isTrue(pool, READY) &&
  (before === undefined || !isTrue(before, READY) || before.metadata.generation !== pool.metadata.generation);

/**
 * Runs at once when no other NodePool is about to become ready: pods that came before have waited long enough. Otherwise
 * a run might buy from the first that is ready what another is preferred for.
 */
export function poolTrigger(deps: Deps, batcher: PodBatcher): Reconciler<NodePool> {
  return {
    name: 'provisioner.trigger.nodepool',
    watches: NODE_POOL,
    filter: (pool, event, before) => event !== 'deleted' && mayTakeMore(pool, before),

    async reconcile(pool) {
      if (someAwaitReadiness(deps)) batcher.triggerUnsettled(pool.metadata.uid ?? pool.metadata.name);
      else batcher.settled();
      return settled;
    },
  };
}
