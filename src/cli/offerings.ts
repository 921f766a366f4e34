/**
 * Command `karpenter offerings`. Lists offerings that NodePools allow but that cannot be launched now, with the
 * reason and the end of the time.
 */
import { Command } from 'commander';
import type { OutOffering, PoolOfferings, SpotPoolView } from '#aws/instance-types';
import { withExamples } from './describe.ts';
import { askLeader, type LeaderFlags } from './operator-or-cluster.ts';
import { notAmong } from './render/known.ts';
import { type Format, outputOption, printAs } from './render/output.ts';
import { counted, table } from './render/table.ts';
import { indented, terminalWidth } from './render/wrap.ts';
import { leaderOf, withLeader } from './source.ts';

const HEADINGS = ['INSTANCE TYPE', 'CAPACITY', 'ZONES', 'OUT BECAUSE OF', 'UNTIL'];

/** Groups offerings that differ only in their zone into one row. */
function rows(out: readonly OutOffering[]): readonly (readonly string[])[] {
  const groups = Map.groupBy(out, ({ zone: _, ...rest }) => JSON.stringify(rest));
  return [...groups.values()].map((group) => {
    const [{ instanceType = '', capacityType = '', code = '', reason, until, reservation } = {}] = group;
    const zones = group.map(({ zone }) => zone).sort();
    const because = [code, ...(reason === undefined ? [] : [`(${reason})`])].join(' ');
    return [
      instanceType,
      reservation === undefined ? capacityType : `${capacityType} ${reservation}`,
      zones.join(' '),
      because,
      until?.replace(/\.\d+Z$/, 'Z') ?? '',
    ];
  });
}

const RISK_HEADINGS = ['SPOT POOL', 'ZONE', 'INTERRUPTIONS', 'NO CAPACITY', 'HOURS', 'PLANNING'];

/** Part of the price that decisions add, in percent. */
const addedPercent = ({ addedPart }: SpotPoolView): number => Math.round(addedPart * 100);

const riskRow = (pool: SpotPoolView): readonly string[] => [
  pool.instanceType,
  pool.zone,
  String(pool.interruptions),
  String(pool.capacityErrors),
  String(pool.instanceHours),
  `+${addedPercent(pool)} %`,
];

/** Lists the spot pools whose price decisions increase. Counts the remaining pools, which can be hundreds. */
function riskText(pools: readonly SpotPoolView[]): readonly string[] {
  const risky = pools.filter((pool) => addedPercent(pool) > 0);
  const rest = pools.length - risky.length;
  const text = `${counted(rest, 'spot pool')} with recent interruptions or launches without capacity, but no added planning price; -o json lists ${rest === 1 ? 'it' : 'them'}`;
  return [table(RISK_HEADINGS, risky.map(riskRow)), rest === 0 ? '' : indented(text, '  ', terminalWidth())];
}

function poolText(offerings: PoolOfferings): string {
  const { nodePool, nodeClass, available, out, minValuesMissed = [], spotRisk = [], problem, notReady } = offerings;
  const title = `NodePool ${nodePool} (EC2NodeClass ${nodeClass})`;
  if (notReady !== undefined) return `${title}: not Ready, no nodes are launched: ${notReady}`;
  if (problem !== undefined) return `${title}: unknown, ${problem}`;
  const missed =
    minValuesMissed.length === 0 ? '' : `, which is too few for minValues of ${minValuesMissed.join(', ')}`;
  const summary = `${title}: ${available} of ${counted(available + out.length, 'offering')} available${missed}`;
  const tables = [table(HEADINGS, rows(out)), ...riskText(spotRisk)];
  return [indented(summary, '  ', terminalWidth()), ...tables.filter((text) => text !== '')].join('\n');
}

export const offeringsText = (pools: readonly PoolOfferings[]): string =>
  pools.length === 0 ? 'there is no NodePool\n' : `${pools.map(poolText).join('\n\n')}\n`;

interface Flags extends LeaderFlags {
  readonly output: Format;
}

export const offeringsCommand = (): Command =>
  withExamples(withLeader(new Command('offerings')), [
    { what: 'unavailable offerings of every NodePool', command: 'karpenter offerings' },
    {
      what: 'of one NodePool, from another address',
      command: 'karpenter offerings default --server http://127.0.0.1:9090',
    },
  ])
    .description(
      'List offerings (instance type, zone, capacity type) that NodePools allow but that are unavailable now, with reason and time; and spot pools with recent interruptions',
    )
    .argument('[nodepool]', 'name of the NodePool (default: all NodePools)')
    .addOption(outputOption())
    .action(async (name: string | undefined, { output, ...flags }: Flags) => {
      const all = await askLeader<readonly PoolOfferings[]>(flags, '/debug/offerings');
      const chosen = name === undefined ? all : all.filter(({ nodePool }) => nodePool === name);
      if (name !== undefined && chosen.length === 0) {
        const known = all.map(({ nodePool }) => nodePool);
        throw new Error(notAmong('NodePool', name, { known, where: leaderOf(flags) }));
      }
      await printAs(output, chosen, offeringsText);
    });
