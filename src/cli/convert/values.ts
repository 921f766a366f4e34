/**
 * Command `karpenter convert values`. Converts values of Karpenter's chart, of any release, to values of this chart.
 */
import { Command } from 'commander';
import { isMap, type YAMLMap } from 'yaml';
import { type Example, withExamples } from '../describe.ts';
import { InputError } from '../objects/errors.ts';
import { readFiles, type SourceDocument } from './documents.ts';
import { convertValues } from './helm-values.ts';
import { Notes } from './notes.ts';
import {
  type InputFlags,
  type OutputFlags,
  printErrors,
  printNotes,
  withInput,
  withOutput,
  writeFiles,
} from './output.ts';
import { eachDocument, onFiles } from './run.ts';

type Flags = InputFlags & OutputFlags;

/** @throws InputError if the document does not contain values */
function convertValuesDocument(source: SourceDocument, notes: Notes): void {
  const { contents } = source.document;
  if (contents === null) return;
  if (!isMap(contents)) throw new InputError(source.where, 'expected chart values, a map such as `settings: {…}`');
  const values = contents as YAMLMap;
  if (values.has('apiVersion') && values.has('kind'))
    throw new InputError(
      source.where,
      'is a Kubernetes object and not a file of chart values; convert it without `values`',
    );
  source.isChanged = convertValues(values, notes.on(source.where, values));
}

function run(flags: Flags): void {
  const read = readFiles(flags.filename, flags);
  const notes = new Notes();
  const wrong = eachDocument(read, (source) => convertValuesDocument(source, notes));
  writeFiles(read.files, flags);
  printNotes(notes);
  printErrors(wrong);
}

const EXAMPLES: readonly Example[] = [
  { what: 'Show the changes', command: 'karpenter convert values -f values.yaml --diff' },
  { what: 'Change the file', command: 'karpenter convert values -f values.yaml --in-place' },
  {
    what: 'Convert the values of the installed release',
    command: 'helm get values karpenter -n karpenter -o yaml | karpenter convert values -f - -o values.yaml',
  },
];

export function valuesCommand(): Command {
  const command = new Command('values').description(
    'Convert Helm values of any release of the Karpenter chart to current values',
  );
  withExamples(withOutput(withInput(command, 'values')), EXAMPLES);
  return onFiles<Flags>(command, run);
}
