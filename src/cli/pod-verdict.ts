/** Computes and renders verdicts on pods. */

import { type PodVerdict, refusedVerdict, waitingText } from '../engine/causes/pod-verdict.ts';
import { joinProgress } from '../engine/node-join.ts';
import { podKey } from '../engine/pods.ts';
import { figuresOf } from './render/simulation.ts';
import { planningPart, table, usdPerHour } from './render/table.ts';
import { indented, terminalWidth } from './render/wrap.ts';
import type { SimulateResult } from './simulate.ts';

/** Verdict with facts that only the command line adds. */
export interface ShownVerdict extends PodVerdict {
  /** Last event of the operator about the pod. */
  readonly event?: string;
}

/** Returns the verdict on the pod with the given namespaced name, from a simulation. */
export function simulatedVerdict(
  pod: string,
  { simulation, snapshot, waiting }: Pick<SimulateResult, 'simulation' | 'snapshot' | 'waiting'>,
): PodVerdict {
  const idle = waiting.find((each) => podKey(each) === pod);
  if (idle) return { pod, code: 'waiting', text: waitingText(idle) };
  const host = snapshot.nodes.find(({ pods }) => pods.some((each) => podKey(each) === pod));
  if (host) return { pod, code: 'running', text: `the pod is on node ${host.name}` };
  const place = simulation.existingNodes.find(({ pods }) => pods.includes(pod));
  if (place) {
    const claim = snapshot.nodes.find(({ name }) => name === place.name)?.nodeClaim;
    const progress = claim && joinProgress(claim, snapshot.nowMs);
    if (progress === undefined) return { pod, code: 'fits', text: `the pod fits on node ${place.name}` };
    return { pod, code: 'joining', text: `the pod waits for NodeClaim ${place.name}: ${progress.text}` };
  }
  const claim = simulation.nodeClaims.find(({ pods }) => pods.includes(pod));
  if (claim) return { pod, code: 'bought', text: launchText(claim) };
  const refusal = simulation.explanations?.[pod];
  if (refusal !== undefined) return refusedVerdict(pod, refusal);
  return { pod, code: 'unknown', text: 'the pod is not pending, and its node is not in the manifests' };
}

function launchText(claim: SimulateResult['simulation']['nodeClaims'][number]): string {
  const { nodePool, cheapest, billedPrice, planning = {}, pods } = claim;
  const shared = pods.length > 1 ? ` and ${pods.length - 1} more` : '';
  return `NodePool ${nodePool} launches a node for the pod${shared}: ${cheapest} for ${usdPerHour(billedPrice)}${planningPart(figuresOf(planning))}`;
}

export function podVerdictText(verdict: ShownVerdict): string {
  const { pod, code, text, since, until, decided, event, nodePools = [] } = verdict;
  const facts = [
    ['verdict', code],
    ['because', text],
    ['since', since],
    ['until', until],
    ['decided', decided],
    ['event', event],
  ].flatMap(([name = '', value]) => {
    if (value === undefined) return [];
    return [`  ${name.padEnd(7)}  ${indented(value, ' '.repeat(11), terminalWidth())}`];
  });
  const rows = nodePools.map((each) => [each.nodePool, each.code, each.text]);
  const reasons = rows.length === 0 ? '' : `\n${table(['NODEPOOL', 'CODE', 'BECAUSE'], rows)}\n`;
  return `Pod ${pod}\n${facts.join('\n')}\n${reasons}`;
}

/** Renders one line per pod. */
export function podVerdictsText(verdicts: readonly PodVerdict[]): string {
  if (verdicts.length === 0) return 'no pending pods\n';
  return `${table(
    ['POD', 'VERDICT', 'BECAUSE'],
    verdicts.map(({ pod, code, text }) => [pod, code, text]),
  )}\n`;
}
