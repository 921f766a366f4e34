/** Limits of searches: batches, groups, deadlines and price comparisons. */
import { describe, expect, it } from '@jest/globals';
import { CAPACITY_TYPE_LABEL, INSTANCE_TYPE_LABEL, ZONE_LABEL } from '#api/objects';
import type { Candidate } from '../../../../../src/engine/disruption/command.ts';
import type { Method, MethodInput } from '../../../../../src/engine/disruption/method.ts';
import { consolidationFilter } from '../../../../../src/engine/disruption/methods/consolidation.ts';
import { multiNode } from '../../../../../src/engine/disruption/methods/multi-node.ts';
import { singleNode } from '../../../../../src/engine/disruption/methods/single-node.ts';
import { swap } from '../../../../../src/engine/disruption/methods/swap.ts';
import { described } from '../../../../../src/engine/disruption/pass.ts';
import type { Simulation } from '../../../../../src/engine/disruption/simulations/simulation.ts';
import type { InstanceType, PlannedClaim } from '../../../../../src/engine/model.ts';
import { instanceType, methodInputOf, pod, pool, stateNode } from '../objects.ts';

const types = [1, 2, 4, 8].map((cpu) => instanceType(`m.${cpu}`, cpu, cpu * 0.05));

function candidate(
  name: string,
  labels: Readonly<Record<string, string>> = {},
  known: readonly InstanceType[] = types,
): Candidate {
  const node = stateNode(name, { type: 'm.4', pods: [pod(`on-${name}`)] });
  const pools = new Map([['default', { nodePool: pool(), instanceTypes: known }]]);
  return described({ ...node, labels: { ...node.labels, ...labels } }, pools) as Candidate;
}

const planned = (names: readonly string[]): PlannedClaim => ({
  nodePool: 'default',
  pods: [],
  instanceTypes: names,
  requirements: [
    { key: INSTANCE_TYPE_LABEL, operator: 'In', values: [...names] },
    { key: CAPACITY_TYPE_LABEL, operator: 'In', values: ['on-demand'] },
  ],
  requests: {},
  labels: {},
  annotations: {},
  cheapest: names[0] ?? '',
  usdPerHour: 0.1,
});

const solved = (claims: readonly PlannedClaim[] = [], known: readonly InstanceType[] = types): Simulation => ({
  claims,
  pools: [{ nodePool: pool(), instanceTypes: known }],
  plan: { claims, placements: [], refusals: new Map(), notEvaluated: [], emptyPools: [] },
  stranded: new Map(),
});
const stranding = (): Simulation => ({ ...solved(), stranded: new Map([['default/x', 'no room']]) });

async function decided(
  method: Method,
  candidates: readonly Candidate[],
  simulate: (names: readonly string[], gone: readonly Candidate[]) => Simulation,
  more: Partial<MethodInput> = {},
) {
  const asked: (readonly string[])[] = [];
  const question = methodInputOf(candidates, {
    budgets: new Map([['default', 1000]]),
    pools: new Map([['default', { nodePool: pool(), instanceTypes: types }]]),
    simulate: async (gone) => {
      const names = gone.map(({ name }) => name).sort();
      asked.push(names);
      return simulate(names, gone);
    },
    ...more,
  });
  const findings = await method.decide(question);
  const [command] = findings.commands;
  return { ...findings, asked, command, taken: command?.candidates.map(({ name }) => name).sort() };
}

const inZone = (zone: string, count: number, prefix = zone): readonly Candidate[] =>
  Array.from({ length: count }, (_, at) =>
    candidate(`${prefix}-${String(at).padStart(3, '0')}`, { [ZONE_LABEL]: zone }),
  );

describe('a search among many candidates', () => {
  it('disrupts at most 101 candidates in one command, and stops then', async () => {
    const many = [...inZone('zone-a', 80), ...inZone('zone-b', 60)];
    const { taken, asked } = await decided(multiNode, many, () => solved(), { consolidation: 'thorough' });
    expect(taken).toHaveLength(101);
    expect(asked).toHaveLength(7); // of a single search, because no group can do better
  });

  const mixed = [...inZone('zone-a', 2), ...inZone('zone-b', 3)];
  const together = (names: readonly string[]): Simulation =>
    new Set(names.map((name) => name.slice(0, 6))).size === 1 ? solved() : stranding();

  it('selects the group with the highest savings, which a search of the whole list does not find', async () => {
    const { taken } = await decided(multiNode, mixed, together, { consolidation: 'thorough' });
    expect(taken).toEqual(['zone-b-000', 'zone-b-001', 'zone-b-002']);
    const compatible = await decided(multiNode, mixed, together, { consolidation: 'compatible' });
    expect(compatible.taken).toEqual(['zone-a-000', 'zone-a-001']);
  });

  it('tries no further group after many pods have been simulated', async () => {
    const heavy = mixed.map((each) => ({ ...each, reschedulablePods: Array.from({ length: 15_000 }, () => pod('p')) }));
    const tried = async (candidates: readonly Candidate[]): Promise<boolean> =>
      (await decided(multiNode, candidates, stranding, { consolidation: 'thorough' })).asked.some((names) =>
        names.every((name) => name.startsWith('zone-a')),
      );
    expect(await tried(mixed.slice(0, 4))).toBe(true);
    const { asked } = await decided(multiNode, heavy, stranding, { consolidation: 'thorough' });
    const groups = asked.filter((names) => names.every((name) => name.startsWith('zone-b')));
    expect(groups.length).toBeGreaterThan(0); // the zone with higher prices comes first
    expect(asked.length - groups.length).toBeLessThanOrEqual(2); // the whole list comes first
  });
});

