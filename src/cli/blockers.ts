/**
 * Command `karpenter explain blockers`. Lists the reasons that prevent nodes from being drained or disrupted now, their
 * start, and the cost of the wait.
 */
import { Command } from 'commander';
import type { KubeEvent } from '#api/objects';
import { calculationOf } from '#engine/disruption';
import type { Blocker, NodeBlockers } from '#engine/drain';
import { timeOf } from '#lib';
import { blockersOf } from '#planner';
import { type Example, withExamples } from './describe.ts';
import type { Manifest } from './objects/read.ts';
import { worldOf } from './objects/snapshot.ts';
import { askLeader } from './operator-or-cluster.ts';
import { rate } from './render/cost.ts';
import { type Format, outputOption, printAs } from './render/output.ts';
import { counted, inShort, table, usdPerHour } from './render/table.ts';
import { indented, terminalWidth } from './render/wrap.ts';
import {
  decisionSettings,
  draOption,
  driversFor,
  evictionPriceOption,
  instanceTypesOption,
  manifestsOf,
  nowOption,
  type TypesFor,
  typesNoting,
  writeNotes,
} from './scenario.ts';
import { refuseTwoSources, type SourceFlags, withSource } from './source.ts';

/** Reasons of events that report a blocked Node or NodeClaim. */
const REPORTS: ReadonlySet<string> = new Set(['DisruptionBlocked', 'FailedDraining']);

/** Returns the time of the first such event, by the name of the Node or NodeClaim. */
function firstReports(manifests: readonly Manifest[]): ReadonlyMap<string, number> {
  const found = new Map<string, number>();
  for (const { object } of manifests) {
    if (!isEvent(object) || !REPORTS.has(object.reason)) continue;
    const { name } = object.involvedObject;
    const ms = timeOf(object.firstTimestamp ?? object.metadata.creationTimestamp);
    if (ms < (found.get(name) ?? Number.POSITIVE_INFINITY)) found.set(name, ms);
  }
  return found;
}

const isEvent = (object: Manifest['object']): object is KubeEvent =>
  object.kind === 'Event' && 'involvedObject' in object;

export interface BlockersResult {
  readonly nodes: readonly NodeBlockers[];
  readonly notes: readonly string[];
}

interface BlockersOptions {
  readonly types: TypesFor;
  readonly nowMs: number;
  readonly dra?: boolean;
  readonly evictionPrice?: number;
}

/**
 * Finds the blockers of nodes in manifests.
 *
 * @throws InputError with the document and the field
 */
export async function blockersAmong(
  filename: readonly string[],
  { types, nowMs, dra = false, evictionPrice }: BlockersOptions,
): Promise<BlockersResult> {
  const manifests = manifestsOf({ filename });
  const drivers = driversFor({ dra });
  const settings = decisionSettings({ drivers, evictionPrice });
  const { cluster, allPools, input, notes } = await worldOf(manifests, {
    instanceTypes: await types(manifests, nowMs),
    nowMs,
    drivers,
    settings,
  });
  const found = blockersOf(cluster, {
    settings,
    pools: allPools,
    nowMs,
    commitments: input.commitments,
    firstReported: firstReports(manifests),
  });
  return { nodes: [...found], notes };
}

const WAITS: readonly NodeBlockers['waitsFor'][] = ['drain', 'drift', 'consolidation', 'nothing'];

/** Sorts draining nodes first. Nodes in the same state are sorted by cost, highest first. */
const inOrder = (nodes: readonly NodeBlockers[]): readonly NodeBlockers[] =>
  nodes.toSorted(
    (a, b) =>
      WAITS.indexOf(a.waitsFor) - WAITS.indexOf(b.waitsFor) ||
      (b.usdSoFar ?? 0) - (a.usdSoFar ?? 0) ||
      (a.node < b.node ? -1 : 1),
  );

interface Flags extends SourceFlags {
  readonly instanceTypes?: string;
  readonly all?: boolean;
  readonly dra?: boolean;
  readonly evictionPrice: number;
  readonly now?: number;
  readonly output: Format;
}

async function blockersFor(flags: Flags): Promise<readonly NodeBlockers[]> {
  const { filename, dra = false, evictionPrice, now: nowMs = Date.now() } = flags;
  if (filename.length === 0) return askLeader(flags, '/debug/blockers');
  const { types, notes: ofTypes } = typesNoting(flags);
  const { nodes, notes } = await blockersAmong(filename, { types, nowMs, dra, evictionPrice });
  writeNotes([...ofTypes, ...notes]);
  return nodes;
}

const EXAMPLES: readonly Example[] = [
  {
    what: 'current blockers, from the operator in the cluster of the kubeconfig',
    command: 'karpenter explain blockers',
  },
  {
    what: 'from a file; events and volumeattachments add details',
    command:
      'kubectl get nodes,nodeclaims,nodepools,ec2nodeclasses,pods,pdb,pvc,volumeattachments,events -A -o yaml | karpenter explain blockers -f -',
  },
  {
    what: 'including nodes that are not being drained, drifted or consolidatable',
    command: 'karpenter explain blockers --all',
  },
  {
    what: 'PodDisruptionBudgets that delay drains',
    command: `karpenter explain blockers -o json | jq '.[] | select(.waitsFor == "drain") | .blockers[] | select(.code == "pdb") | .object'`,
  },
];

