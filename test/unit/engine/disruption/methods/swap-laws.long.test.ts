/** Properties of consolidation that hold in any cluster. */
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { NODEPOOL_LABEL } from '#api/objects';
import { type Command, savingsOf } from '../../../../../src/engine/disruption/command.ts';
import { swap } from '../../../../../src/engine/disruption/methods/swap.ts';
import { type PassInput, simulateOn } from '../../../../../src/engine/disruption/pass.ts';
import { review } from '../../../../../src/engine/disruption/review.ts';
import type { SimulationOptions } from '../../../../../src/engine/disruption/simulations/simulation.ts';
import { Simulator } from '../../../../../src/engine/disruption/simulations/simulator.ts';
import { compatibleOfferings } from '../../../../../src/engine/instance-types.ts';
import type { PlannedClaim, SolveOptions } from '../../../../../src/engine/model.ts';
import { isOwnedByDaemonSet, podKey } from '../../../../../src/engine/pods.ts';
import { Requirements } from '../../../../../src/engine/requirements.ts';
import { solve } from '../../../../../src/engine/solve.ts';
import { after, costOf, passOn, type Step, untilAtRest } from '../../../../support/cluster-course.ts';
import type { PoolShape } from '../../../../support/cluster-objects.ts';
import { type Cluster, type ClusterShape, clusterOf } from '../../../../support/clusters.ts';

const part = fc.double({ min: 0.1, max: 1, noNaN: true });

const shapes = fc.record({
  seed: fc.nat(10_000),
  nodes: fc.integer({ min: 2, max: 14 }),
  podsPerNode: fc.integer({ min: 2, max: 12 }),
  workloads: fc.integer({ min: 1, max: 12 }),
  ruled: fc.constantFrom(0, 0.5, 1),
  quiet: fc.constantFrom(0, 0.3),
  from: part,
  to: part,
  pools: fc
    .array(
      fc.record({
        capacityTypes: fc.constantFrom(['on-demand'], ['spot'], ['spot', 'on-demand']),
        consolidationPolicy: fc.constantFrom<PoolShape['consolidationPolicy']>(
          'WhenEmptyOrUnderutilized',
          'Balanced',
          'WhenEmpty',
        ),
        budget: fc.constantFrom('1', '2', '30%', '100%'),
      }),
      { minLength: 1, maxLength: 3 },
    )
    .map((pools) => pools.map((pool, at) => ({ ...pool, name: `pool-${at}` }))),
});

const clusterIn = ({ from, to, ...shape }: Omit<ClusterShape, 'fill' | 'bought'> & { from: number; to: number }) =>
  clusterOf({
    ...shape,
    fill: [Math.min(from, to), Math.max(from, to)],
    offered: /^[cmr][56](i|a)?\./, // a few families, to keep the cases fast
    bought: /^m6i\.(|x|2x)large$/,
  });

const clusters = shapes.map(clusterIn);
/** Clusters large enough to exchange several nodes for several other nodes. */
const largerClusters = shapes.map((shape) =>
  clusterIn({ ...shape, nodes: 8 + 2 * shape.nodes, from: 0.6, quiet: 0, podsPerNode: 6 + shape.podsPerNode }),
);

const runsFor = (numRuns: number) => ({ numRuns, seed: 20_260_101, endOnFailure: true });

/** Highest possible launch price of a claim: a simple implementation of `worstLaunchPrice`. */
function mostFor(claim: PlannedClaim, { pools }: Cluster): number {
  const requirements = Requirements.fromRequirements(claim.requirements);
  const types = pools.get(claim.nodePool)?.instanceTypes ?? [];
  const prices = claim.instanceTypes.flatMap((name) => {
    const type = types.find((each) => each.name === name);
    const offerings = type === undefined ? [] : compatibleOfferings(type, requirements);
    const isOf = (capacityType: string) => (offering: (typeof offerings)[number]) =>
      offering.requirements.some(({ values }) => values?.includes(capacityType));
    const spot = offerings.filter(isOf('spot'));
    return (spot.length > 0 ? spot : offerings).map(({ usdPerHour }) => usdPerHour);
  });
  return prices.length === 0 ? Number.POSITIVE_INFINITY : Math.max(...prices);
}

const podsOf = ({ snapshot }: Cluster): readonly string[] =>
  snapshot.nodes
    .flatMap(({ pods }) => pods)
    .filter((pod) => !isOwnedByDaemonSet(pod))
    .map(podKey)
    .sort();

function expectCheaper({ command, before, after }: Step): void {
  const price = command.candidates.reduce((sum, { usdPerHour }) => sum + usdPerHour, 0);
  const most = command.replacements.reduce((sum, claim) => sum + mostFor(claim, before), 0);
  expect(most).toBeLessThan(price);
  expect(savingsOf(command)).toBeGreaterThan(0);
  expect(costOf(after)).toBeLessThan(costOf(before));
}

function expectWithinBudgets({ command, before }: Step): void {
  for (const [pool, { length }] of Map.groupBy(command.candidates, ({ nodePool }) => nodePool.metadata.name)) {
    const total = before.snapshot.nodes.filter(({ labels }) => labels[NODEPOOL_LABEL] === pool).length;
    const [budget] = before.pools.get(pool)?.nodePool.spec.disruption?.budgets ?? [];
    const [, share, nodes] = /^(?:(\d+)%|(\d+))$/.exec(budget?.nodes ?? '') ?? [];
    expect(length).toBeLessThanOrEqual(share ? Math.ceil((total * Number(share)) / 100) : Number(nodes));
  }
}

