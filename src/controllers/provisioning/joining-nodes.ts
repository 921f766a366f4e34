/**
 * Keeps pods of a launch waiting until its nodes have joined. kube-scheduler binds pods to the nodes that join first, not to the
 * nodes for which the pods were planned, so a solve finds no room for some pods after each node that joins. One launch after the
 * last node costs less than a launch after each node, because more pods are packed together.
 */
import type { Pod } from '../../api/kubernetes.ts';
import type { NodeClaim } from '../../api/nodeclaim.ts';
import type { Placement, Plan, StateNode } from '../../engine/model.ts';
import { USUAL_JOIN_MS } from '../../engine/node-join.ts';
import { isScheduled, podKey } from '../../engine/pods.ts';
import { timeOf } from '../../lib/times.ts';
import { likenessOf } from '../../state/pod-likeness.ts';
import type { Deps } from '../deps.ts';
import { suitability } from './lacks.ts';
import type { Solved } from './results.ts';
import { volumeReader } from './volume-reader.ts';

type State = Pick<Deps, 'cluster' | 'clock'>;

/** Returns the existing NodeClaim that was created for an unscheduled pod. */
export function claimOf({ cluster }: Pick<Deps, 'cluster'>, pod: Pod): NodeClaim | undefined {
  const { nodeClaim } = cluster.podTimings.get(podKey(pod));
  const claim = nodeClaim === undefined || isScheduled(pod) ? undefined : cluster.claim(nodeClaim);
  return claim?.metadata.deletionTimestamp === undefined ? claim : undefined;
}

/**
 * Returns the plan without NodeClaims whose pods all wait for joining nodes of their launch, and with these pods on the joining
 * nodes. Pods wait at most for the time in which a node usually joins.
 */
export function withJoiningNodes(deps: State, { plan, pods }: Pick<Solved, 'plan' | 'pods'>): Plan {
  const joining = plan.claims.length === 0 ? [] : joiningNodes(deps);
  if (joining.length === 0) return plan;
  const nodeFor = nodeFinder(deps, joining);
  const placements: Placement[] = [];
  const claims = plan.claims.filter((claim) => {
    const found = claim.pods.flatMap((key) => {
      const pod = pods.get(key);
      const node = pod && nodeFor(pod);
      return node === undefined ? [] : [{ node: node.name, providerId: node.providerId, pods: [key] }];
    });
    if (found.length < claim.pods.length) return true;
    placements.push(...found);
    return false;
  });
  return placements.length === 0 ? plan : { ...plan, claims, placements: [...plan.placements, ...placements] };
}

/** NodeClaims that were created within this time of each other belong to one launch. */
const SAME_LAUNCH_MS = 5_000;

const createdMs = (claim: NodeClaim | undefined): number => timeOf(claim?.metadata.creationTimestamp);

function joiningNodes({ cluster, clock }: State): readonly StateNode[] {
  const sinceMs = clock.now() - USUAL_JOIN_MS;
  return cluster
    .nodes()
    .filter(
      ({ nodeClaim, initialized, markedForDeletion }) =>
        !initialized && !markedForDeletion && createdMs(nodeClaim) > sinceMs,
    );
}

/** Returns a function that finds a joining node of a pod's launch that could run the pod. */
function nodeFinder(deps: State, joining: readonly StateNode[]): (pod: Pod) => StateNode | undefined {
  const { cluster } = deps;
  const volumes = volumeReader(cluster);
  const known = new Map<string, StateNode | undefined>();
  return (pod) => {
    const claim = claimOf(deps, pod);
    if (claim === undefined) return undefined;
    const key = `${createdMs(claim)} ${likenessOf(pod)}`;
    if (!known.has(key)) {
      const isOfLaunch = ({ nodeClaim }: StateNode) =>
        Math.abs(createdMs(nodeClaim) - createdMs(claim)) <= SAME_LAUNCH_MS;
      const found = joining.find((node) => isOfLaunch(node) && suitability(pod, node, volumes).kind !== 'lacking');
      known.set(key, found);
    }
    return known.get(key);
  };
}
