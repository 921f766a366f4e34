/** Command `karpenter report moves`. Lists the operator's consolidations, whether they were undone, and their savings. */
import { Command } from 'commander';
import { withExamples } from './describe.ts';
import { askLeader, type LeaderFlags } from './operator-or-cluster.ts';
import { type Format, outputOption, printAs } from './render/output.ts';
import { counted, inShort, naturalWidth, table, usdPerHour } from './render/table.ts';
import { indented, terminalWidth } from './render/wrap.ts';
import { withLeader } from './source.ts';

/** Fields of a move in the response of `/debug/moves`. */
export interface ToldMove {
  readonly startedAt: string;
  readonly method: string;
  readonly state: 'watched' | 'kept' | 'undone';
  readonly undone?: { readonly because: string; readonly nodeClaim: string };
  readonly predictedUsdPerHour: number;
  readonly realisedUsd: number;
  readonly command: string;
}

const HEADINGS = ['STARTED', 'METHOD', 'STATE', 'PROMISED', 'SAVED', 'COMMAND'];

/** Shortens the list of nodes in the text of a command. */
function shortCommand(command: string): string {
  const [from, to] = [command.indexOf('[') + 1, command.indexOf(']')];
  if (from === 0 || to < from) return command;
  return command.slice(0, from) + inShort(command.slice(from, to).split(', ')) + command.slice(to);
}

/** Renders a table. If it is wider than the terminal, the command of each move is below its row. */
function movesTable(moves: readonly ToldMove[]): string {
  const rows = moves.map(rowOf);
  const width = terminalWidth();
  if (naturalWidth(HEADINGS, rows) <= width) return table(HEADINGS, rows);
  const [headings, ...lines] = table(
    HEADINGS.slice(0, -1),
    moves.map(({ undone: _, ...move }) => rowOf(move).slice(0, -1)),
  ).split('\n');
  const details = moves.map((move) => {
    const command = `  ${indented(shortCommand(move.command), '    ', width - 2)}`;
    return move.undone === undefined ? command : `${command}\n  ${indented(stateOf(move), '    ', width - 2)}`;
  });
  return [headings, ...lines.flatMap((line, at) => [line, details[at] ?? ''])].join('\n');
}

/** Formats an amount with four decimals, because the savings of a move can be small. */
const usd = (amount: number): string => `${amount < 0 ? '-' : ''}$${Math.abs(amount).toFixed(4)}`;

function stateOf({ state, undone }: ToldMove): string {
  if (undone === undefined) return state;
  return `undone by ${undone.nodeClaim} (${undone.because})`;
}

const rowOf = (move: ToldMove): readonly string[] => [
  move.startedAt,
  move.method,
  stateOf(move),
  usdPerHour(move.predictedUsdPerHour),
  usd(move.realisedUsd),
  shortCommand(move.command),
];

/** Note that the list contains only consolidations, with places to search for other disruptions. */
const OTHERS =
  'nodes that were disrupted for other reasons (drift, expiration, interruption, repair) are not listed; ' +
  'see the events of their NodeClaims and the metric karpenter_nodeclaims_disrupted_total by reason';

export function movesText(moves: readonly ToldMove[]): string {
  const others = indented(OTHERS, '', terminalWidth());
  if (moves.length === 0) return `no node has been consolidated since this operator acquired the lease\n${others}\n`;
  const sum = (amounts: readonly number[]): number => amounts.reduce((total, amount) => total + amount, 0);
  const lasting = moves.filter(({ undone }) => undone === undefined);
  const promised = usdPerHour(sum(lasting.map(({ predictedUsdPerHour }) => predictedUsdPerHour)));
  const saved = usd(sum(moves.map(({ realisedUsd }) => realisedUsd)));
  const undone = moves.length - lasting.length;
  const totals = indented(
    `${counted(moves.length, 'move')}${undone === 0 ? '' : `, ${undone} undone`}: ${promised} predicted savings, ${saved} saved in the first 30 minutes of each`,
    '  ',
    terminalWidth(),
  );
  return `${movesTable(moves)}\n\n${totals}\n${others}\n`;
}

interface Flags extends LeaderFlags {
  readonly output: Format;
}

export const movesCommand = (): Command =>
  withExamples(withLeader(new Command('moves')), [
    {
      what: 'consolidations of the operator in the cluster of the kubeconfig',
      command: 'karpenter report moves',
    },
    { what: 'total savings', command: "karpenter report moves -o json | jq 'map(.realisedUsd) | add'" },
  ])
    .description('List consolidations of the operator, latest first, with their savings and which of them were undone')
    .addOption(outputOption())
    .addHelpText(
      'after',
      '\nPROMISED is the predicted saving per hour. SAVED is the saving in the 30 minutes for which a move is observed,\n' +
        'or until now, minus the cost of the time in which old and new nodes ran at the same time. The operator keeps\n' +
        'its last 200 moves since its start.',
    )
    .action(async ({ output, ...flags }: Flags) => {
      const moves = await askLeader<readonly ToldMove[]>(flags, '/debug/moves');
      await printAs(output, moves, movesText);
    });
