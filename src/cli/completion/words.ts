/** What all shells complete: the commands with their options, by the words that lead to them. */
import { type CommandDescription, everyCommand, type OptionDescription } from '../describe.ts';

/** The programs that a script completes. */
export const PROGRAMS: readonly string[] = ['karpenter', 'kubectl-karpenter'];

export interface CompletedCommand {
  /** `karpenter explain node`. */
  readonly path: string;
  readonly description: string;
  readonly options: readonly OptionDescription[];
  readonly commands: readonly CommandDescription[];
  /** Words for the arguments, where there are choices. */
  readonly words: readonly string[];
  /** Whether an argument is a file. */
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

/** Steps from one command to the next: `[['karpenter explain', 'node', 'karpenter explain node'], …]`, aliases included. */
export const steps = (root: CommandDescription): readonly (readonly [from: string, word: string, to: string])[] =>
  everyCommand(root).flatMap(({ path, commands }) =>
    commands.flatMap((nested) =>
      [nested.path.at(-1) ?? '', ...nested.aliases].map(
        (word) => [path.join(' '), word, nested.path.join(' ')] as const,
      ),
    ),
  );

export const flagsOf = ({ short, long }: OptionDescription): readonly string[] => [
  ...(short === undefined ? [] : [short]),
  long,
];

export const firstLine = (text: string): string => text.split('\n', 1)[0] ?? '';

/** Flags that are followed by a value, of all commands. */
export const valueFlags = (root: CommandDescription): readonly string[] => [
  ...new Set(
    everyCommand(root).flatMap(({ options }) =>
      options.filter(({ value }) => value !== undefined).flatMap((option) => flagsOf(option)),
    ),
  ),
];
