/**
 * Command `karpenter offerings`. Lists offerings that NodePools allow but that cannot be launched now, with the
 * reason and the end of the time.
 */
import { Command } from 'commander';
import type { OutOffering, PoolOfferings } from '../aws/offerings/report.ts';
import type { SpotPoolView } from '../aws/spot-risk/spot-risk.ts';
import { withExamples } from './describe.ts';
import { askOperator, DEFAULT_SERVER } from './operator.ts';
import { notAmong } from './render/known.ts';
import { type Format, outputOption, printAs } from './render/output.ts';
import { counted, table } from './render/table.ts';

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
      zones.join(','),
      because,
      until?.replace(/\.\d+Z$/, 'Z') ?? '',
    ];
  });
}

const RISK_HEADINGS = ['SPOT POOL', 'ZONE', 'INTERRUPTIONS', 'NO CAPACITY', 'INSTANCE HOURS', 'COUNTS AS DEARER BY'];

const riskRow = (pool: SpotPoolView): readonly string[] => [
  pool.instanceType,
  pool.zone,
  String(pool.interruptions),
  String(pool.capacityErrors),
  String(pool.instanceHours),
  `${Math.round(pool.addedPart * 100)} %`,
];

function poolText(offerings: PoolOfferings): string {
  const { nodePool, nodeClass, available, out, minValuesMissed = [], spotRisk = [], problem, notReady } = offerings;
  const title = `NodePool ${nodePool} (EC2NodeClass ${nodeClass})`;
  if (notReady !== undefined) return `${title}: not Ready, nothing is bought: ${notReady}`;
  if (problem !== undefined) return `${title}: not known, ${problem}`;
  const missed = minValuesMissed.length === 0 ? '' : `, too few for its minValues of ${minValuesMissed.join(', ')}`;
  const summary = `${title}: ${available} of ${counted(available + out.length, 'offering')} can be bought${missed}`;
  const tables = [table(HEADINGS, rows(out)), table(RISK_HEADINGS, spotRisk.map(riskRow))];
  return [summary, ...tables.filter((text) => text !== '')].join('\n');
}

export const offeringsText = (pools: readonly PoolOfferings[]): string =>
  pools.length === 0 ? 'there is no NodePool\n' : `${pools.map(poolText).join('\n\n')}\n`;

interface Flags {
  readonly server: string;
  readonly output: Format;
}

export const offeringsCommand = (): Command =>
  withExamples(new Command('offerings'), [
    { what: 'of every NodePool', command: 'karpenter offerings' },
    { what: 'of one, at an operator elsewhere', command: 'karpenter offerings default --server http://127.0.0.1:9090' },
  ])
    .description(
      'Say which offerings (instance type, zone, capacity type) the NodePools allow and cannot buy now, why, and until when; and which spot pools were interrupted of late',
    )
    .argument('[nodepool]', 'name of the NodePool; all of them when left out')
    .option('--server <url>', 'where the operator serves its metrics', DEFAULT_SERVER)
    .addOption(outputOption())
    .action(async (name: string | undefined, { server, output }: Flags) => {
      const all = await askOperator<readonly PoolOfferings[]>(server, '/debug/offerings');
      const chosen = name === undefined ? all : all.filter(({ nodePool }) => nodePool === name);
      if (name !== undefined && chosen.length === 0) {
        const known = all.map(({ nodePool }) => nodePool);
        throw new Error(notAmong('NodePool', name, { known, where: `known to the operator at ${server}` }));
      }
      await printAs(output, chosen, offeringsText);
    });
