/** Traces and earlier results that benchmarks read from files. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { GENERATORS } from '#replay/trace';

const GENERATED = 'pods=100&duration=1d&seed=1';
const TRACE_FILE = /\.jsonl(\.gz)?$/;

export interface Source {
  readonly name: string;
  /** Argument of `karpenter replay --trace`. */
  readonly source: string;
}

/** Returns the names of the trace files of a folder. */
export const traceFilesIn = (folder: string | undefined): readonly string[] =>
  folder === undefined
    ? []
    : readdirSync(folder)
        .filter((name) => TRACE_FILE.test(name))
        .sort();

/** Returns the trace files of the folder, and one trace of each generator. @param only beginnings of names */
export function sourcesOf({
  folder,
  only,
}: {
  readonly folder: string | undefined;
  readonly only: string;
}): readonly Source[] {
  const all = [
    ...traceFilesIn(folder).map((file) => ({ name: file.replace(TRACE_FILE, ''), source: join(folder ?? '', file) })),
    ...Object.keys(GENERATORS).map((kind) => ({ name: kind, source: `generate:${kind}?${GENERATED}` })),
  ];
  return all.filter(({ name }) => isSelected(name, only));
}

/** @param only comma-separated beginnings of names */
export const isSelected = (name: string, only: string): boolean =>
  only.split(',').some((beginning) => name.startsWith(beginning));

/** Returns the results of an earlier run, which has written one JSON object per line. */
export function resultsIn<T>(file: string | undefined): readonly T[] {
  if (file === undefined || !existsSync(file)) return [];
  const lines = readFileSync(file, 'utf8').split('\n').filter(Boolean);
  return lines.map((line) => JSON.parse(line));
}
