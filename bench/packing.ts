/** Prices of the conformance suite's plain cases with both packings, relative to the linear-programming bound. */
import type { SolveOptions } from '#engine/model';
import { solve } from '#engine/solve';
import { lowerBound } from './bound.ts';
import { priceOf, recordedScenarios } from './recorded.ts';

export interface PackingLine {
  readonly workload: string;
  readonly pods: number;
  readonly nodes: number;
  readonly milliseconds: number;
  readonly podsPerSecond: number;
  readonly usdPerHour: number;
  readonly usdCompatible: number;
  readonly usdBound: number;
  /** Price relative to the bound, and relative to compatible packing. */
  readonly overBound: number;
  readonly overCompatible: number;
  readonly heapMb: number;
}

/** Yields one line per case, and one for all cases. */
export async function* packingLines(options: SolveOptions): AsyncGenerator<PackingLine> {
  const lines: PackingLine[] = [];
  for (const scenario of recordedScenarios('-plain')) {
    const { name } = scenario;
    // the bound and the prices include only instances
    const snapshot = await scenario.snapshot(0);
    const compatible = solve(snapshot, { ...options, packing: 'compatible' });
    const start = performance.now();
    const plan = solve(snapshot, { ...options, packing: 'cheapest' });
    const milliseconds = performance.now() - start;
    const prices = [priceOf(plan), priceOf(compatible), await lowerBound(snapshot)] as const;
    const line = lineOf(name, [snapshot.pendingPods.length, plan.claims.length, milliseconds], prices);
    lines.push(line);
    yield line;
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
