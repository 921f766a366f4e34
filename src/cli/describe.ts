/** The command line as data: what reference pages and shell completion are written from. */
import type { EventEmitter } from 'node:events';
import type { Argument, Command, Option } from 'commander';

export interface OptionDescription {
  /** `-o`, where there is one. */
  readonly short?: string;
  /** `--output`. */
  readonly long: string;
  /** `format` of `--output <format>`; absent for an option without a value. */
  readonly value?: string;
  readonly choices: readonly string[];
  /** Whether the value names a file or a folder. */
  readonly isFile: boolean;
  readonly description: string;
  /** What holds when it is left out, in words. */
  readonly fallback?: string;
  /** Environment variable that gives it as well. */
  readonly variable?: string;
}

interface ArgumentDescription {
  /** `[name]`, `<name>`, `<name...>`. */
  readonly usage: string;
  readonly choices: readonly string[];
  readonly isFile: boolean;
  readonly description: string;
}

export interface CommandDescription {
  /** From the program on: `['karpenter', 'explain', 'node']`. */
  readonly path: readonly string[];
  readonly aliases: readonly string[];
  readonly description: string;
  readonly arguments: readonly ArgumentDescription[];
  readonly options: readonly OptionDescription[];
  readonly examples: readonly Example[];
  /** Text of `--help` after the options and examples. */
  readonly notes: string;
  readonly commands: readonly CommandDescription[];
}

export interface Example {
  /** What it does, as a sentence without a full stop. */
  readonly what: string;
  readonly command: string;
}

/** Names of values and arguments that stand for files. */
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

/** Makes `--help` of a command, and of those below it, end with their examples. */
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
    aliases: command.aliases(),
    description: command.description(),
    arguments: command.registeredArguments.map(argumentOf),
    options: command.options.filter(({ hidden }) => !hidden).map(optionOf),
    examples: examples.get(command) ?? [],
    notes: notesOf(command),
    commands: command.commands.map((nested) => describeCommand(nested, path)),
  };
}

/** Every command of a tree, each before those below it. */
export const everyCommand = (root: CommandDescription): readonly CommandDescription[] => [
  root,
  ...root.commands.flatMap(everyCommand),
];

/** Commander keeps texts after the help as listeners. */
function notesOf(command: Command): string {
  let text = '';
  const write = (part: string): void => {
    text += part;
  };
  // its types leave out that a command is an event emitter
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

/** A switch that is off by default needs no word. */
const isShown = (value: unknown): boolean => value !== undefined && value !== false;

/** `FILE|DIR` as well. */
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
