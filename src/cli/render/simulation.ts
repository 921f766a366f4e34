/** A simulation for people. */
import { CAPACITY_TYPE_LABEL, ZONE_LABEL } from '../../api/labels.ts';
import type { PodRefusal } from '../../engine/model.ts';
import { misfitText } from '../../engine/solver/misfits.ts';
import type { SimulatedClaim, Simulation } from './plan.ts';
import { counted, table, unknownText, usdPerHour } from './table.ts';

const valuesOf = ({ requirements }: SimulatedClaim, key: string): string =>
  requirements.find((requirement) => requirement.key === key)?.values?.join(',') ?? 'any';

function claimRows(claims: readonly SimulatedClaim[]): readonly (readonly string[])[] {
  return claims.map((claim) => {
    const { nodePool, cheapest, instanceTypes, pods, requests, price } = claim;
    return [
      nodePool,
      cheapest,
      `+${instanceTypes.length - 1}`,
      valuesOf(claim, ZONE_LABEL),
      valuesOf(claim, CAPACITY_TYPE_LABEL),
      String(pods.length),
      requests.cpu ?? '0',
      requests.memory ?? '0',
      usdPerHour(price),
    ];
  });
}

const CLAIM_HEADINGS = ['NODEPOOL', 'CHEAPEST', 'OTHERS', 'ZONE', 'CAPACITY', 'PODS', 'CPU', 'MEMORY', 'PRICE'];

/** Pods with the same reason on one line: thousands of replicas fail for one reason. */
function refusalLines(unschedulable: Simulation['unschedulable']): readonly string[] {
  const byReason = Map.groupBy(Object.entries(unschedulable), ([, reason]) => reason);
  return [...byReason].map(([reason, pods]) => {
    const [[first = ''] = []] = pods;
    const others = pods.length > 1 ? ` and ${counted(pods.length - 1, 'other')}` : '';
    return `  ${first}${others}: ${reason}`;
  });
}

/** Pods with the same reasons under one heading. */
function explanationLines(explanations: Readonly<Record<string, PodRefusal>>): readonly string[] {
  const alike = Map.groupBy(Object.entries(explanations), ([, refusal]) => reasonLines(refusal).join('\n'));
  return [...alike].map(([reasons, pods]) => {
    const [[first = ''] = []] = pods;
    const others = pods.length > 1 ? ` and ${counted(pods.length - 1, 'other')}` : '';
    return `  ${first}${others}\n${reasons}`;
  });
}

const reasonLines = (refusal: PodRefusal): readonly string[] =>
  refusal.code === 'no-fit'
    ? refusal.pools.map(({ nodePool, misfit }) => `    ${nodePool}: ${misfit.code}: ${misfitText(misfit)}`)
    : [`    ${refusal.code}`];

export function simulationText({
  nodeClaims,
  existingNodes,
  unschedulable,
  totalPrice,
  explanations,
  unknown,
}: Simulation): string {
  const placed = existingNodes.map(({ name, pods }) => [name, String(pods.length)]);
  const refused = Object.keys(unschedulable).length;
  const sections = [
    table(CLAIM_HEADINGS, claimRows(nodeClaims)),
    table(['EXISTING NODE', 'PODS'], placed),
    refused === 0 ? '' : ['UNSCHEDULABLE', ...refusalLines(unschedulable)].join('\n'),
    explanations === undefined || refused === 0 ? '' : ['WHY', ...explanationLines(explanations)].join('\n'),
    unknownText(unknown),
    `${counted(nodeClaims.length, 'new node')} for ${usdPerHour(totalPrice)}, ${counted(refused, 'pod')} unschedulable`,
  ];
  return `${sections.filter((section) => section !== '').join('\n\n')}\n`;
}
