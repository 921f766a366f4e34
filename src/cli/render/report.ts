/** Renders reports for a terminal, and as Markdown. */

import { rate, surplusPart, usd } from './cost.ts';
import type { MoveSums, SupportReport, WastefulNode } from './support-report.ts';
import { counted, table, usdPerHour } from './table.ts';
import { indented, terminalWidth } from './wrap.ts';

interface Section {
  readonly title: string;
  readonly lines: readonly string[];
  readonly headings?: readonly string[];
  readonly rows?: readonly (readonly string[])[];
}

export function reportText(report: SupportReport): string {
  const sections = sectionsOf(report).map(({ title, lines, headings = [], rows = [] }) =>
    [title.toUpperCase(), ...lines.map((line) => indented(`  ${line}`, '    ', terminalWidth())), table(headings, rows)]
      .filter((text) => text !== '')
      .join('\n'),
  );
  return `${[periodText(report), ...sections].join('\n\n')}\n`;
}

export function reportMarkdown(report: SupportReport): string {
  const sections = sectionsOf(report).map(({ title, lines, headings = [], rows = [] }) =>
    [`## ${title}`, lines.map((line) => `* ${line}`).join('\n'), markdownTable(headings, rows)]
      .filter((text) => text !== '')
      .join('\n\n'),
  );
  return `${['# Nodes: what was done and what it is worth', periodText(report), ...sections].join('\n\n')}\n`;
}

function markdownTable(headings: readonly string[], rows: readonly (readonly string[])[]): string {
  if (rows.length === 0) return '';
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
  return [line(headings), line(headings.map(() => '---')), ...rows.map(line)].join('\n');
}

const periodText = ({ since, until, firstDecision }: SupportReport): string =>
  `From ${since} to ${until}${firstDecision === undefined ? '; no decision is known of that time' : `; the first decision that is known is of ${firstDecision}`}`;

const sectionsOf = (report: SupportReport): readonly Section[] => [
  moneySection(report),
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
      `${usd(spent.usd)} in the ${spent.hours} hours that are known: ${usd(spent.idleUsd)} idle, ${usd(spent.daemonSetsUsd)} for DaemonSets${surplusPart(spent.surplusCreditsUsd, usd)}; ${usd(spent.listUsd)} at list prices`,
    ],
  };
}

function purchaseSection({ purchases: { nodes, pods, replacements, failed } }: SupportReport): Section {
  const failures = failed === 0 ? '' : `; ${failed} could not be had or never joined`;
  return {
    title: 'Purchases',
    lines: [
      `${counted(nodes, 'node')} for ${counted(pods, 'pod')}, ${replacements} of them in place of others${failures}`,
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
    return { title: 'Disruption', lines: ['nothing was consolidated, and nothing that drifted was replaced'] };
  return {
    title: 'Disruption',
    lines: [
      `${counted(all.moves, 'move')} of ${counted(all.nodes, 'node')}: ${usdPerHour(all.predictedUsdPerHour)} less to pay`,
      `of ${counted(all.ended, 'consolidation')} it is known what the first 30 minutes brought: ${usd(all.realisedUsd)} of ${usd(all.predictedUsd)} predicted`,
    ],
    headings: MOVE_HEADINGS,
    rows: [...byMethod.map((each) => moveRow(each.method, each)), moveRow('all', all)],
  };
}

function otherSection({ interruptions, deletions, podsDisturbed }: SupportReport): Section {
  const reasons = interruptions.reasons.map(({ reason, nodes }) => `${nodes} ${reason}`).join(', ');
  return {
    title: 'Disturbance',
    lines: [
      `${counted(podsDisturbed, 'pod')} had to move, whatever the reason`,
      interruptions.nodes === 0
        ? 'AWS took no instance'
        : `AWS took ${counted(interruptions.nodes, 'instance')} (${reasons}); ${counted(interruptions.pods, 'pod')} on them moved`,
      ...deletions.map(
        ({ reason, nodes, pods }) =>
          `${counted(nodes, 'NodeClaim')} deleted as ${reason}, with ${counted(pods, 'pod')}`,
      ),
    ],
  };
}

const wasteHeadings = (hasSurplus: boolean): readonly string[] => [
  ...['NODE', 'NODEPOOL', 'TYPE', 'PER HOUR', 'IDLE'],
  ...(hasSurplus ? ['SURPLUS CREDITS'] : []),
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
  if (code === undefined) return 'disruption has not looked at it yet';
  return `${why}${nearestMiss === undefined ? '' : ` (${nearestMiss})`} [${code}]`;
}

function wasteSection({ wasteful }: SupportReport): Section {
  const hasSurplus = wasteful.some(({ surplusCreditsUsdPerHour }) => surplusCreditsUsdPerHour > 0);
  return {
    title: 'Most idle nodes now',
    lines: wasteful.length === 0 ? ['none has idle cost'] : [],
    headings: wasteHeadings(hasSurplus),
    rows: wasteful.map((node) => wasteRow(node, hasSurplus)),
  };
}
