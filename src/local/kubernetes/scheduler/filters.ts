/** The filters in kube-scheduler's order: a node is reported with the reasons of the first that refuses it. */
import type { Pod } from '../../../api/kubernetes.ts';
import { resourcesFit } from './fit.ts';
import { nodeAffinity } from './nodeaffinity.ts';
import { interPodAffinity } from './podaffinity.ts';
import { nodePorts } from './ports.ts';
import { topologySpread } from './spread.ts';
import { taintToleration } from './taints.ts';
import { nodeUnschedulable } from './unschedulable.ts';
import { type Check, type ClusterView, type Filter, isRefusal, type NodeView } from './view.ts';
import { volumeLimits } from './volumelimits.ts';
import { volumeBinding } from './volumes.ts';

export const FILTERS: readonly Filter[] = [
  nodeUnschedulable,
  taintToleration,
  nodeAffinity,
  nodePorts,
  resourcesFit,
  volumeLimits,
  volumeBinding,
  topologySpread,
  interPodAffinity,
];

export type Verdict =
  | { readonly fits: readonly NodeView[] }
  /** In kube-scheduler's words. */
  | { readonly message: string };

/** Finds the nodes that can run a pod, or says why there is none. */
export function feasibleNodes(pod: Pod, cluster: ClusterView, filters: readonly Filter[] = FILTERS): Verdict {
  if (cluster.nodes.length === 0) return { message: 'no nodes available to schedule pods' };
  const total = cluster.nodes.length;
  const checks: Check[] = [];
  for (const filter of filters) {
    const answer = filter(pod, cluster);
    if (answer === undefined) continue;
    if (isRefusal(answer)) return { message: `0/${total} nodes are available: ${answer.refusal}.` };
    checks.push(answer);
  }
  const fits: NodeView[] = [];
  const reasons = new Map<string, number>();
  for (const node of cluster.nodes) {
    const refused = firstRefusal(checks, node);
    if (refused === undefined) fits.push(node);
    else for (const reason of refused) reasons.set(reason, (reasons.get(reason) ?? 0) + 1);
  }
  if (fits.length > 0) return { fits };
  const counted = [...reasons].map(([reason, count]) => `${count} ${reason}`).sort();
  return { message: `0/${total} nodes are available: ${counted.join(', ')}.` };
}

function firstRefusal(checks: readonly Check[], node: NodeView): readonly string[] | undefined {
  for (const check of checks) {
    const refused = check(node);
    if (refused !== undefined) return refused;
  }
  return undefined;
}
