/** What would happen to the pods if some nodes were gone: the solver's answer on a snapshot without them. */
import type { Pod } from '../../api/kubernetes.ts';
import { NODEPOOL_LABEL } from '../../api/labels.ts';
import type { NodePool } from '../../api/nodepool.ts';
import type { Plan, PlannedClaim, PoolInput, Snapshot, StateNode } from '../model.ts';
import { isProvisionable, podKey } from '../pods.ts';
import type { Candidate } from './candidates.ts';
import { isUnderConsolidateAfter } from './consolidateafter.ts';
import { currentlyReschedulable } from './podblocks.ts';
import type { DeclineCode, Reason } from './reasons.ts';

export interface SimulationOptions {
  /** Keep pods from being moved onto nodes that are within their pool's `consolidateAfter` window. */
  readonly sparesQuietNodes: boolean;
}

/** A snapshot to solve, and what is needed to read the answer. */
export interface Experiment {
  readonly snapshot: Snapshot;
  readonly pods: ReadonlyMap<string, Pod>;
  /** Pods that lose their node in any case. */
  readonly displaced: ReadonlySet<string>;
}

export interface Simulation {
  /** The nodes that would have to be bought. */
  readonly claims: readonly PlannedClaim[];
  readonly plan: Plan;
  /** What could be bought. */
  readonly pools: readonly PoolInput[];
  readonly pods: ReadonlyMap<string, Pod>;
  /** Pods that run now and would not find a place, with the reason. */
  readonly stranded: ReadonlyMap<string, string>;
}

/**
 * Takes candidates out of a snapshot whose pending pods are those waiting now. Undefined when a candidate is being
 * deleted meanwhile. `nodePools` are all that nodes may belong to, those too that buy nothing for pods.
 */
export function withoutCandidates(
  base: Snapshot,
  candidates: readonly Candidate[],
  { sparesQuietNodes }: SimulationOptions,
  nodePools: readonly NodePool[],
): Experiment | undefined {
  const gone = new Set(candidates.map(({ providerId }) => providerId));
  const deleting = base.nodes.filter(({ markedForDeletion }) => markedForDeletion);
  if (deleting.some(({ providerId }) => gone.has(providerId))) return undefined;
  const movable = (pod: Pod): boolean => currentlyReschedulable(pod, base.podDisruptionBudgets, base.nowMs);
  const displaced = deleting.filter(({ node }) => node !== undefined).flatMap(({ pods }) => pods.filter(movable));
  const moved = candidates.flatMap(({ stateNode }) => stateNode.pods.filter(movable));
  const all = [...base.pendingPods, ...moved, ...displaced];
  const isDisplaced = new Set(displaced.map(podKey));
  const inAnyCase = all.filter((pod) => pod.status?.phase === 'Pending' || isDisplaced.has(podKey(pod)));
  return {
    snapshot: {
      ...base,
      // still there for the pods that stay on them to the end
      nodes: base.nodes.map((node) => (gone.has(node.providerId) ? { ...node, markedForDeletion: true } : node)),
      pendingPods: all,
      ...(sparesQuietNodes
        ? { quiet: { nodes: quietNodes(base, nodePools), exempt: new Set(inAnyCase.map(podKey)) } }
        : {}),
    },
    pods: new Map(all.map((pod) => [podKey(pod), pod])),
    displaced: isDisplaced,
  };
}

/** Nodes that are within their pool's `consolidateAfter` window, by provider id. */
function quietNodes({ nodes, nowMs }: Snapshot, nodePools: readonly NodePool[]): ReadonlySet<string> {
  const byName = new Map(nodePools.map((pool) => [pool.metadata.name, pool]));
  const quiet = nodes.filter(({ nodeClaim, labels }) => {
    const pool = byName.get(labels[NODEPOOL_LABEL] ?? '');
    return pool !== undefined && nodeClaim !== undefined && isUnderConsolidateAfter(nodeClaim, pool, nowMs);
  });
  return new Set(quiet.map(({ providerId }) => providerId));
}

/** Reads the solver's answer. Pods may not count on nodes that are not initialised: those may never come to be. */
export function interpret(plan: Plan, { snapshot, pods, displaced }: Experiment): Simulation {
  const problems = new Map([...plan.refusals].map(([key, { text }]) => [key, text]));
  for (const key of plan.notEvaluated) problems.set(key, 'there was no time to find a place for it');
  const nodes = new Map(snapshot.nodes.map((node) => [node.providerId, node]));
  for (const { providerId, pods: placed } of plan.placements) {
    const node = nodes.get(providerId);
    if (node === undefined || node.initialized || node.nodeClaim === undefined) continue;
    for (const key of placed) if (!displaced.has(key)) problems.set(key, uninitializedText(node));
  }
  const stranded = [...problems].filter(([key]) => {
    const pod = pods.get(key);
    return pod !== undefined && !isProvisionable(pod);
  });
  return { claims: plan.claims, plan, pools: snapshot.pools, pods, stranded: new Map(stranded) };
}

function uninitializedText({ node, nodeClaim }: StateNode): string {
  const parts = [
    ...(nodeClaim ? [`nodeclaim/${nodeClaim.metadata.name}`] : []),
    ...(node ? [`node/${node.metadata.name}`] : []),
  ];
  return `would schedule against uninitialized ${parts.join(', ')}`;
}

/** Why a node must stay for the pods that run now. */
export function strandedReason(stranded: ReadonlyMap<string, string>): Reason<DeclineCode> {
  const [first] = [...stranded.keys()];
  const [namespace = '', name = ''] = (first ?? '').split('/');
  return {
    code: 'pods-stranded',
    text: strandedText(stranded),
    object: { kind: 'Pod', namespace, name },
    nearestMiss: `${stranded.size} pod(s) would find no place`,
  };
}

const SHOWN = 5;

/** For events: the first few pods that would be stranded. */
export function strandedText(stranded: ReadonlyMap<string, string>): string {
  const shown = [...stranded].slice(0, SHOWN).map(([key, text]) => `${key} => ${text}`);
  const more = stranded.size > SHOWN ? ` and ${stranded.size - SHOWN} other(s)` : '';
  return `not all pods would schedule, ${shown.join('; ')}${more}`;
}
