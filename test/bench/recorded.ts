/** The recorded scheduling cases of the conformance suite as snapshots. */
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { readInstanceTypes } from '../../src/cli/objects/catalogue.ts';
import { readManifests } from '../../src/cli/objects/read.ts';
import { worldOf } from '../../src/cli/objects/snapshot.ts';
import type { InstanceType, Plan, Snapshot } from '../../src/engine/model.ts';

const CASES = join(import.meta.dirname, '../conformance/cases');

export interface Scenario {
  readonly name: string;
  /** With a fee of so many USD per hour for each node; prices of instances alone without one. */
  readonly snapshot: (nodeHourlyFee?: number) => Promise<Snapshot>;
}

/** Those whose name ends so. */
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
          (await worldOf(manifests, { instanceTypes: () => types, nowMs: 0, nodeHourlyFee })).snapshot,
      };
    });
}

/** They are kept compressed, and read from a file alone. */
function catalogueOf(file: string): readonly InstanceType[] {
  const folder = mkdtempSync(join(tmpdir(), 'bench-'));
  try {
    const path = join(folder, file);
    writeFileSync(path, gunzipSync(readFileSync(join(CASES, `${file}.gz`))));
    return readInstanceTypes(path);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** USD per hour of the instances that a plan buys. */
export const priceOf = ({ claims }: Plan): number => claims.reduce((sum, { usdPerHour }) => sum + usdPerHour, 0);