export function blockersCommand(): Command {
  const command = new Command('blockers').description(
    'List the objects that block drains and disruption of nodes now, since when, and the cost of the wait',
  );
  return withExamples(withSource(command), EXAMPLES)
    .option('--all', 'include nodes that are not being drained, drifted or consolidatable')
    .addOption(draOption())
    .addOption(instanceTypesOption())
    .addOption(nowOption())
    .addOption(evictionPriceOption())
    .addOption(outputOption())
    .action(async (flags: Flags) => {
      refuseTwoSources(command, flags);
      const nodes = inOrder(await blockersFor(flags));
      await printAs(flags.output, nodes, (found) => blockersText(found, { all: flags.all ?? false }));
    });
}

/** Renders blockers of nodes as text. */
const HEADINGS = ['CODE', 'IN THE WAY', 'PODS', 'SINCE', 'UNTIL'];

function blockersText(nodes: readonly NodeBlockers[], { all }: { readonly all: boolean }): string {
  const waiting = nodes.filter(({ waitsFor }) => waitsFor !== 'nothing');
  const shown = all ? nodes : waiting;
  const hidden = nodes.length - shown.length;
  const rest =
    hidden === 0
      ? ''
      : `${counted(hidden, 'other node')} cannot be disrupted, but ${hidden === 1 ? 'is' : 'are'} not being drained, drifted or consolidatable; use --all to see the reasons`;
  return `${[...shown.map(nodeText), totals(waiting), rest].filter((text) => text !== '').join('\n\n')}\n`;
}

/** Sums up the waiting nodes: the cost of each further hour, and the cost that is already paid. */
function totals(waiting: readonly NodeBlockers[]): string {
  if (waiting.length === 0) return 'no node that is being drained, drifted or consolidatable is blocked';
  const perHour = waiting.reduce((sum, node) => sum + (node.usdPerHour ?? 0), 0);
  const soFar = waiting.reduce((sum, node) => sum + (node.usdSoFar ?? 0), 0);
  return `${counted(waiting.length, 'node')} wait${waiting.length === 1 ? 's' : ''}: ${usdPerHour(perHour)}, ${rate(soFar)} so far`;
}

const STATES: Readonly<Record<NodeBlockers['waitsFor'], string>> = {
  drain: 'is being drained',
  drift: 'is drifted and waits for its replacement',
  consolidation: 'can be consolidated',
  nothing: 'cannot be disrupted',
};

function nodeText(found: NodeBlockers): string {
  const { node, nodePool, waitsFor, since, endsAt, terminationGracePeriod, worth } = found;
  const pool = nodePool === undefined ? '' : ` of NodePool ${nodePool}`;
  const begun = since === undefined ? '' : waitsFor === 'nothing' ? `, first reported at ${since}` : ` since ${since}`;
  const cost = costText(found);
  const lines = [
    `Node ${node}${pool} ${STATES[waitsFor]}${begun}${cost === '' ? '' : `, ${cost}`}`,
    ...(worth === undefined ? [] : [calculationOf(worth)]),
    ...endText(waitsFor, endsAt, terminationGracePeriod),
  ].map((line) => indented(line, '  ', terminalWidth()));
  return [...lines, withoutEmptyColumns(found.blockers.map(row))].join('\n');
}

/** Omits empty columns, because they would make the other columns narrower in a narrow terminal. */
function withoutEmptyColumns(rows: readonly (readonly string[])[]): string {
  const isUsed = (_: string, column: number): boolean => rows.some((cells) => cells[column] !== '');
  return table(
    HEADINGS.filter(isUsed),
    rows.map((cells) => cells.filter(isUsed)),
  );
}

function costText({ usdPerHour: perHour, usdSoFar }: NodeBlockers): string {
  if (perHour === undefined) return '';
  return usdSoFar === undefined ? usdPerHour(perHour) : `${usdPerHour(perHour)}, ${rate(usdSoFar)} so far`;
}

function endText(
  waitsFor: NodeBlockers['waitsFor'],
  endsAt: string | undefined,
  grace: string | undefined,
): readonly string[] {
  if (waitsFor !== 'drain')
    return grace === undefined ? [] : [`once the drain starts, terminationGracePeriod limits it to ${grace}`];
  return [
    endsAt === undefined
      ? 'the drain waits without limit, because the NodeClaim has no terminationGracePeriod'
      : `terminationGracePeriod ends the drain at ${endsAt}`,
  ];
}

const row = ({ code, text, pods = [], since = '', until = '' }: Blocker): readonly string[] => [
  code,
  text,
  inShort(pods),
  since,
  until,
];
