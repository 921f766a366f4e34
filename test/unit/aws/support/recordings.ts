/** Recorded AWS requests of the reference, packed in one file. */
import { readdirSync, readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import type { Json } from './json.ts';

const PACKED = new URL('../fixtures/cases.json.gz', import.meta.url);

/**
 * The `world`, the `further` instance types that only wide cases ask for, and cases by name; with those of the folder
 * of JSON files that `AWS_CASES` names.
 */
export function recordings(): Json {
  const folder = process.env.AWS_CASES;
  const files = folder === undefined ? [] : readdirSync(folder).filter((file) => file.endsWith('.json'));
  const read = (file: string): Json => JSON.parse(readFileSync(`${folder}/${file}`, 'utf8'));
  return {
    ...JSON.parse(gunzipSync(readFileSync(PACKED)).toString()),
    ...Object.fromEntries(files.map((file) => [file.replace('.json', ''), read(file)])),
  };
}
