/** Reference pages of the verbs, generated from their declarations. */

import type { CommandDescription, OptionDescription } from '#cli/testing';
import { code, heading, markdownTable } from './markdown.ts';

/** Format that a verb prints as JSON and YAML. */
export interface DescribedOutput {
  /** File name of the JSON Schema, without its extension. */
  readonly name: string;
  /** Name of the verb, for example `explain node`. */
  readonly verb: string;
  /** Condition under which the verb prints this format, if it has several formats. */
  readonly when?: string;
}

/** Returns the page of a verb and its subcommands. @param outputs formats that the verbs print */
export function verbPage(verb: CommandDescription, outputs: readonly DescribedOutput[]): string {
  const title = verb.path.join(' ');
  return `${[...heading(title, 'the declarations in src/cli'), ...sections(verb, 2, outputs)].join('\n').trimEnd()}\n`;
}

function sections(verb: CommandDescription, level: number, outputs: readonly DescribedOutput[]): readonly string[] {
  const { description, examples, notes, commands } = verb;
  return [
    ...paragraphs(description),
    '```sh',
    usageOf(verb),
    '```',
    '',
    ...argumentLines(verb),
    ...optionLines(verb.options),
    ...(notes === '' ? [] : paragraphs(notes)),
    ...(examples.length === 0
      ? []
      : ['```sh', ...examples.flatMap(({ what, command }) => [`# ${what}`, command]), '```', '']),
    ...outputLines(verb, outputs),
    ...commands.flatMap((nested) => [
      `${'#'.repeat(level)} ${nested.path.join(' ')}`,
      '',
      ...sections(nested, level + 1, outputs),
    ]),
  ];
}

const usageOf = ({ path, options, arguments: given, commands }: CommandDescription): string =>
  [
    ...path,
    ...(commands.length > 0 && options.length === 0 ? ['<command>'] : []),
    ...(options.length > 0 ? ['[options]'] : []),
    // a command with options does something without a subcommand
    ...(commands.length > 0 && options.length > 0 ? ['[command]'] : []),
    ...given.map(({ usage }) => usage),
  ].join(' ');

/** Converts the lines of the help to Markdown paragraphs. Indented lines are commands. */
function paragraphs(text: string): readonly string[] {
  const lines: string[] = [];
  let isCode = false;
  for (const line of text.split('\n')) {
    const isIndented = line.startsWith('  ') && line.trim() !== '';
    if (isIndented !== isCode) lines.push(...(isIndented ? ['```sh'] : ['```', '']));
    isCode = isIndented;
    lines.push(isIndented ? line.replace(/^ {2}/, '') : line.trim());
  }
  return [...lines, ...(isCode ? ['```'] : []), ''];
}

function argumentLines({ arguments: given }: CommandDescription): readonly string[] {
  if (given.length === 0) return [];
  const rows = given.map(({ usage, choices, description }) => [code(usage), withChoices(description, choices)]);
  return [...markdownTable(['Argument', 'Meaning'], rows), ''];
}

function optionLines(options: readonly OptionDescription[]): readonly string[] {
  if (options.length === 0) return [];
  const rows = options.map((option) => [
    code(flagsOf(option)),
    option.fallback === undefined ? '' : code(option.fallback),
    withChoices(option.description, option.choices) +
      (option.variable === undefined ? '' : `; also ${code(option.variable)}`),
  ]);
  return [...markdownTable(['Option', 'Default', 'Meaning'], rows), ''];
}

const flagsOf = ({ short, long, value }: OptionDescription): string =>
  `${short === undefined ? '' : `${short}, `}${long}${value === undefined ? '' : ` <${value}>`}`;

const withChoices = (description: string, choices: readonly string[]): string =>
  choices.length === 0 ? description : `${description}: ${choices.map(code).join(', ')}`;

function outputLines({ path }: CommandDescription, outputs: readonly DescribedOutput[]): readonly string[] {
  const own = outputs.filter(({ verb }) => verb === path.slice(1).join(' '));
  if (own.length === 0) return [];
  const links = own.map(({ name, when }) => `[${name}](../output/${name}.json)${when === undefined ? '' : ` ${when}`}`);
  return [`\`-o json\` and \`-o yaml\` have this JSON Schema: ${links.join(', ')}.`, ''];
}

/** Verbs that answer one question. */
interface VerbGroup {
  readonly question: string;
  readonly verbs: readonly (readonly [name: string, summary: string])[];
}

/**
 * Returns the page that lists the verbs.
 * @param groups verbs with their summaries in the order of the help
 */
export const indexPage = (groups: readonly VerbGroup[]): string =>
  `${[
    ...heading('The command line', 'the verbs in src/cli/command-line.ts'),
    '`karpenter VERB --help` prints the same text. If the program is on the path as `kubectl-karpenter`, you can use `kubectl karpenter`.',
    '[Questions](../../questions.md) has the output of the most common commands.',
    '',
    ...groups.flatMap(({ question, verbs }) => [
      `## ${question.replace(/:$/, '')}`,
      '',
      ...markdownTable(
        ['Verb', 'Use'],
        verbs.map(([name, summary]) => [`[${name}](${name}.md)`, summary]),
      ),
      '',
    ]),
    '## Exit codes and formats',
    '',
    'The exit code is 0 on success, 1 on failure or as described on the page of the command, and 2 for an invalid command',
    'line. With `--exit-code`, 2 means that there would be changes, and an invalid command line exits with 1.',
    '',
    'Results are on standard output. Notes, errors and progress are on standard error, and progress only in a terminal.',
    'JSON and YAML have the same content. Fields may be added, but are not renamed, removed or used for another purpose. The',
    'schemas are in [output](../output).',
  ].join('\n')}\n`;
