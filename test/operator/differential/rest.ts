/**
 * Detects a world at rest: conditions are current, NodeClaims are initialized or gone, and pods are bound if
 * possible.
 */
import {
  CAPACITY_BUFFER,
  type CapacityBuffer,
  type Conditioned,
  EC2_NODE_CLASS,
  getCondition,
  isTrue,
  type Kind,
  type KubeObject,
  NODE_CLAIM,
  NODE_OVERLAY,
  NODE_POOL,
  type NodeClaim,
  type NodePool,
  PERSISTENT_VOLUME,
  PERSISTENT_VOLUME_CLAIM,
  POD,
  POD_DISRUPTION_BUDGET,
  type Pod,
} from '#api/objects';
import { isOwnedByDaemonSet, isUnschedulable } from '#engine/model';
import type { Scenario } from '../harness.ts';

/** kube-scheduler binds pods asynchronously, and so are volumes bound. */
const LOOK_MS = 40;
const WATCHED: readonly Kind[] = [
  POD,
  NODE_CLAIM,
  NODE_POOL,
  PERSISTENT_VOLUME_CLAIM,
  PERSISTENT_VOLUME,
  POD_DISRUPTION_BUDGET,
];

/** Returns pods for which a node may be launched. @throws Error if the API server does not respond */
export const waitingPods = async (scenario: Scenario): Promise<readonly Pod[]> =>
  (await scenario.pods()).filter(
    (pod) => !pod.spec.nodeName && pod.status?.phase === 'Pending' && !isOwnedByDaemonSet(pod) && isTried(pod),
  );

/** Returns true if kube-scheduler schedules the pod, or if another scheduler has tried it. */
const isTried = (pod: Pod): boolean => {
  const { schedulerName = 'default-scheduler', schedulingGates = [] } = pod.spec;
  return (schedulerName === 'default-scheduler' && schedulingGates.length === 0) || isUnschedulable(pod);
};

/** Returns the nodes and the place of each pod, as text to compare. @throws Error if the API server does not respond */
export async function placesIn(scenario: Scenario): Promise<string> {
  const claims = (await scenario.claims()).map(({ metadata }) => metadata.name);
  const pods = (await scenario.pods()).map(({ metadata, spec }) => `${metadata.name} on ${spec.nodeName ?? 'no node'}`);
  return [...claims, ...pods].sort().join();
}

/** @throws Error that describes the world if it does not settle */
export async function atRest(scenario: Scenario): Promise<void> {
  let seen = 'nothing yet';
  await scenario.until('a world at rest', async () => {
    const { kube } = scenario;
    const [pools, classes, claims, overlays, buffers, pods] = await Promise.all([
      kube.list(NODE_POOL),
      kube.list(EC2_NODE_CLASS),
      scenario.claims(),
      kube.list(NODE_OVERLAY),
      kube.list(CAPACITY_BUFFER),
      scenario.pods(),
    ]);
    // the operator makes room for buffers only if a NodePool can launch nodes
    const isLooking = pools.items.some((pool) => isTrue(pool, 'Ready') && pool.spec.replicas === undefined);
    if (isLooking && !buffers.items.every(hasRoom)) return false;
    const objects: readonly KubeObject[] = [...pools.items, ...classes.items, ...overlays.items];
    const done = claims.filter((claim) => isDone(claim, pods));
    if (!objects.every(isJudged) || done.length < claims.length || claims.length < replicasIn(pools.items))
      return false;
    const before = seen;
    seen = await versions(scenario);
    return seen === before;
  });
}

/** Returns the versions of the objects of a cluster after a short time, as text to compare. */
export async function versions({ kube }: Scenario): Promise<string> {
  await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
  const lists = await Promise.all(WATCHED.map((kind) => kube.list(kind)));
  return lists
    .flatMap(({ items }) => items.map(({ metadata }) => `${metadata.name} ${metadata.resourceVersion}`))
    .join();
}

/** Reports whether the room exists or cannot be launched. During a launch, the NodeClaim is briefly invisible. */
function hasRoom(buffer: CapacityBuffer): boolean {
  const condition = getCondition(buffer as Conditioned, 'Provisioning');
  return condition?.status === 'True' || condition?.message?.startsWith('0/') === true;
}

function isJudged(object: KubeObject): boolean {
  const { conditions = [] } =
    (object as { readonly status?: { readonly conditions?: readonly Condition[] } }).status ?? {};
  const { generation, deletionTimestamp } = object.metadata;
  if (deletionTimestamp !== undefined) return true; // its conditions do not change
  const last = conditions.find(({ type }) => type === 'Ready');
  return last !== undefined && last.status !== 'Unknown' && (last.observedGeneration ?? generation) === generation;
}

interface Condition {
  readonly type: string;
  readonly status: string;
  readonly observedGeneration?: number;
}

/**
 * Reports whether a NodeClaim is at rest. A deleted one is, if pods that cannot be evicted block the drain of its
 * node. A NodeClaim with startup taints stays uninitialized, because no component removes them.
 */
const isDone = (claim: NodeClaim, pods: readonly Pod[]): boolean =>
  isTrue(claim, (claim.spec.startupTaints ?? []).length > 0 ? 'Registered' : 'Initialized') &&
  (claim.metadata.deletionTimestamp === undefined ||
    pods.some((pod) => pod.spec.nodeName === claim.status?.nodeName && !isOwnedByDaemonSet(pod)));

const replicasIn = (pools: readonly NodePool[]): number =>
  pools.filter((pool) => isTrue(pool, 'Ready')).reduce((sum, { spec }) => sum + (spec.replicas ?? 0), 0);
