/** Solves at the size of the benchmark, with known results and deadlines. */
import { describe, expect, it } from '@jest/globals';
import type { Pod } from '#api/objects';
import { benchmarkTypes } from '../../../bench/catalogue.ts';
import { goRandom } from '../../../bench/gorand.ts';
import { diversePods, preferencePods } from '../../../bench/pods.ts';
import type { Plan, SolveOptions } from '../../../src/engine/model.ts';
import { podKey } from '../../../src/engine/pods.ts';
import { addResources, podRequests } from '../../../src/engine/resources.ts';
import { solve } from '../../../src/engine/solve.ts';
import { nodePool, OPTIONS, replicas, snapshot } from './build.ts';

const types = benchmarkTypes(400);
const COMPATIBLE: SolveOptions = { ...OPTIONS, packing: 'compatible' };

const planFor = (pendingPods: readonly Pod[], options: Partial<SolveOptions> = {}): Plan =>
  solve(snapshot({ pools: [nodePool('bench')], types, pendingPods }), { ...COMPATIBLE, ...options });
const placed = ({ claims }: Plan): readonly string[] => claims.flatMap(({ pods }) => pods);

describe('the benchmark', () => {
  const draw = goRandom(42);
  const pods = diversePods(1000, draw);

  it('generates the pods of the common benchmark', () => {
    const total = addResources(...pods.map(podRequests));
    expect([total.cpu, (total.memory ?? 0) / 2 ** 20]).toEqual([663_350, 1_341_084]);
  });

  it('schedules 1000 diverse pods on 200 nodes', () => {
    const plan = planFor(pods);
    expect(plan.claims).toHaveLength(200);
    expect(new Set(placed(plan)).size).toBe(1000);
  });

  it.each([
    { preferencePolicy: 'Respect', nodes: 400 },
    { preferencePolicy: 'Ignore', nodes: 2 },
  ] as const)('schedules 400 pods with preferences on $nodes nodes under $preferencePolicy', (each) => {
    const { preferencePolicy, nodes } = each;
    const plan = planFor(preferencePods(400, draw), { preferencePolicy });
    expect([plan.claims.length, plan.refusals.size]).toEqual([nodes, 0]);
  });
});

describe('a solve that reaches its deadline', () => {
  const pods = diversePods(3000, goRandom(7));

  /** Solves with the time for `count` pods. */
  const solveSome = (pending: readonly Pod[], count: number, first: readonly string[]): Plan => {
    let elapsed = 0;
    return planFor(pending, { deadlineMs: count, elapsedMs: () => elapsed++, first });
  };

  it('returns a partial plan and names every unevaluated pod', () => {
    const plan = solveSome(pods, 800, []);
    expect(placed(plan)).toHaveLength(800);
    expect(plan.refusals.size).toBe(0);
    expect(new Set([...placed(plan), ...plan.notEvaluated])).toEqual(new Set(pods.map(podKey)));
    expect(plan.notEvaluated).toHaveLength(2200);
  });

  it('evaluates every pod eventually if unevaluated pods come first in the next solve', () => {
    let pending = pods;
    let first: readonly string[] = [];
    const sizes: number[] = [];
    while (pending.length > 0) {
      const plan = solveSome(pending, 1000, first);
      const done = new Set(placed(plan));
      sizes.push(done.size);
      pending = pending.filter((pod) => !done.has(podKey(pod)));
      first = plan.notEvaluated;
      if (sizes.length > 5) break;
    }
    expect(sizes).toEqual([1000, 1000, 1000]);
  });

  it('evaluates small unevaluated pods before large pods that were created later', () => {
    const small = replicas(5, 'small', { cpu: '10m' });
    const plan = solveSome([...pods, ...small], 5, small.map(podKey));
    expect(new Set(placed(plan))).toEqual(new Set(small.map(podKey)));
  });
});
