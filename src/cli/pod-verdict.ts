/** Computes and renders verdicts on pods. */

import {
  causeKey,
  causeText,
  type PodVerdict,
  preferenceTexts,
  type RemedyProof,
  refusedVerdict,
  runningText,
  spotTexts,
  type WaitingPod,
  waitingText,
} from '#engine/explanations';
import { podKey } from '#engine/model';
import { defined } from '#lib';
import { launchText, placedVerdict } from '#planner';
import { figuresOf } from './render/simulation.ts';
import { counted, inShort, planningPart, table, usdPerHour } from './render/table.ts';
import { indented, terminalWidth } from './render/wrap.ts';
import type { SimulateResult } from './simulate.ts';

/** Verdict with facts that only the command line adds. */
export interface ShownVerdict extends PodVerdict {
  /** Last event of the operator about the pod. */
  readonly event?: string;
  /** Check of the remedy. */
  readonly proof?: RemedyProof;
}

type Simulated = Pick<SimulateResult, 'simulation' | 'snapshot' | 'waiting'>;

/** Returns the verdict on the pod with the given namespaced name, from a simulation. */
export function simulatedVerdict(pod: string, { simulation, snapshot, waiting }: Simulated): PodVerdict {
  const idle = waiting.find((each) => podKey(each.pod) === pod);
  if (idle) return waitingVerdict(idle);
  for (const { name, pods } of snapshot.nodes) {
    const found = pods.find((each) => podKey(each) === pod);
    if (found) return { pod, code: 'running', text: runningText(found, name) };
  }
  const preferences = preferenceTexts(simulation.preferences).get(pod);
  const spot = spotTexts(simulation.spotRules).get(pod);
  const place = simulation.existingNodes.find(({ pods }) => pods.includes(pod));
  if (place) return { ...verdictOnNode(pod, place.name, snapshot), ...defined({ preferences, spot }) };
  const claim = simulation.nodeClaims.find(({ pods }) => pods.includes(pod));
  return claim
    ? { pod, code: 'bought', text: boughtText(claim), ...defined({ preferences, spot }) }
    : { ...refusal(pod, simulation), ...defined({ spot }) };
}

/** Returns the verdicts on all pending pods of a simulation. */
export function simulatedVerdicts({ simulation, snapshot, waiting }: Simulated): readonly PodVerdict[] {
  const decided = new Map<string, PodVerdict>();
  for (const { name, pods } of simulation.existingNodes)
    for (const pod of pods) decided.set(pod, verdictOnNode(pod, name, snapshot));
  for (const claim of simulation.nodeClaims)
    for (const pod of claim.pods) decided.set(pod, { pod, code: 'bought', text: boughtText(claim) });
  return [
    ...snapshot.pendingPods.map(podKey).map((pod) => decided.get(pod) ?? refusal(pod, simulation)),
    ...waiting.map(waitingVerdict),
  ];
}

const waitingVerdict = (waiting: WaitingPod): PodVerdict => ({
  pod: podKey(waiting.pod),
  code: 'waiting',
  text: waitingText(waiting),
});

const verdictOnNode = (pod: string, name: string, { nodes, nowMs }: Simulated['snapshot']): PodVerdict =>
  placedVerdict(pod, nodes.find((node) => node.name === name) ?? { name }, nowMs);

function refusal(pod: string, { explanations }: Simulated['simulation']): PodVerdict {
  const found = explanations?.[pod];
  return found === undefined
    ? { pod, code: 'unknown', text: 'the pod is not pending, and its node is not in the manifests' }
    : refusedVerdict(pod, found);
}

function boughtText(claim: SimulateResult['simulation']['nodeClaims'][number]): string {
  const { nodePool, cheapest, billedPrice, planning = {}, pods } = claim;
  return `${launchText(nodePool, pods.length - 1)}: ${cheapest} for ${usdPerHour(billedPrice)}${planningPart(figuresOf(planning))}`;
}

export function podVerdictText(verdict: ShownVerdict): string {
  const {
    pod,
    code,
    text,
    preferences,
    spot,
    since,
    until,
    nextAttempt,
    decided,
    event,
    proof,
    nodePools = [],
  } = verdict;
  const facts = [
    ['verdict', code],
    ['because', text],
    ['prefers', preferences],
    ['spot', spot],
    ['since', since],
    ['until', until],
    ['next', nextAttempt],
    ['decided', decided],
    ['event', event],
    ['checked', proof && remedyProofText(proof)],
  ].flatMap(([name = '', value]) => {
    if (value === undefined) return [];
    return [`  ${name.padEnd(7)}  ${indented(value, ' '.repeat(11), terminalWidth())}`];
  });
  const rows = nodePools.map((each) => [each.nodePool, each.code, each.text]);
  const reasons = rows.length === 0 ? '' : `\n${table(['NODEPOOL', 'CODE', 'BECAUSE'], rows)}\n`;
  return `Pod ${pod}\n${facts.join('\n')}\n${reasons}`;
}

/** Renders the changes of a check, the causes that remained, and the place of the pod. */
export function remedyProofText({ steps, place, remaining, problem }: RemedyProof): string {
  const changes = steps.map(({ cause, change }, at) =>
    at === 0 ? `if ${change}` : `a further cause remains: ${causeText(cause)} If also ${change}`,
  );
  const end =
    place !== undefined
      ? `the pod ${placeText(place)}`
      : remaining === undefined
        ? `the pod stays pending: ${problem}`
        : `${steps.length === 0 ? '' : `a further cause remains: ${causeText(remaining)} `}The check ends here: ${problem}`;
  return [...changes, end].join(', ');
}

const placeText = ({ node, nodePool, instanceType }: NonNullable<RemedyProof['place']>): string =>
  node === undefined ? `goes to a new node of NodePool ${nodePool} (${instanceType})` : `goes to node ${node}`;

/** Pods with the same reason. */
interface Group {
  readonly code: PodVerdict['code'];
  readonly text: string;
  readonly pods: string[];
}

function groupsOf(verdicts: readonly PodVerdict[]): readonly Group[] {
  const groups = new Map<string, Group>();
  for (const verdict of verdicts) {
    const reason = causeKey(verdict);
    const group = groups.get(reason) ?? { code: verdict.code, text: verdict.text, pods: [] };
    group.pods.push(verdict.pod);
    groups.set(reason, group);
  }
  const isRefused = ({ code }: Group): number => Number(code === 'unschedulable' || code === 'held');
  return [...groups.values()].toSorted((a, b) => isRefused(b) - isRefused(a) || b.pods.length - a.pods.length);
}

/** Renders pods that wait for the same reason together, pods without a node in sight first. */
export function podVerdictsText(verdicts: readonly PodVerdict[]): string {
  if (verdicts.length === 0) return 'no pending pods\n';
  const width = terminalWidth();
  const groups = groupsOf(verdicts).map(({ code, text, pods }) =>
    [
      `${counted(pods.length, 'pod')}  ${code}`,
      `  ${indented(text, '  ', width)}`,
      `  ${indented(inShort([...pods].sort()), '  ', width)}`,
    ].join('\n'),
  );
  const hint = 'karpenter explain pod NAME -n NAMESPACE shows the reason of each NodePool';
  return `${counted(verdicts.length, 'pending pod')}\n\n${groups.join('\n\n')}\n\n${hint}\n`;
}
