/** Renders the efficiency of a cluster for a terminal, as Markdown and as HTML. */
import type { EfficiencyGroup } from '#engine/costs';
import type { Efficiency } from '../efficiency/report.ts';
import { usd } from './cost.ts';
import { type Document, html, markdown, type Section, sectionsText } from './sections.ts';
import { counted } from './table.ts';

export const efficiencyText = (found: Efficiency): string => {
  const { intro, sections } = documentOf(found);
  return sectionsText(intro, sections);
};
export const efficiencyMarkdown = (found: Efficiency): string => markdown(documentOf(found));
export const efficiencyHtml = (found: Efficiency): string => html(documentOf(found));

const documentOf = (found: Efficiency): Document => ({
  title: 'Requests and use',
  intro: `At ${found.at}; use: ${found.source}; a month has 730 hours`,
  sections: [costSection(found), planSection(found), groupSection(found)],
});

const percent = (part: number, whole: number): string => `${whole > 0 ? Math.round((100 * part) / whole) : 0} %`;

function costSection({ now, unknown }: Efficiency): Section {
  const { otherNodes, unpriced } = now;
  return {
    title: 'Cost now',
    lines: [
      `${usd(now.usdPerMonth)} a month for ${counted(now.nodes, 'node')}, ${Math.round(now.spotShare * 100)} % of it for spot`,
      `${usd(now.unrequestedUsdPerMonth)} (${percent(now.unrequestedUsdPerMonth, now.usdPerMonth)}) that no pod requests, and ${usd(now.unusedUsdPerMonth)} (${percent(now.unusedUsdPerMonth, now.usdPerMonth)}) that pods request and do not use`,
      ...(now.coveredUsdPerMonth > 0
        ? [`commitments cover a further ${usd(now.coveredUsdPerMonth)} a month, which is not part of the cost`]
        : []),
      ...(otherNodes.nodes > 0
        ? [`${counted(otherNodes.nodes, 'node')} without NodePool for ${usd(otherNodes.usdPerMonth)} a month of it`]
        : []),
      ...(unpriced > 0 ? [`${counted(unpriced, 'node')} with an unknown price, not counted`] : []),
      ...(unknown ?? []).map((fact) => `unknown: ${fact}`),
    ],
  };
}

function planSection({ now, repacked, withRightRequests }: Efficiency): Section {
  const row = (name: string, cluster: Efficiency['repacked']): readonly string[] => [
    name,
    String(cluster.nodes),
    usd(cluster.usdPerMonth),
    usd(cluster.usdPerMonth - now.usdPerMonth),
    String(cluster.unschedulable),
  ];
  return {
    title: 'Cost after a plan of the operator',
    lines: ['all pods of NodePools on new nodes, with the packing of the operator'],
    headings: ['REQUESTS', 'NODES', 'PER MONTH', 'CHANGE', 'PENDING PODS'],
    rows: [row('as they are', repacked), row('that fit to the use', withRightRequests)],
  };
}

const HEADINGS = { namespace: 'NAMESPACE', workload: 'WORKLOAD', label: 'LABEL' } as const;

const cores = (milli: number): string => String(Number((milli / 1_000).toFixed(2)));
const gib = (bytes: number): string => `${Number((bytes / 2 ** 30).toFixed(2))}Gi`;

const cells = (group: EfficiencyGroup): readonly string[] => [
  group.name,
  group.measured === group.pods ? String(group.pods) : `${group.pods} (${group.measured} measured)`,
  ...[group.requested, group.usedP50, group.usedP95, group.right].map(({ cpu }) => cores(cpu)),
  ...[group.requested, group.usedP50, group.usedP95, group.right].map(({ memory }) => gib(memory)),
  usd(group.usdPerMonth),
  usd(group.idleUsdPerMonth),
];

function groupSection({ groups, by, label }: Efficiency): Section {
  return {
    title: `Use by ${by === 'label' ? `label ${label}` : by}`,
    lines: groups.length === 0 ? ['no pods run on the nodes'] : [],
    headings: [
      ...[
        HEADINGS[by],
        'PODS',
        'CPU',
        'CPU P50',
        'CPU P95',
        'CPU RIGHT',
        'MEMORY',
        'MEM P50',
        'MEM P95',
        'MEM RIGHT',
        'PER MONTH',
        'IDLE',
      ],
    ],
    rows: groups.map(cells),
    optional: ['MEM P50', 'CPU P50', 'MEM P95', 'CPU P95', 'PER MONTH', 'MEMORY', 'CPU'],
  };
}
