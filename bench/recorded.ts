/** The recorded scheduling cases of the conformance suite as snapshots. */
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { readCatalogue, readManifests, worldOf } from '#cli/testing';
import type { InstanceType, Plan, Snapshot } from '#engine/model';

const CASES = join(import.meta.dirname, '../test/conformance/cases');

export interface Scenario {
  readonly name: string;
  /** Snapshot with a fee in USD per hour for each node. */
  readonly snapshot: (nodeHourlyFee: number) => Promise<Snapshot>;
}

/** Returns the cases whose names have this suffix. */
export function recordedScenarios(suffix = ''): readonly Scenario[] {
  const catalogues = new Map<string, readonly InstanceType[]>();
  return readdirSync(CASES)
    .filter((name) => /^\d/.test(name) && name.endsWith(suffix))
    .map((name) => {
      const file = readFileSync(join(CASES, name, 'types'), 'utf8').trim();
      const types = catalogues.get(file) ?? catalogueOf(file);
      catalogues.set(file, types);
      const manifests = readManifests([join(CASES, name, 'scenario.yaml')]);
      return {
        name,
        snapshot: async (nodeHourlyFee) =>
          (await worldOf(manifests, { instanceTypes: () => types, nowMs: 0, settings: { nodeHourlyFee } })).snapshot,
      };
    });
}

/** Catalogues are stored compressed, but the reader needs a file. */
function catalogueOf(file: string): readonly InstanceType[] {
  const folder = mkdtempSync(join(tmpdir(), 'bench-'));
  try {
    const path = join(folder, file);
    writeFileSync(path, gunzipSync(readFileSync(join(CASES, `${file}.gz`))));
    return readCatalogue(path).instanceTypes;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Price of the instances of a plan, in USD per hour. */
export const priceOf = ({ claims }: Plan): number => claims.reduce((sum, { usdPerHour }) => sum + usdPerHour, 0);
