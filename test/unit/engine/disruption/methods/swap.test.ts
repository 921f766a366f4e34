/** Swaps of several nodes for cheaper nodes, with prepared simulations. */
import { describe, expect, it } from '@jest/globals';
import { CAPACITY_TYPE_LABEL, INSTANCE_TYPE_LABEL, ZONE_LABEL } from '#api/objects';
import type { Candidate, Command } from '../../../../../src/engine/disruption/command.ts';
import type { MethodInput } from '../../../../../src/engine/disruption/method.ts';
import { groupsOf } from '../../../../../src/engine/disruption/methods/candidate-groups.ts';
import { cheaperTogether, swap } from '../../../../../src/engine/disruption/methods/swap.ts';
import { described, simulateOn } from '../../../../../src/engine/disruption/pass.ts';
import { poolTotals } from '../../../../../src/engine/disruption/pricing/balance.ts';
import { Replacement } from '../../../../../src/engine/disruption/pricing/price-filter.ts';
import { unitPrices } from '../../../../../src/engine/disruption/pricing/worth.ts';
import { methodsOf, review } from '../../../../../src/engine/disruption/review.ts';
import type { Simulation } from '../../../../../src/engine/disruption/simulations/simulation.ts';
import { Simulator } from '../../../../../src/engine/disruption/simulations/simulator.ts';
import type { InstanceType, PlannedClaim, Snapshot, StateNode } from '../../../../../src/engine/model.ts';
import { passOn } from '../../../../support/cluster-course.ts';
import { instanceType, methodInputOf, NOW, pod, pool, stateNode } from '../objects.ts';

/** Types at 0.05 USD per core and hour on demand and 40 % of that as spot, in each zone. */
const types = [1, 2, 4, 8, 16].map((cpu) => instanceType(`m.${cpu}`, cpu, cpu * 0.05));

function candidate(name: string, options: { type?: string; capacityType?: string; pool?: string; zone?: string } = {}) {
  const { type = 'm.8', capacityType = 'on-demand', pool: poolName = 'default', zone = 'zone-a' } = options;
  const plain = stateNode(name, { type, pool: poolName, pods: [pod(`on-${name}`)] });
  const labels = { ...plain.labels, [CAPACITY_TYPE_LABEL]: capacityType, [ZONE_LABEL]: zone };
  const pools = new Map([[poolName, { nodePool: pool(poolName), instanceTypes: types }]]);
  return described({ ...plain, labels }, pools) as Candidate;
}

const planned = (
  names: readonly string[],
  capacityTypes: readonly string[] = ['on-demand'],
  known: readonly InstanceType[] = types,
): PlannedClaim => ({
  nodePool: 'default',
  pods: [],
  instanceTypes: names,
  requirements: [
    { key: INSTANCE_TYPE_LABEL, operator: 'In', values: [...names] },
    { key: CAPACITY_TYPE_LABEL, operator: 'In', values: [...capacityTypes] },
  ],
  requests: {},
  labels: {},
  annotations: {},
  cheapest: names[0] ?? '',
  usdPerHour: known.find(({ name }) => name === names[0])?.offerings[0]?.usdPerHour ?? 0,
});

const solved = (claims: readonly PlannedClaim[]): Simulation => ({
  claims,
  pools: [{ nodePool: pool(), instanceTypes: types }],
  plan: { claims, placements: [], refusals: new Map(), notEvaluated: [], emptyPools: [] },
  stranded: new Map(),
});

const asking = (
  candidates: readonly Candidate[],
  simulate: (gone: readonly Candidate[]) => Simulation | undefined,
  more: Partial<MethodInput> = {},
): MethodInput =>
  methodInputOf(candidates, {
    consolidation: 'thorough',
    pools: new Map([['default', { nodePool: pool(), instanceTypes: types }]]),
    simulate: async (gone) => simulate(gone),
    ...more,
  });

const names = (candidates: readonly Candidate[]): readonly string[] => candidates.map(({ name }) => name).sort();

