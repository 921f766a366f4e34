/** Recorded AWS requests of the reference, packed in one file. */
import { readdirSync, readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import type { Json } from './json.ts';

const PACKED = new URL('../fixtures/cases.json.gz', import.meta.url);

/**
 * Returns the `world`, the `further` instance types that only wide cases use, and cases by name. Includes the JSON
 * files in the folder `AWS_CASES`, if it is set.
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
