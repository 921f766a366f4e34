/** Writes converted files, and defines the options that the conversions share. */
import { chmodSync, realpathSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { type Command, Option } from 'commander';
import { InputError, messageOf } from '../objects/errors.ts';
import { counted } from '../render/table.ts';
import { changedLines, unifiedDiff } from '../render/unified-diff.ts';
import { collect } from '../scenario.ts';
import { renderAll, renderFile, type SourceFile, STANDARD_INPUT } from './documents.ts';
import { type Notes, noteText } from './notes.ts';
import { setOption, type Variables } from './placeholders.ts';

export interface InputFlags {
  /** Files, folders, or `-` for standard input. */
  readonly filename: readonly string[];
  readonly recursive?: boolean;
  /** Values of placeholders. */
  readonly set?: Variables;
}

export interface OutputFlags {
  /** Output file, instead of standard output. */
  readonly output?: string;
  readonly inPlace?: boolean;
  readonly diff?: boolean;
}

/** Adds the options of {@link InputFlags}. */
export const withInput = (command: Command, what: string): Command =>
  command
    .addOption(
      new Option('-f, --filename <path>', `file or folder with ${what}, or - for standard input; repeatable`)
        .argParser(collect)
        .default([], 'none'),
    )
    .option('-R, --recursive', 'include subfolders')
    .addOption(setOption());

/** Adds the options of {@link OutputFlags}. */
export const withOutput = (command: Command): Command =>
  command
    .option('-o, --output <file>', 'write to this file instead of standard output')
    .addOption(new Option('--in-place', 'overwrite the input files').conflicts(['output']))
    .addOption(
      new Option('--diff', 'print the changes as a unified diff, and write no files').conflicts(['output', 'inPlace']),
    );

/**
 * Writes converted files according to the flags.
 *
 * @throws InputError with the name of a file that cannot be written
 */
export function writeFiles(files: readonly SourceFile[], { output, inPlace, diff }: OutputFlags): void {
  if (diff) {
    for (const file of files) process.stdout.write(unifiedDiff(file.name, file.text, renderFile(file)));
  } else if (inPlace) {
    writeInPlace(files);
  } else if (output !== undefined) {
    writeText(output, renderAll(files));
  } else process.stdout.write(renderAll(files));
}

function writeInPlace(files: readonly SourceFile[]): void {
  if (files.some(({ name }) => name === STANDARD_INPUT))
    throw new InputError(STANDARD_INPUT, 'cannot be written in place; omit --in-place, or specify a file with -f');
  for (const file of files) {
    const text = renderFile(file);
    if (text === file.text) continue;
    writeText(file.name, text);
    const { added, removed } = changedLines(file.text, text);
    process.stdout.write(`${file.name}: ${counted(added, 'line')} added, ${removed} removed\n`);
  }
}

/** Replaces a file atomically. Keeps its mode and follows symbolic links. */
function writeText(path: string, text: string): void {
  try {
    const target = statSync(path, { throwIfNoEntry: false });
    // a special file such as /dev/stdout is written and not replaced
    if (target !== undefined && !target.isFile()) writeFileSync(path, text);
    else replaceFile(target === undefined ? path : realpathSync(path), text, target?.mode);
  } catch (error) {
    throw new InputError(path, `cannot be written: ${messageOf(error)}`, { cause: error });
  }
}

function replaceFile(path: string, text: string, mode: number | undefined): void {
  const draft = `${path}.karpenter-${process.pid}`;
  try {
    writeFileSync(draft, text);
    if (mode !== undefined) chmodSync(draft, mode);
    renameSync(draft, path);
  } finally {
    rmSync(draft, { force: true });
  }
}

/** Prints one line per note on standard error. */
export function printNotes(notes: Notes): void {
  for (const note of notes.all) process.stderr.write(`${noteText(note)}\n`);
}

/** Prints one line per error on standard error, and sets exit code 1 if there is an error. */
export function printErrors(errors: readonly Error[]): void {
  for (const error of errors) process.stderr.write(`karpenter convert: ${messageOf(error)}\n`);
  if (errors.length > 0) process.exitCode = 1;
}