describe('a replacement of a swap', () => {
  const eight = [candidate('a'), candidate('b')]; // 0.80 in total

  const together = (claims: readonly PlannedClaim[], candidates: readonly Candidate[] = eight, spotToSpot = true) =>
    cheaperTogether(
      claims.map((claim) => Replacement.of(claim, types)),
      candidates,
      { spotToSpot, pools: new Map() },
    );

  it('has types that cost less together with the other replacements, whichever types are launched', () => {
    const found = together([planned(['m.4', 'm.8', 'm.16']), planned(['m.2', 'm.4', 'm.8'])]);
    // 0.20 and 0.10 at least leave 0.53 and 0.26.
    expect(found?.map(({ instanceTypes }) => instanceTypes)).toEqual([
      ['m.4', 'm.8'],
      ['m.2', 'm.4'],
    ]);
  });

  it('is rejected if it costs the same', () => {
    expect(together([planned(['m.8']), planned(['m.8'])])).toBeUndefined();
  });

  it('is limited to spot if the NodePool allows spot, so that a failed launch cannot fall back to a higher price', () => {
    const found = together([planned(['m.4', 'm.8'], ['on-demand', 'spot'])]);
    expect(found?.[0]?.requirements).toContainEqual({ key: CAPACITY_TYPE_LABEL, operator: 'In', values: ['spot'] });
  });

  const spot = ['a', 'b'].map((name) => candidate(name, { capacityType: 'spot' }));
  const many = Array.from({ length: 15 }, (_, at) => instanceType(`s.${at}`, 4, 0.2 + at / 1000));
  const manyNames = many.map(({ name }) => name);
  const spotFor = (count: number, spotToSpot = true) =>
    cheaperTogether([Replacement.of(planned(manyNames.slice(0, count), ['spot'], many), many)], spot, {
      spotToSpot,
      pools: new Map(),
    });

  it('replaces spot nodes only if the feature gate is set and many types are possible', () => {
    expect(spotFor(15)?.[0]?.instanceTypes).toHaveLength(15);
    expect(spotFor(14)).toBeUndefined();
    expect(spotFor(15, false)).toBeUndefined();
  });

  it('excludes a zone whose prices are too high', () => {
    const split = types.map((type) => ({
      ...type,
      offerings: type.offerings.map((offering) =>
        offering.requirements.some(({ values }) => values?.includes('zone-b'))
          ? { ...offering, usdPerHour: 3 * offering.usdPerHour }
          : offering,
      ),
    }));
    const found = cheaperTogether([Replacement.of(planned(['m.8'], ['on-demand'], split), split)], eight, {
      spotToSpot: true,
      pools: new Map(),
    });
    expect(found?.[0]?.requirements).toContainEqual({ key: ZONE_LABEL, operator: 'In', values: ['zone-a'] });
  });
});

describe('swap consolidation', () => {
  const four = ['a', 'b', 'c', 'd'].map((name) => candidate(name));

  it('exchanges nodes for several cheaper nodes, and leaves out nodes that do not contribute to the savings', async () => {
    // The pods of a and b fit on much smaller nodes. c and d would be replaced by equal nodes.
    const { commands } = await swap.decide(
      asking(four, (gone) =>
        solved(gone.map(({ name }) => planned([name < 'c' ? 'm.2' : 'm.8', name < 'c' ? 'm.4' : 'm.16']))),
      ),
    );
    expect(commands.map(({ candidates }) => names(candidates))).toEqual([['a', 'b']]);
    expect(commands[0]?.replacements).toHaveLength(2);
  });

  it('does not move pods for insignificant savings', async () => {
    const cheap = (share: number) =>
      types.map((type) => ({
        ...type,
        offerings: type.offerings.map((offering) => ({ ...offering, usdPerHour: offering.usdPerHour * share })),
      }));
    const decide = async (share: number) =>
      (
        await swap.decide(
          asking(four, (gone) => ({
            ...solved(gone.map(() => planned(['m.8']))),
            pools: [{ nodePool: pool(), instanceTypes: cheap(share) }],
          })),
        )
      ).commands;
    expect(await decide(0.97)).toEqual([]);
    expect(await decide(0.93)).toHaveLength(1);
  });

  it('respects budgets', async () => {
    const { commands } = await swap.decide(
      asking(four, (gone) => solved(gone.map(() => planned(['m.2']))), { budgets: new Map([['default', 2]]) }),
    );
    expect(commands[0]?.candidates).toHaveLength(2);
  });

  it('evaluates the Balanced policy', async () => {
    const balanced = pool('default', { consolidateAfter: '0s', consolidationPolicy: 'Balanced' });
    const own = new Map([['default', { nodePool: balanced, instanceTypes: types }]]);
    const nodes = [
      ...['a', 'b'].map((name) =>
        stateNode(name, { type: 'm.1', pods: [1, 2, 3, 4].map((at) => pod(`${name}${at}`)) }),
      ),
      stateNode('big', { type: 'm.16', pods: [pod('p')] }),
    ];
    const all = nodes.map((node) => described(node, own) as Candidate);
    const decide = async (candidates: readonly Candidate[]) =>
      (await swap.decide(asking(candidates, () => solved([]), { pools: own, totals: poolTotals(nodes, all, own) })))
        .commands;
    expect(await decide(all.slice(0, 2))).toEqual([]);
    expect((await decide(all))[0]?.candidates.map(({ name }) => name)).toContain('big');
  });

  it('confirms a swap only if every type of each node is still possible', async () => {
    const command = {
      reason: 'Underutilized' as const,
      candidates: four.slice(0, 2),
      replacements: [planned(['m.2']), planned(['m.4', 'm.2'])],
    };
    const check = async (...claims: readonly PlannedClaim[]) =>
      (
        await swap.validate?.(
          command,
          asking(four, () => solved(claims)),
        )
      )?.failure?.category;
    expect(await check(planned(['m.2', 'm.4']), planned(['m.2']))).toBeUndefined();
    expect(await check(planned(['m.2']), planned(['m.2']))).toBe('scheduling');
    expect(await check(planned(['m.2', 'm.4']))).toBe('scheduling');
  });
});

