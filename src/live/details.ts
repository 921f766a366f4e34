/** Details of one node and of one pod. */
import { nodeNameOf, type Pod } from '#api/objects';
import { podKey, podRequests } from '#engine/model';
import type { ClusterState } from '#state';
import { shownConditions } from './pools.ts';
import type { NodeResponse, PodLine, PodResponse } from './responses.ts';
import { nodeRow, waitsSince } from './rows.ts';
import type { LiveView } from './view.ts';

/** Maximum number of pods of a node in the list. Further pods are only counted. */
const MOST_PODS = 500;

export function nodeDetails(name: string, cluster: ClusterState, view: LiveView): NodeResponse | undefined {
  const node = cluster.nodes().find((each) => each.name === name || each.nodeClaim?.metadata.name === name);
  if (node === undefined) return undefined;
  const verdict = view.verdictOf(node.name);
  const claim = node.nodeClaim?.metadata.name;
  return {
    node: nodeRow(node, view.priceOf(claim), verdict),
    labels: node.labels,
    taints: node.taints.map(({ key, value, effect }) => `${key}${value === undefined ? '' : `=${value}`}:${effect}`),
    conditions: [...shownConditions(node.nodeClaim), ...shownConditions(node.node)],
    methods: verdict?.methods.map(({ method, code, text }) => ({ method, code, text })) ?? [],
    ...(verdict?.command === undefined
      ? {}
      : {
          command: { method: verdict.command.method, nodes: verdict.command.nodes, savings: verdict.command.savings },
        }),
    pods: node.pods
      .slice(0, MOST_PODS)
      .map(lineOf)
      .sort((a, b) => (a.pod < b.pod ? -1 : 1)),
    morePods: Math.max(0, node.pods.length - MOST_PODS),
    decisions: view.decisions.about(`Node/${node.name}`, `NodeClaim/${claim}`),
  };
}

const lineOf = (pod: Pod): PodLine => ({
  pod: podKey(pod),
  phase: pod.metadata.deletionTimestamp === undefined ? (pod.status?.phase ?? 'Unknown') : 'Terminating',
  requests: podRequests(pod),
});

export function podDetails(key: string, cluster: ClusterState, view: LiveView): PodResponse | undefined {
  const slash = key.indexOf('/');
  const pod = cluster.stores.pods.get({ namespace: key.slice(0, slash), name: key.slice(slash + 1) });
  if (pod === undefined) return undefined;
  const reason = view.saidOf(key);
  const { nodeClaim } = cluster.podTimings.get(key);
  const scheduled = pod.status?.conditions?.find(({ type }) => type === 'PodScheduled');
  const [owner] = pod.metadata.ownerReferences ?? [];
  return {
    ...lineOf(pod),
    node: nodeNameOf(pod),
    sinceMs: waitsSince(pod),
    scheduling: [scheduled?.reason, scheduled?.message].filter(Boolean).join(': '),
    owner: owner === undefined ? '' : `${owner.kind} ${owner.name}`,
    ...(reason === undefined ? {} : { reason }),
    ...(nodeClaim === undefined ? {} : { nodeClaim }),
  };
}
