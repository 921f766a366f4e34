/** Renders a simulation as text. */
import { CAPACITY_TYPE_LABEL, ZONE_LABEL } from '#api/objects';
import {
  groupText,
  type PoolSpot,
  poolSpotText,
  spotGroupText,
  withDetails,
  withoutRequests,
} from '#engine/explanations';
import type { PodRefusal, PreferenceDecision, SpotRule } from '#engine/model';
import { misfitText } from '#engine/solve';
import { own } from '#lib';
import { effectSummary, effectText } from './effect.ts';
import type { PlanningFigures, SimulatedClaim, SimulationAnswer } from './plan.ts';
import { counted, planningPart, planningText, table, unknownText, usdPerHour } from './table.ts';
import { indented, terminalWidth } from './wrap.ts';

const valuesOf = ({ requirements }: SimulatedClaim, key: string): string =>
  requirements.find((requirement) => requirement.key === key)?.values?.join(',') ?? 'any';

function claimRows(claims: readonly SimulatedClaim[], hasPlanning: boolean): readonly (readonly string[])[] {
  return claims.map((claim) => {
    const { nodePool, cheapest, instanceTypes, pods, requests, billedPrice, planning = {} } = claim;
    return [
      nodePool,
      cheapest,
      `+${instanceTypes.length - 1}`,
      valuesOf(claim, ZONE_LABEL),
      valuesOf(claim, CAPACITY_TYPE_LABEL),
      String(pods.length),
      requests.cpu ?? '0',
      requests.memory ?? '0',
      usdPerHour(billedPrice),
      ...(hasPlanning ? [planningText(figuresOf({ ...planning, fee: 0 }))] : []),
    ];
  });
}

const CLAIM_HEADINGS = ['NODEPOOL', 'CHEAPEST', 'OTHERS', 'ZONE', 'CAPACITY', 'PODS', 'CPU', 'MEMORY', 'PRICE'];

/**
 * Groups pods with the same reason and shows the details of the first pod, because thousands of pods may fail for one
 * reason.
 */
function grouped(
  pods: readonly (readonly [pod: string, reason: string, likeness?: string])[],
): readonly (readonly [string, string])[] {
  const alike = Map.groupBy(pods, ([, reason, likeness = reason]) => withoutRequests(likeness));
  return [...alike.values()].map((group) => {
    const [[first, reason] = ['', '']] = group;
    const isSame = group.every((each) => each[1] === reason);
    const others = group.length > 1 ? ` and ${counted(group.length - 1, 'other')}` : '';
    return [`${first}${others}${isSame ? '' : `; the text is for ${first}`}`, reason];
  });
}

const refusalLines = ({ unschedulable, causes = {} }: SimulationAnswer): readonly string[] =>
  grouped(
    Object.entries(unschedulable).map(([pod, text]) => {
      const cause = own(causes, pod);
      if (cause === undefined) return [pod, text] as const;
      // requests of pods differ although the cause is the same
      return [pod, withDetails(cause, text), `${cause.code} ${cause.object.name} ${cause.field} ${text}`] as const;
    }),
  ).map(([pods, reason]) => `  ${indented(`${pods}: ${reason}`, '    ', terminalWidth())}`);

const waitingLines = (waiting: Readonly<Record<string, string>>): readonly string[] =>
  grouped(Object.entries(waiting)).map(
    ([pods, reason]) => `  ${indented(`${pods}: ${reason}`, '    ', terminalWidth())}`,
  );

/** Groups pods with the same reasons under one heading. */
const explanationLines = (explanations: Readonly<Record<string, PodRefusal>>): readonly string[] =>
  grouped(Object.entries(explanations).map(([pod, refusal]) => [pod, reasonLines(refusal).join('\n')])).map(
    ([pods, reasons]) => `  ${pods}\n${reasons}`,
  );

const reasonLines = (refusal: PodRefusal): readonly string[] =>
  refusal.code === 'no-fit'
    ? refusal.pools.map(
        ({ nodePool, misfit }) =>
          `    ${indented(`${nodePool}: ${misfit.code}: ${misfitText(misfit)}`, '      ', terminalWidth())}`,
      )
    : [`    ${refusal.code}`];

/** Returns planning figures with their names. */
export const figuresOf = ({ fee, spotRisk, surplusCredits }: PlanningFigures) =>
  [
    ['fee', fee],
    ['spot risk', spotRisk],
    ['surplus CPU credits', surplusCredits],
  ] as const;

/** Returns the sums of the planning figures of nodes. */
export function totalPlanning(nodes: readonly { readonly planning?: PlanningFigures }[]): Required<PlanningFigures> {
  const sumOf = (figure: keyof PlanningFigures): number =>
    nodes.reduce((sum, { planning }) => sum + (planning?.[figure] ?? 0), 0);
  return { fee: sumOf('fee'), spotRisk: sumOf('spotRisk'), surplusCredits: sumOf('surplusCredits') };
}

const preferenceLine = (group: PreferenceDecision): string =>
  `  ${indented(groupText(group), '    ', terminalWidth())}`;

const spotLine = (pool: PoolSpot): string => `  ${indented(poolSpotText(pool), '    ', terminalWidth())}`;

const spotRuleLine = (rule: SpotRule): string => `  ${indented(spotGroupText(rule), '    ', terminalWidth())}`;

export function simulationText(answer: SimulationAnswer): string {
  const { nodeClaims, existingNodes, unschedulable, waiting = {}, totalBilledPrice, explanations } = answer;
  const { effect, unknown, zones, preferences = [], spot = [], spotRules = [] } = answer;
  const planning = totalPlanning(nodeClaims);
  // the fee is the same for most nodes, so only the total has it
  const hasPlanning = planningText(figuresOf({ ...planning, fee: 0 })) !== '';
  const headings = [...CLAIM_HEADINGS, ...(hasPlanning ? ['PLANNING'] : [])];
  const placed = existingNodes.map(({ name, pods }) => [name, String(pods.length)]);
  const refused = Object.keys(unschedulable).length;
  const waits = Object.keys(waiting).length;
  const sections = [
    table(headings, claimRows(nodeClaims, hasPlanning)),
    zones === undefined ? '' : indented(`balanced zones: ${zones}`, '  ', terminalWidth()),
    preferences.length === 0 ? '' : ['PREFERENCES', ...preferences.map(preferenceLine)].join('\n'),
    spot.length === 0 ? '' : ['SPOT', ...spot.map(spotLine), ...spotRules.map(spotRuleLine)].join('\n'),
    table(['EXISTING NODE', 'PODS'], placed),
    refused === 0 ? '' : ['UNSCHEDULABLE', ...refusalLines(answer)].join('\n'),
    waits === 0 ? '' : ['WAITING', ...waitingLines(waiting)].join('\n'),
    explanations === undefined || refused === 0 ? '' : ['WHY', ...explanationLines(explanations)].join('\n'),
    unknownText(unknown),
    effect === undefined ? '' : effectText(effect),
    `${counted(nodeClaims.length, 'new node')} for ${usdPerHour(totalBilledPrice)}${planningPart(figuresOf(planning))}, ${counted(refused, 'pod')} unschedulable${waits === 0 ? '' : `, ${waits} waiting`}`,
    effect === undefined ? '' : effectSummary(effect),
  ];
  return `${sections.filter((section) => section !== '').join('\n\n')}\n`;
}