describe('in a cluster whose nodes have an inefficient mix of pods', () => {
  const GIB = 2 ** 30;
  const sold = [
    ['c.xlarge', 8, 0.1],
    ['m.xlarge', 16, 0.2],
    ['r.xlarge', 32, 0.22],
  ].map(([name, gib, usdPerHour]): InstanceType => {
    const type = instanceType(String(name), 4, Number(usdPerHour));
    return {
      ...type,
      capacity: { ...type.capacity, memory: Number(gib) * GIB },
      offerings: type.offerings.filter(({ requirements }) =>
        requirements.some(({ values }) => values?.includes('on-demand')),
      ),
    };
  });
  const asks = (name: string, cpu: string, memory: string) =>
    pod(name, { spec: { nodeName: 'x', containers: [{ name: 'main', resources: { requests: { cpu, memory } } }] } });
  /** Two pods that need CPU and two that need memory. Together they fill a node of the middle family. */
  const mixed = (name: string): StateNode => {
    const plain = stateNode(name, {
      type: 'm.xlarge',
      pods: [
        ...[1, 2].map((at) => asks(`${name}-cpu-${at}`, '950m', '1Gi')),
        ...[1, 2].map((at) => asks(`${name}-memory-${at}`, '400m', '6Gi')),
      ],
    });
    return { ...plain, allocatable: { cpu: 4000, memory: 16 * GIB, pods: 58 } };
  };
  const nodePool = pool('default', { consolidateAfter: '0s', budgets: [{ nodes: '100%' }] });
  const input = { nodePool, instanceTypes: sold };
  const snapshot: Snapshot = {
    nowMs: NOW,
    pools: [input],
    nodes: [mixed('a'), mixed('b')],
    pendingPods: [],
    daemonPods: [],
    namespaces: [],
    podDisruptionBudgets: [],
    persistentVolumeClaims: [],
    persistentVolumes: [],
    storageClasses: [],
  };
  const solve = { preferencePolicy: 'Respect', minValuesPolicy: 'Strict', reservedMode: 'off' } as const;
  const simulator = new Simulator(snapshot, { nodePools: [nodePool], solve: { ...solve, ignoreDraRequests: true } });
  const pools = new Map([['default', input]]);
  const pass = passOn({ snapshot, pools }, { spotToSpot: false, simulate: simulateOn(simulator) });

  it('sorts the pods by resource, which no other method does', async () => {
    const found = new Map<string, readonly Command[]>();
    for (const method of methodsOf('thorough')) found.set(method.name, (await review(method, pass)).result.commands);
    const [command] = found.get('swap consolidation') ?? [];
    found.delete('swap consolidation');
    expect([...found.values()].flat()).toEqual([]);
    expect(command?.candidates.map(({ name }) => name)).toEqual(['a', 'b']);
    expect(command?.replacements.map(({ instanceTypes }) => instanceTypes[0]).sort()).toEqual(['c.xlarge', 'r.xlarge']);
    const kinds = command?.replacements.map(({ pods }) => new Set(pods.map((key) => key.split('-')[1])).size);
    expect(kinds).toEqual([1, 1]);
  });
});

describe('a group of candidates', () => {
  it('is formed by NodePool, by zone, by capacity type and by all three, highest price first, without duplicates', () => {
    const nodes = [
      candidate('a', { pool: 'x', zone: 'zone-a' }),
      candidate('b', { pool: 'x', zone: 'zone-a' }),
      candidate('c', { pool: 'x', zone: 'zone-b', type: 'm.16' }),
      candidate('d', { pool: 'y', zone: 'zone-b', capacityType: 'spot' }),
    ];
    expect(groupsOf(nodes).map(names)).toEqual([
      ['a', 'b', 'c'],
      ['c', 'd'],
      ['a', 'b'],
    ]);
  });
});

describe('a unit price', () => {
  it('values no type above its price, and values the demand at the price of the best mix of types', () => {
    const GIB = 2 ** 30;
    const withMemory = (name: string, cpu: number, gib: number, usdPerHour: number): InstanceType => {
      const type = instanceType(name, cpu, usdPerHour);
      return {
        ...type,
        capacity: { ...type.capacity, memory: gib * GIB },
        offerings: type.offerings.filter(({ requirements }) =>
          requirements.some(({ values }) => values?.includes('on-demand')),
        ),
      };
    };
    const sold = [withMemory('c', 4, 8, 0.16), withMemory('m', 4, 16, 0.2), withMemory('r', 4, 32, 0.28)];
    const prices = unitPrices({ nodePool: pool(), instanceTypes: sold }, { cpu: 4000, memory: 12 * GIB });
    // half a c and half an m
    expect(4000 * prices.cpu + 12 * GIB * prices.memory).toBeCloseTo(0.18, 6);
    for (const { capacity, offerings } of sold)
      expect((capacity.cpu ?? 0) * prices.cpu + (capacity.memory ?? 0) * prices.memory).toBeLessThanOrEqual(
        (offerings[0]?.usdPerHour ?? 0) + 1e-9,
      );
  });
});
