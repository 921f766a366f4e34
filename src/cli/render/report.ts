/** Renders reports for a terminal, as Markdown and as HTML. */

import { rate, surplusPart, usd } from './cost.ts';
import { savingsSections } from './savings.ts';
import { type Document, html, markdown, type Section, sectionsText } from './sections.ts';
import type { MoveSums, SupportReport, WastefulNode } from './support-report.ts';
import { counted, usdPerHour } from './table.ts';

const TITLE = 'Nodes: decisions and savings';

export const reportText = (report: SupportReport): string => sectionsText(periodText(report), sectionsOf(report));

export const reportMarkdown = (report: SupportReport): string => markdown(documentOf(report));

export const reportHtml = (report: SupportReport): string => html(documentOf(report));

const documentOf = (report: SupportReport): Document => ({
  title: TITLE,
  intro: periodText(report),
  sections: sectionsOf(report),
});

const periodText = ({ since, until, firstDecision }: SupportReport): string =>
  `From ${since} to ${until}${firstDecision === undefined ? '; no decisions are recorded in this period' : `; the first recorded decision is from ${firstDecision}`}`;

const sectionsOf = (report: SupportReport): readonly Section[] => [
  moneySection(report),
  ...savingsSections(report.savings),
  purchaseSection(report),
  moveSection(report),
  otherSection(report),
  wasteSection(report),
];

function moneySection({ spent, now }: SupportReport): Section {
  const idle = now.usdPerHour > 0 ? `, ${Math.round((100 * now.idleUsdPerHour) / now.usdPerHour)} % of it idle` : '';
  return {
    title: 'Cost',
    lines: [
      `now ${usdPerHour(now.usdPerHour)} for ${counted(now.nodes, 'node')}${idle}${surplusPart(now.surplusCreditsUsdPerHour, usdPerHour)}`,
      `${usd(spent.usd)} in the ${spent.hours} recorded hours: ${usd(spent.idleUsd)} idle, ${usd(spent.daemonSetsUsd)} for DaemonSets; ${usd(spent.listUsd)} at list prices${surplusPart(spent.surplusCreditsUsd, usd)}`,
    ],
  };
}

function purchaseSection({ purchases: { nodes, pods, replacements, failed } }: SupportReport): Section {
  const failures = failed === 0 ? '' : `; ${failed} failed to launch or to register`;
  return {
    title: 'Launches',
    lines: [
      `${counted(nodes, 'node')} for ${counted(pods, 'pod')}, ${replacements} of them as replacements${failures}`,
    ],
  };
}

const MOVE_HEADINGS = ['METHOD', 'MOVES', 'NODES', 'PODS', 'UNDONE', 'PROMISED', 'PREDICTED', 'REALISED'];

const moveRow = (name: string, moves: MoveSums): readonly string[] => [
  name,
  ...[moves.moves, moves.nodes, moves.pods, moves.undone].map(String),
  usdPerHour(moves.predictedUsdPerHour),
  ...[moves.predictedUsd, moves.realisedUsd].map(usd),
];

function moveSection({ moves: { byMethod, ...all } }: SupportReport): Section {
  if (all.moves === 0)
    return { title: 'Disruption', lines: ['no nodes were consolidated, and no drifted nodes were replaced'] };
  return {
    title: 'Disruption',
    lines: [
      `${counted(all.moves, 'move')} of ${counted(all.nodes, 'node')}: ${usdPerHour(all.predictedUsdPerHour)} predicted savings`,
      `savings in the first 30 minutes are known for ${counted(all.ended, 'consolidation')}: ${usd(all.realisedUsd)} of ${usd(all.predictedUsd)} predicted`,
    ],
    headings: MOVE_HEADINGS,
    rows: [...byMethod.map((each) => moveRow(each.method, each)), moveRow('all', all)],
  };
}

function otherSection({ interruptions, deletions, podsDisturbed }: SupportReport): Section {
  const reasons = interruptions.reasons.map(({ reason, nodes }) => `${nodes} ${reason}`).join(', ');
  return {
    title: 'Evictions',
    lines: [
      `${counted(podsDisturbed, 'pod')} moved for any reason`,
      interruptions.nodes === 0
        ? 'AWS interrupted no instances'
        : `AWS interrupted ${counted(interruptions.nodes, 'instance')} (${reasons}); ${counted(interruptions.pods, 'pod')} of these instances moved`,
      ...deletions.map(
        ({ reason, nodes, pods }) =>
          `${counted(nodes, 'NodeClaim')} with ${counted(pods, 'pod')} deleted for reason ${reason}`,
      ),
    ],
  };
}

const wasteHeadings = (hasSurplus: boolean): readonly string[] => [
  ...['NODE', 'NODEPOOL', 'TYPE', 'PER HOUR', 'IDLE'],
  ...(hasSurplus ? ['PLANNING CREDITS'] : []),
  'WHY IT STAYS',
];

const wasteRow = (node: WastefulNode, hasSurplus: boolean): readonly string[] => [
  node.node,
  node.nodePool,
  `${node.instanceType} ${node.capacityType}`,
  rate(node.usdPerHour),
  rate(node.idleUsdPerHour),
  ...(hasSurplus ? [rate(node.surplusCreditsUsdPerHour)] : []),
  whyOf(node),
];

function whyOf({ code, why = '', nearestMiss }: WastefulNode): string {
  if (code === undefined) return 'not checked for disruption yet';
  return `${why}${nearestMiss === undefined ? '' : ` (${nearestMiss})`} [${code}]`;
}

function wasteSection({ wasteful }: SupportReport): Section {
  const hasSurplus = wasteful.some(({ surplusCreditsUsdPerHour }) => surplusCreditsUsdPerHour > 0);
  return {
    title: 'Most idle nodes now',
    lines: wasteful.length === 0 ? ['no node has idle cost'] : [],
    headings: wasteHeadings(hasSurplus),
    rows: wasteful.map((node) => wasteRow(node, hasSurplus)),
  };
}
