/** Common data of all completion scripts: commands with their options, by the words that select them. */
import { type CommandDescription, everyCommand, type OptionDescription } from '../describe.ts';

/** Programs that a script completes. */
export const PROGRAMS: readonly string[] = ['karpenter', 'kubectl-karpenter'];

export interface CompletedCommand {
  /** Words of this command: `karpenter explain node`. */
  readonly path: string;
  readonly description: string;
  readonly options: readonly OptionDescription[];
  readonly commands: readonly CommandDescription[];
  /** Choices of the arguments. */
  readonly words: readonly string[];
  /** True if an argument is a file. */
  readonly takesFiles: boolean;
}

const HELP: OptionDescription = {
  short: '-h',
  long: '--help',
  choices: [],
  isFile: false,
  description: 'display help for command',
};

export const completedCommands = (root: CommandDescription): readonly CompletedCommand[] =>
  everyCommand(root).map(({ path, description, options, commands, arguments: given }) => ({
    path: path.join(' '),
    description: firstLine(description),
    options: [...options, HELP],
    commands,
    words: given.flatMap(({ choices }) => choices),
    takesFiles: given.some(({ isFile }) => isFile),
  }));

/** Returns the transitions between commands: `[['karpenter explain', 'node', 'karpenter explain node'], …]`. */
export const steps = (root: CommandDescription): readonly (readonly [from: string, word: string, to: string])[] =>
  everyCommand(root).flatMap(({ path, commands }) =>
    commands.map((nested) => [path.join(' '), nested.path.at(-1) ?? '', nested.path.join(' ')] as const),
  );

export const flagsOf = ({ short, long }: OptionDescription): readonly string[] => [
  ...(short === undefined ? [] : [short]),
  long,
];

export const firstLine = (text: string): string => text.split('\n', 1)[0] ?? '';

/** Returns the flags of all commands that have a value. */
export const valueFlags = (root: CommandDescription): readonly string[] => [
  ...new Set(
    everyCommand(root).flatMap(({ options }) =>
      options.filter(({ value }) => value !== undefined).flatMap((option) => flagsOf(option)),
    ),
  ),
];