describe('the replacement of several nodes', () => {
  const withPrices = (zoneA: number, zoneB: number): readonly InstanceType[] =>
    types.map((type) =>
      type.name === 'm.4'
        ? {
            ...type,
            offerings: type.offerings.map((offering) => ({
              ...offering,
              usdPerHour: offering.requirements.some(({ values }) => values?.includes('zone-a')) ? zoneA : zoneB,
            })),
          }
        : type,
    );

  it.each([
    { zones: ['zone-a', 'zone-b'], is: 'undefined' }, // the node in zone-b costs less than an m.2
    { zones: ['zone-b', 'zone-a'], is: 'undefined' },
    { zones: ['zone-a', 'zone-a'], is: 'm.2' },
    { zones: ['zone-x', 'zone-a'], is: 'undefined' }, // an unknown price counts as 0
  ])('must cost less than the cheapest replaced node of a possible type: $zones', async ({ zones, is }) => {
    const known = withPrices(0.4, 0.08);
    const nodes = zones.map((zone, at) => ({
      ...candidate(`n${at}`, { [ZONE_LABEL]: zone }, known),
      usdPerHour: 1,
      savingsRatio: 1,
    }));
    const { command } = await decided(multiNode, nodes, () => solved([planned(['m.2', 'm.4'])], known));
    expect(String(command?.replacements[0]?.instanceTypes)).toBe(is);
  });
});

describe('single-node consolidation', () => {
  it('does not run while a budget excludes a candidate', async () => {
    const { exhausted, commands } = await decided(singleNode, inZone('zone-a', 2), stranding, { budgets: new Map() });
    expect({ exhausted, commands }).toEqual({ exhausted: false, commands: [] });
    expect((await decided(singleNode, inZone('zone-a', 2), stranding)).exhausted).toBe(true);
  });

  it.each([
    ZONE_LABEL,
    CAPACITY_TYPE_LABEL,
    INSTANCE_TYPE_LABEL,
  ])('cannot evaluate a node without the label %s', (label) => {
    expect(consolidationFilter(candidate('a'))).toBeUndefined();
    expect(consolidationFilter(candidate('a', { [label]: '' }))).toMatchObject({ isReported: true });
  });
});

describe('validation', () => {
  const nodes = inZone('zone-a', 2);
  const command = { reason: 'Underutilized' as const, candidates: nodes, replacements: [] };
  const simulate = async () => solved();

  it('withdraws a command that budgets no longer allow', async () => {
    const check = (left: number) =>
      multiNode.validate?.(command, methodInputOf(nodes, { simulate, budgets: new Map([['default', left]]) }));
    expect(await check(1)).toMatchObject({ failure: { category: 'budget', failed: 2 } });
    expect((await check(2))?.command).toBe(command);
  });

  it('checks the candidates again after the simulation', async () => {
    const gone = methodInputOf(nodes.slice(1), { simulate });
    const later = methodInputOf(nodes, { simulate, refresh: async () => gone });
    expect(await multiNode.validate?.(command, later)).toMatchObject({ failure: { category: 'churn', failed: 2 } });
  });
});

describe('a swap', () => {
  const four = inZone('zone-a', 4);
  const thorough = { consolidation: 'thorough' as const };

  it('is rejected if it strands pods or needs more than twice as many nodes', async () => {
    const swapped = (count: number, more: object = {}) =>
      decided(
        swap,
        four,
        (names) => ({ ...solved(Array.from({ length: count * names.length }, () => planned(['m.1']))), ...more }),
        thorough,
      );
    expect((await swapped(1)).commands).toHaveLength(1);
    expect((await swapped(1, { stranded: new Map([['default/x', 'no room']]) })).commands).toEqual([]);
    const cheap = [instanceType('m.1', 1, 0.001)];
    const pools = [{ nodePool: pool(), instanceTypes: cheap }];
    expect((await swapped(2, { pools })).commands).toHaveLength(1);
    expect((await swapped(3, { pools })).commands).toEqual([]);
  });

  it('keeps every node that contributes to the savings', async () => {
    const { taken } = await decided(swap, four, (names) => solved(names.map(() => planned(['m.1']))), thorough);
    expect(taken).toHaveLength(4);
  });

  it('stops after twenty seconds', async () => {
    let elapsed = 0;
    const { commands, asked } = await decided(
      swap,
      four,
      () => {
        elapsed += 20_000;
        return stranding();
      },
      { ...thorough, elapsedMs: () => elapsed },
    );
    expect({ commands, count: asked.length }).toEqual({ commands: [], count: 1 });
  });
});
