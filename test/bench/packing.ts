/** Prices of the conformance suite's plain cases, packed both ways, against the bound of linear programming. */
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { readInstanceTypes } from '../../src/cli/objects/catalogue.ts';
import { readManifests } from '../../src/cli/objects/read.ts';
import { worldOf } from '../../src/cli/objects/snapshot.ts';
import type { Plan, Snapshot, SolveOptions } from '../../src/engine/model.ts';
import { solve } from '../../src/engine/solve.ts';
import { lowerBound } from './bound.ts';

const CASES = join(import.meta.dirname, '../conformance/cases');

export interface PackingLine {
  readonly workload: string;
  readonly pods: number;
  readonly nodes: number;
  readonly milliseconds: number;
  readonly podsPerSecond: number;
  readonly usdPerHour: number;
  readonly usdCompatible: number;
  readonly usdBound: number;
  /** Price over the bound, and over what compatible packing pays. */
  readonly overBound: number;
  readonly overCompatible: number;
  readonly heapMb: number;
}

const priceOf = ({ claims }: Plan): number => claims.reduce((sum, { usdPerHour }) => sum + usdPerHour, 0);

function snapshotOf(name: string, folder: string): Snapshot {
  const types = readFileSync(join(CASES, name, 'types'), 'utf8').trim();
  const path = join(folder, types);
  writeFileSync(path, gunzipSync(readFileSync(join(CASES, `${types}.gz`))));
  const instanceTypes = readInstanceTypes(path);
  const manifests = readManifests([join(CASES, name, 'scenario.yaml')]);
  return worldOf(manifests, { instanceTypes: () => instanceTypes, nowMs: 0 }).snapshot;
}

/** One line per case, and one for all of them together. */
export async function* packingLines(options: SolveOptions): AsyncGenerator<PackingLine> {
  const folder = mkdtempSync(join(tmpdir(), 'bench-'));
  const lines: PackingLine[] = [];
  try {
    for (const name of readdirSync(CASES).filter((each) => each.endsWith('-plain'))) {
      const snapshot = snapshotOf(name, folder);
      const compatible = solve(snapshot, { ...options, packing: 'compatible' });
      const start = performance.now();
      const plan = solve(snapshot, { ...options, packing: 'cheapest' });
      const milliseconds = performance.now() - start;
      const prices = [priceOf(plan), priceOf(compatible), await lowerBound(snapshot)] as const;
      const line = lineOf(name, [snapshot.pendingPods.length, plan.claims.length, milliseconds], prices);
      lines.push(line);
      yield line;
    }
  } finally {
    rmSync(folder, { recursive: true });
  }
  const total = (field: 'pods' | 'nodes' | 'milliseconds' | 'usdPerHour' | 'usdCompatible' | 'usdBound'): number =>
    lines.reduce((sum, line) => sum + line[field], 0);
  yield lineOf(
    'plain cases together',
    [total('pods'), total('nodes'), total('milliseconds')],
    [total('usdPerHour'), total('usdCompatible'), total('usdBound')],
  );
}

function lineOf(
  workload: string,
  [pods, nodes, milliseconds]: readonly [number, number, number],
  [usdPerHour, usdCompatible, usdBound]: readonly [number, number, number],
): PackingLine {
  const rounded = (value: number, digits: number): number => Number(value.toFixed(digits));
  return {
    workload,
    pods,
    nodes,
    milliseconds: rounded(milliseconds, 1),
    podsPerSecond: Math.round((pods / milliseconds) * 1000),
    usdPerHour: rounded(usdPerHour, 4),
    usdCompatible: rounded(usdCompatible, 4),
    usdBound: rounded(usdBound, 4),
    overBound: rounded(usdPerHour / usdBound, 4),
    overCompatible: rounded(usdPerHour / usdCompatible, 4),
    heapMb: Math.round(process.memoryUsage().heapUsed / 2 ** 20),
  };
}
