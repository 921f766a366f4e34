/** Option `-o`: forms and destinations of a replay's output. */
import { accessSync, constants, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { InvalidArgumentError, Option } from 'commander';
import { InputError, messageOf } from '../objects/errors.ts';

const FORMS = ['summary', 'json', 'yaml', 'html'] as const;
export type Form = (typeof FORMS)[number];

export interface Destination {
  readonly form: Form;
  /** Output file. Undefined for standard output. */
  readonly file?: string;
}

/** Returns true for forms that cannot be printed on standard output. */
const needsFile = (form: Form): boolean => form === 'html';

/** @throws InvalidArgumentError */
export function destination(text: string, before: readonly Destination[] = []): readonly Destination[] {
  const [, name, file] = /^([^=]*)(?:=(.*))?$/s.exec(text) ?? [];
  const form = FORMS.find((each) => each === name);
  if (form === undefined || file === '')
    throw new InvalidArgumentError(
      `Expected ${FORMS.join(', ')}, or one of them with a file, for example html=replay.html.`,
    );
  if (file === undefined && needsFile(form)) throw new InvalidArgumentError(`Add a file name: ${form}=replay.${form}.`);
  const given = { form, ...(file !== undefined && { file }) };
  const clash = before.find((each) => each.file === file);
  if (clash !== undefined)
    throw new InvalidArgumentError(
      `${clash.form} is already written to ${file === undefined ? 'standard output' : file}; choose another file.`,
    );
  return [...before, given];
}

export const destinationsOption = (): Option =>
  new Option(
    '-o, --output <form>',
    'summary, json or yaml, optionally with =FILE, or html=FILE for a page with plots; repeatable; the summary is printed unless another format is',
  ).argParser(destination);

/** Adds the summary if standard output is not used otherwise. */
export const withSummary = (given: readonly Destination[] = []): readonly Destination[] =>
  given.some(({ file, form }) => file === undefined || form === 'summary') ? given : [{ form: 'summary' }, ...given];

/**
 * Checks the output files before a long replay starts.
 *
 * @throws InputError if a file cannot be written
 */
export function checkWritable(destinations: readonly Destination[]): void {
  for (const { file } of destinations) {
    if (file === undefined) continue;
    try {
      accessSync(dirname(file), constants.W_OK);
    } catch (error) {
      throw new InputError(file, `cannot be written: ${messageOf(error)}`, { cause: error });
    }
    if (statSync(file, { throwIfNoEntry: false })?.isDirectory())
      throw new InputError(file, 'is a folder; use a file name');
  }
}
