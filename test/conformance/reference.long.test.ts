/**
 * Compares the engine with a second scheduler that was written from the specification. Both must make the same plan
 * for random clusters with many rules. `reference/scheduler.ts` lists the code that they share.
 */
import { describe, expect, it } from '@jest/globals';
import type { Plan } from '#engine/model';
import { solve } from '#engine/solve';
import { type DrawnCluster, drawnCluster } from './reference/clusters.ts';
import { keyOf } from './reference/pods.ts';
import { type Requirements, requirementsOf, textOf } from './reference/requirements.ts';
import { type ReferencePlan, ReferenceScheduler } from './reference/scheduler.ts';

const requirementTexts = (requirements: Requirements): readonly string[] =>
  [...requirements].map(([key, values]) => `${key} ${textOf(values)}`).sort();

/** Reports whether a pod is refused before scheduling. Such pods have separate tests, and are excluded. */
const isUnseen = (code: string): boolean => ['ignored', 'failed', 'unsupported'].includes(code);

/** Decisions about each pod and each NodeClaim, one line each. */
interface Decided {
  readonly placements: readonly string[];
  readonly claims: readonly string[];
  readonly refused: readonly string[];
}

const claimText = (nodePool: string, pods: readonly string[], types: readonly string[], asked: Requirements): string =>
  `${nodePool}: ${pods.join(' ')} on ${types.toSorted().join(' ')} with ${requirementTexts(asked).join('; ')}`;

const decidedBy = (plan: Plan): Decided => ({
  placements: plan.placements.map(({ node, pods }) => `${node}: ${pods.join(' ')}`),
  claims: plan.claims.map(({ nodePool, pods, instanceTypes, requirements }) =>
    claimText(nodePool, pods, instanceTypes, requirementsOf(requirements)),
  ),
  refused: [...plan.refusals].flatMap(([pod, { code }]) => (isUnseen(code) ? [] : [pod])).sort(),
});

const decidedByReference = ({ placements, claims, refused }: ReferencePlan): Decided => ({
  placements: placements.map(({ node, pods }) => `${node}: ${pods.join(' ')}`),
  claims: claims.map(({ nodePool, pods, instanceTypes, requirements }) =>
    claimText(nodePool, pods, instanceTypes, requirements),
  ),
  refused,
});

/** Returns the lines that only one of the plans contains. */
function differences(own: Decided, reference: Decided): readonly string[] {
  return (['placements', 'claims', 'refused'] as const).flatMap((kind) => [
    ...own[kind].filter((line) => !reference[kind].includes(line)).map((line) => `only solve, ${kind}: ${line}`),
    ...reference[kind].filter((line) => !own[kind].includes(line)).map((line) => `only reference, ${kind}: ${line}`),
  ]);
}

function compared({ snapshot, options }: DrawnCluster) {
  const plan = solve(snapshot, { ...options, packing: 'compatible' });
  const seen = snapshot.pendingPods.filter((pod) => !isUnseen(plan.refusals.get(keyOf(pod))?.code ?? ''));
  const reference = new ReferenceScheduler({ ...snapshot, pendingPods: seen }, options).solve();
  return { plan, lines: differences(decidedBy(plan), decidedByReference(reference)) };
}

/** Returns the first few clusters with different plans: seed, size, policies and the differences. */
function differing(seeds: readonly number[]): readonly string[] {
  const all = seeds.flatMap((seed) => {
    const { snapshot, options } = drawnCluster(seed);
    const { lines } = compared({ snapshot, options });
    if (lines.length === 0) return [];
    const { pools, nodes, pendingPods } = snapshot;
    const { preferencePolicy, minValuesPolicy, reservedMode } = options;
    const size = `${pools.length} pools, ${nodes.length} nodes, ${pendingPods.length} pods`;
    const policies = `preferences ${preferencePolicy}, minValues ${minValuesPolicy}, reserved ${reservedMode}`;
    return [`seed ${seed} (${size}; ${policies}):\n  ${lines.slice(0, 6).join('\n  ')}`];
  });
  return all.slice(0, 3);
}

const seedsFrom = (first: number, count: number): readonly number[] =>
  Array.from({ length: count }, (_, at) => first + at);

describe('the engine', () => {
  it.each([
    0, 150, 300, 450, 600, 750,
  ])('makes the plan of the reference scheduler of 150 clusters full of rules, from seed %i', (first) => {
    expect(differing(seedsFrom(first, 150))).toEqual([]);
  });

  it('makes the plan of the reference scheduler of clusters that cover every outcome', () => {
    const plans = seedsFrom(0, 60).map((seed) => compared(drawnCluster(seed)).plan);
    const counts = {
      claims: plans.flatMap(({ claims }) => claims).length,
      shared: plans.flatMap(({ claims }) => claims).filter(({ pods }) => pods.length > 1).length,
      placements: plans.flatMap(({ placements }) => placements).length,
      refused: plans.flatMap(({ refusals }) => [...refusals]).length,
    };
    expect(Object.entries(counts).filter(([, count]) => count < 20)).toEqual([]);
  });
});