function expectUnblocked({ command, before }: Step): void {
  const blocked = before.snapshot.podDisruptionBudgets
    .filter(({ status }) => status?.disruptionsAllowed === 0)
    .map(({ spec }) => spec.selector?.matchLabels?.app);
  for (const { nodePool, reschedulablePods } of command.candidates) {
    for (const { metadata } of reschedulablePods) expect(blocked).not.toContain(metadata.labels?.app);
    if (nodePool.spec.disruption?.consolidationPolicy === 'WhenEmpty') expect(reschedulablePods).toEqual([]);
  }
}

describe('every consolidation command until no further command is found', () => {
  it('saves money for any launched type, respects budgets and policies, and leaves a place for every pod', async () => {
    const methods = new Set<string>();
    await fc.assert(
      fc.asyncProperty(clusters, fc.boolean(), async (cluster, spotToSpot) => {
        let steps = 0;
        for await (const step of untilAtRest(cluster, { spotToSpot })) {
          expectCheaper(step);
          expectWithinBudgets(step);
          expectUnblocked(step);
          // A plan that leaves out a pod of the candidates cannot be executed.
          expect(podsOf(step.after)).toEqual(podsOf(step.before));
          methods.add(step.method);
          expect(++steps).toBeLessThan(200);
        }
      }),
      runsFor(25),
    );
    const looking = ['multi-node consolidation', 'single-node consolidation'];
    expect([...methods].sort()).toEqual(expect.arrayContaining(looking));
  }, 120_000);

  it('is the same in each run', async () => {
    await fc.assert(
      fc.asyncProperty(clusters, async (cluster) => {
        const course = async (): Promise<readonly unknown[]> => {
          const steps: unknown[] = [];
          for await (const { method, command } of untilAtRest(cluster))
            steps.push([method, command.candidates.map(({ name }) => name), command.replacements]);
          return steps;
        };
        expect(await course()).toEqual(await course());
      }),
      runsFor(5),
    );
  }, 60_000);
});

describe('a swap', () => {
  it('saves money for any launched types, respects budgets and policies, and leaves a place for every pod', async () => {
    let count = 0;
    await fc.assert(
      fc.asyncProperty(largerClusters, fc.boolean(), async (cluster, spotToSpot) => {
        const { result: findings } = await review(swap, passOn(cluster, { spotToSpot }));
        for (const command of findings.commands) {
          const step: Step = { method: swap.name, command, before: cluster, after: after(cluster, command) };
          expectCheaper(step);
          expectWithinBudgets(step);
          expectUnblocked(step);
          expect(podsOf(step.after)).toEqual(podsOf(cluster));
          if (!spotToSpot) expect(isSpotToSpot(step)).toBe(false);
          count += command.replacements.length > 1 ? 1 : 0;
        }
      }),
      runsFor(40),
    );
    expect(count).toBeGreaterThan(0);
  }, 60_000);
});

/** Searches for cheaper nodes even if the packing limit shows that there are none. */
class ThoroughSimulator extends Simulator {
  override without(providerIds: Iterable<string>, { packingLimit: _, ...options }: SimulationOptions) {
    return super.without(providerIds, options);
  }
}

const isSpotToSpot = ({ command: { candidates, replacements } }: Step): boolean =>
  candidates.every(({ capacityType }) => capacityType === 'spot') &&
  replacements.some(({ requirements }) => requirements.some(({ values }) => values?.includes('spot')));

it('finds the same swaps with and without the packing limit', async () => {
  let [swaps, spared] = [0, 0];
  await fc.assert(
    fc.asyncProperty(largerClusters, fc.boolean(), async (cluster, spotToSpot) => {
      const commandsOf = async (pass: PassInput): Promise<readonly Command[]> =>
        (await review(swap, pass)).result.commands;
      const pass = passOn(cluster, { spotToSpot });
      const found = await commandsOf(pass);
      const { snapshot, pools } = cluster;
      const nodePools = [...pools.values()].map(({ nodePool }) => nodePool);
      const simulator = new ThoroughSimulator(snapshot, { nodePools, solve: SIMULATED });
      expect(found).toEqual(await commandsOf({ ...pass, simulate: simulateOn(simulator) }));
      if (found.length > 0) swaps++;
      else spared++;
    }),
    runsFor(40),
  );
  expect(Math.min(swaps, spared)).toBeGreaterThan(0);
}, 120_000);

const SIMULATED: SolveOptions = {
  preferencePolicy: 'Respect',
  minValuesPolicy: 'Strict',
  reservedMode: 'fallback',
  ignoreDraRequests: true,
  packing: 'compatible',
};

describe('a simulator on one snapshot', () => {
  it('returns the results of separate solves, independent of earlier simulations', async () => {
    await fc.assert(
      fc.property(
        clusters,
        fc.array(fc.uniqueArray(fc.nat(13), { minLength: 1, maxLength: 4 }), { minLength: 1, maxLength: 6 }),
        ({ snapshot, pools }, sets) => {
          const nodePools = [...pools.values()].map(({ nodePool }) => nodePool);
          const shared = new Simulator(snapshot, { nodePools, solve: SIMULATED });
          for (const set of sets) {
            const gone = snapshot.nodes.filter((_, at) => set.includes(at));
            const found = shared.without(
              gone.map(({ providerId }) => providerId),
              { sparesQuietNodes: false },
            );
            const plan = solve(
              {
                ...snapshot,
                nodes: snapshot.nodes.map((node) =>
                  gone.includes(node) ? { ...node, markedForDeletion: true } : node,
                ),
                pendingPods: gone.flatMap(({ pods }) => pods.filter((pod) => !isOwnedByDaemonSet(pod))),
              },
              SIMULATED,
            );
            expect(found?.plan).toEqual(plan);
          }
        },
      ),
      runsFor(40),
    );
  }, 60_000);
});
