/** Converts texts in the same way as the command converts files with these names. */
import { parseAllDocuments } from 'yaml';
import type { KubeObject } from '#api/objects';
import { parseFile, renderFile } from '../../../../src/cli/convert/documents.ts';
import { type ConvertOptions, convertFiles } from '../../../../src/cli/convert/manifests.ts';
import { noteText } from '../../../../src/cli/convert/notes.ts';
import { reviewOf } from '../../../../src/cli/objects/stored.ts';

export interface Converted {
  readonly texts: readonly string[];
  /** Text of the first file. */
  readonly text: string;
  /** Objects of all files. */
  readonly objects: readonly KubeObject[];
  /** Notes, one line each. */
  readonly notes: readonly string[];
  readonly errors: readonly string[];
}

export function convertTexts(texts: Readonly<Record<string, string>>, options: ConvertOptions = {}): Converted {
  const files = Object.entries(texts).map(([name, text]) => parseFile(text, name));
  const { notes, errors } = convertFiles(files, options);
  const results = files.map(renderFile);
  return {
    texts: results,
    text: results[0] ?? '',
    objects: results.flatMap((text) =>
      parseAllDocuments(text).flatMap((document) => {
        const value = document.toJS() as (KubeObject & { items?: readonly KubeObject[] }) | null;
        return value === null ? [] : (value.items ?? [value]);
      }),
    ),
    notes: notes.all.map(noteText),
    errors: errors.map(({ message }) => message),
  };
}

export const convertText = (text: string, options?: ConvertOptions): Converted =>
  convertTexts({ 'in.yaml': text }, options);

/** Returns the errors of the v1 CRDs for an object. Empty if the object is valid. */
export const rejections = (object: KubeObject): readonly string[] => {
  const { causes, unknown } = reviewOf(object);
  return [
    ...causes.map(({ field, message }) => `${field}: ${message}`),
    ...unknown.map((field) => `${field}: unknown`),
  ];
};
