/** Describes the command line as data for reference pages and shell completion. */
import type { EventEmitter } from 'node:events';
import type { Argument, Command, Option } from 'commander';

export interface OptionDescription {
  /** Short flag: `-o`. Undefined if this option has no short flag. */
  readonly short?: string;
  /** Long flag: `--output`. */
  readonly long: string;
  /** Name of the value: `format` for `--output <format>`. Undefined for an option without a value. */
  readonly value?: string;
  readonly choices: readonly string[];
  /** True if the value is a file or a folder. */
  readonly isFile: boolean;
  readonly description: string;
  /** Description of the default. */
  readonly fallback?: string;
  /** Environment variable with the same effect. */
  readonly variable?: string;
}

interface ArgumentDescription {
  /** Usage: `[name]`, `<name>` or `<name...>`. */
  readonly usage: string;
  readonly choices: readonly string[];
  readonly isFile: boolean;
  readonly description: string;
}

export interface CommandDescription {
  /** Path from the program: `['karpenter', 'explain', 'node']`. */
  readonly path: readonly string[];
  readonly description: string;
  readonly arguments: readonly ArgumentDescription[];
  readonly options: readonly OptionDescription[];
  readonly examples: readonly Example[];
  /** Text of `--help` after the options and examples. */
  readonly notes: string;
  readonly commands: readonly CommandDescription[];
}

export interface Example {
  /** Purpose, without a full stop. */
  readonly what: string;
  readonly command: string;
}

/** Names of values and arguments that are files. */
const FILES: ReadonlySet<string> = new Set(
  'path paths file files folder dir directory source config change manifest manifests'.split(' '),
);

const examples = new WeakMap<Command, readonly Example[]>();

/** Adds examples to the help of a command, and to its reference page. */
export function withExamples(command: Command, shown: readonly Example[]): Command {
  examples.set(command, shown);
  return command;
}

const exampleLines = (shown: readonly Example[]): readonly string[] =>
  shown.length === 0 ? [] : ['', 'Examples:', ...shown.flatMap(({ what, command }) => [`  # ${what}`, `  ${command}`])];

/** Appends examples to the help of a command and its subcommands. */
export function showExamples(command: Command): Command {
  const lines = exampleLines(examples.get(command) ?? []);
  if (lines.length > 0) command.addHelpText('after', lines.join('\n'));
  for (const nested of command.commands) showExamples(nested);
  return command;
}

export function describeCommand(command: Command, above: readonly string[] = []): CommandDescription {
  const path = [...above, command.name()];
  return {
    path,
    description: command.description(),
    arguments: command.registeredArguments.map(argumentOf),
    options: command.options.filter(({ hidden }) => !hidden).map(optionOf),
    examples: examples.get(command) ?? [],
    notes: notesOf(command),
    commands: command.commands.map((nested) => describeCommand(nested, path)),
  };
}

/** Returns all commands of a tree, each before its subcommands. */
export const everyCommand = (root: CommandDescription): readonly CommandDescription[] => [
  root,
  ...root.commands.flatMap(everyCommand),
];

/** Returns the text after the help, which Commander stores as event listeners. */
function notesOf(command: Command): string {
  let text = '';
  const write = (part: string): void => {
    text += part;
  };
  // Commander's types do not declare that a command is an event emitter
  (command as Command & EventEmitter).emit('afterHelp', { error: false, command, write });
  return text.trim();
}

function optionOf(option: Option): OptionDescription {
  const {
    short,
    long = '',
    flags,
    description,
    argChoices = [],
    defaultValue,
    defaultValueDescription,
    envVar,
  } = option;
  const value = /[<[]([^<[>\]]+)[>\]]/.exec(flags)?.[1]?.replace('...', '');
  const fallback = defaultValueDescription ?? (isShown(defaultValue) ? String(defaultValue) : undefined);
  return {
    ...(short !== undefined && { short }),
    long,
    ...(value !== undefined && { value }),
    choices: argChoices,
    isFile: value !== undefined && argChoices.length === 0 && isFileName(value),
    description,
    ...(fallback !== undefined && { fallback }),
    ...(envVar !== undefined && { variable: envVar }),
  };
}

/** Returns false for a flag that is off by default, because the default is obvious. */
const isShown = (value: unknown): boolean => value !== undefined && value !== false;

/** Also supports alternatives such as `FILE|DIR`. */
const isFileName = (name: string): boolean => name.split('|').some((part) => FILES.has(part.toLowerCase()));

function argumentOf(argument: Argument): ArgumentDescription {
  const { required, variadic, description, argChoices = [] } = argument;
  const name = `${argument.name()}${variadic ? '...' : ''}`;
  return {
    usage: required ? `<${name}>` : `[${name}]`,
    choices: argChoices,
    isFile: argChoices.length === 0 && isFileName(argument.name()),
    description,
  };
}
