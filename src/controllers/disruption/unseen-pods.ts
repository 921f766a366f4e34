/**
 * Compares the nodes of a command with the API server immediately before their deletion. The decision and its validation
 * read the cache, which is outdated while a watch is silent.
 */
import { POD_DISRUPTION_BUDGET, type Pod, type PodDisruptionBudget } from '#api/objects';
import { budgetsOf, type Candidate, type Command, type Method, podBlock } from '#engine/disruption';
import { isEverEvictable, isReschedulable, podKey } from '#engine/model';
import { PODS_BY_NODE } from '#state';
import type { Deps } from '../deps.ts';
import { expectInCache, LIST_WITHIN_MS, listPodsOnNode } from '../listed-pods.ts';

type Reads = Pick<Deps, 'client' | 'cluster' | 'clock' | 'informers' | 'log'>;

/**
 * Returns the candidates that must not be deleted, with the reasons. Lists the pods of each candidate, and the budgets once
 * if any of these pods can be evicted.
 * @throws Error if a list fails
 */
export async function candidatesToKeep(
  deps: Reads,
  { reason, class: ofMethod }: Pick<Command, 'reason'> & Pick<Method, 'class'>,
  candidates: readonly Candidate[],
): Promise<ReadonlyMap<Candidate, string>> {
  const { client, cluster, clock } = deps;
  // a terminationGracePeriod permits the disruption of protected pods
  const isCleared = ({ nodeClaim }: Candidate): boolean =>
    ofMethod === 'eventual' && nodeClaim.spec.terminationGracePeriod !== undefined;
  const listed = await Promise.all(
    candidates
      .filter((candidate) => !isCleared(candidate))
      .map(async (candidate) => ({ candidate, pods: await listPodsOnNode(client, candidate.name) })),
  );
  const budgets = await listBudgets(
    client,
    listed.flatMap(({ pods }) => pods.filter(isEverEvictable)),
  );
  const isNew = ({ metadata }: PodDisruptionBudget): boolean => {
    const known = cluster.stores.podDisruptionBudgets.get(metadata)?.metadata;
    return known?.uid !== metadata.uid || known?.generation !== metadata.generation;
  };
  const newBudgets = budgets.filter(isNew);

  /** Returns the reason to keep a candidate, or undefined if it may be deleted. */
  const reasonFor = (candidate: Candidate, pods: readonly Pod[]): string | undefined => {
    const block = podBlock(pods, budgets, clock.now());
    if (block?.code === 'pod-do-not-disrupt') return block.text;
    const planned = candidate.reschedulablePods.map(({ metadata }) => metadata.uid);
    const cached = cluster.stores.pods.byIndex(PODS_BY_NODE, candidate.name).map(({ metadata }) => metadata.uid);
    // the plan of an empty node has no place for a pod that arrived after the decision
    const known = new Set(reason === 'Empty' ? planned : [...planned, ...cached]);
    const unknown = pods.find((pod) => isReschedulable(pod) && !known.has(pod.metadata.uid));
    if (unknown !== undefined) return `a pod was bound after the decision (Pod=${podKey(unknown)})`;
    // a drain waits for the other budgets, which the decision considered
    const isHeld = newBudgets.length > 0 && pods.some((pod) => isEverEvictable(pod) && budgetsOf(pod, newBudgets)[0]);
    return isHeld ? block?.text : undefined;
  };

  const kept = new Map<Candidate, string>();
  for (const { candidate, pods } of listed) {
    const text = reasonFor(candidate, pods);
    if (text === undefined) continue;
    kept.set(candidate, text);
    expectInCache(deps, pods);
  }
  return kept;
}

/** Lists the budgets that may select the pods. */
async function listBudgets(client: Reads['client'], pods: readonly Pod[]): Promise<readonly PodDisruptionBudget[]> {
  const [namespace, ...others] = new Set(pods.map(({ metadata }) => metadata.namespace ?? 'default'));
  if (namespace === undefined) return [];
  const query = { withinMs: LIST_WITHIN_MS };
  return client.listAll(POD_DISRUPTION_BUDGET, others.length === 0 ? { ...query, namespace } : query);
}
