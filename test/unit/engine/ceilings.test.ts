import { describe, expect, it } from '@jest/globals';
import { CAPACITY_TYPE_LABEL, INSTANCE_TYPE_LABEL, type NodeClaim } from '#api/objects';
import {
  highestUsd,
  largestAmounts,
  nodeUsd,
  USD,
  usdAmount,
  usdLimit,
  withPlanned,
} from '../../../src/engine/ceilings.ts';
import type { Ceiling, EngineSnapshot, Plan } from '../../../src/engine/model.ts';
import { unlaunchedProviderId } from '../../../src/engine/pool-usage.ts';
import { Requirements } from '../../../src/engine/requirements.ts';
import { amountIn } from '../../../src/engine/resources.ts';
import { solve } from '../../../src/engine/solve.ts';
import { nodePool, OPTIONS, oneOf, replicas, snapshot, TYPES } from './build.ts';
import { Draw, drawnSnapshot } from './scenarios.ts';

const ceiling = (limits: Ceiling['limits'], parts: Partial<Ceiling> = {}): Ceiling => ({
  object: { kind: 'NodePolicy', name: 'all' },
  field: 'spec.ceilings',
  limits,
  used: {},
  nodePools: ['default'],
  ...parts,
});
const usd = (amount: number): Ceiling['limits'] => ({ [USD]: usdLimit(amount) });

const onDemand = nodePool('default', { requirements: [oneOf(CAPACITY_TYPE_LABEL, 'on-demand')] });
const PACKINGS = ['cheapest', 'compatible'] as const;

/** Returns the ceilings that a plan exceeds. */
function excesses({ ceilings = [], pools }: EngineSnapshot, { claims }: Plan): readonly string[] {
  const typesOf = (name: string) =>
    pools.find(({ nodePool: { metadata } }) => metadata.name === name)?.instanceTypes ?? [];
  return withPlanned(ceilings, claims, typesOf).flatMap(({ limits, used, nodePools }) =>
    claims.some(({ nodePool: name }) => nodePools.includes(name))
      ? Object.keys(limits).filter((name) => amountIn(used, name) > amountIn(limits, name))
      : [],
  );
}

describe('a ceiling in USD', () => {
  // small costs $0.2, medium $0.4, large $0.8 per hour
  const planOf = (parts: Partial<EngineSnapshot>, packing: (typeof PACKINGS)[number] = 'cheapest') =>
    solve(
      { ...snapshot({ pools: [onDemand], pendingPods: replicas(6, 'p', { cpu: '2' }) }), ...parts } as EngineSnapshot,
      {
        ...OPTIONS,
        packing,
        explain: true,
      },
    );

  it.each(PACKINGS)('launches no node beyond it with %s packing', (packing) => {
    expect(planOf({}, packing).refusals.size).toBe(0);
    const ceilings = [ceiling(usd(0.7))];
    const plan = planOf({ ceilings }, packing);
    expect(plan.claims.length).toBeGreaterThan(0);
    expect(plan.refusals.size).toBeGreaterThan(0);
    expect(excesses({ ...snapshot({ pools: [onDemand] }), ceilings }, plan)).toEqual([]);
  });

  it('names the use, the ceiling and the cheapest refused node', () => {
    const ceilings = [ceiling(usd(1), { used: usd(0.9) })];
    const { claims, refusals } = planOf({ ceilings });
    expect(claims).toEqual([]);
    expect(refusals.get('default/p-0')).toMatchObject({
      text: expect.stringContaining('NodePolicy=all'),
      cause: {
        code: 'ceiling',
        object: { kind: 'NodePolicy', name: 'all' },
        field: `spec.ceilings.${USD}`,
        offered: `${USD} $0.9000/h of $1.0000/h in use`,
        wanted: 'the cheapest node for the pod is small for $0.2000/h',
      },
    });
  });

  it('names the price with which a node counts, if its offering could be a more expensive one', () => {
    const { refusals } = planOf({
      ...snapshot({ pools: [nodePool('default')], pendingPods: replicas(1, 'p', { cpu: '2' }) }),
      ceilings: [ceiling(usd(1), { used: usd(0.9) })],
    });
    expect(refusals.get('default/p-0')).toMatchObject({
      cause: {
        wanted: expect.stringMatching(
          /^the cheapest node for the pod is small for \$0\.\d{4}\/h, and counts with \$0\.2000\/h until its offering is known$/,
        ),
      },
    });
  });

  it('neither launches nor removes nodes while a price is above it', () => {
    const { claims, refusals } = planOf({ ceilings: [ceiling(usd(1), { used: usd(3) })] });
    expect(claims).toEqual([]);
    expect(refusals.size).toBe(6);
  });

  it('does not restrict other NodePools', () => {
    expect(planOf({ ceilings: [ceiling(usd(0), { nodePools: ['other'] })] }).refusals.size).toBe(0);
  });

  it('does not replace the limit of a NodePool as the cause', () => {
    const limited = nodePool('default', { limits: { cpu: '1' } });
    const { refusals } = planOf({
      ...snapshot({ pools: [limited], pendingPods: replicas(1, 'p', { cpu: '2' }) }),
      ceilings: [ceiling(usd(0))],
    });
    expect(refusals.get('default/p-0')).toMatchObject({ cause: { code: 'limits' } });
  });
});

describe('a price', () => {
  it('is rounded up as an amount and down as a ceiling, so that sums stay within the ceiling', () => {
    for (let seed = 1; seed <= 200; seed++) {
      const draw = new Draw(seed);
      const prices = Array.from({ length: 5 }, () => draw.below(1_000_000) / 7_000_000);
      const most = draw.below(1_000_000) / 1_300_000;
      const sum = prices.reduce((total, price) => total + price, 0);
      const amounts = prices.reduce((total, price) => total + usdAmount(price), 0);
      if (amounts <= usdLimit(most)) expect(sum).toBeLessThanOrEqual(most + 1e-7);
    }
  });

  it('of a NodeClaim without an instance is that of its most expensive type', () => {
    const claim: NodeClaim = {
      apiVersion: 'karpenter.sh/v1',
      kind: 'NodeClaim',
      metadata: { name: 'x' },
      spec: {
        nodeClassRef: { group: 'karpenter.k8s.aws', kind: 'EC2NodeClass', name: 'default' },
        requirements: [oneOf(INSTANCE_TYPE_LABEL, 'small', 'medium')],
      },
    };
    expect(largestAmounts(claim, TYPES, 0.1)).toMatchObject({ [USD]: 500_000, cpu: 4000, nodes: 1 });
    const node = { labels: {}, nodeClaim: claim, providerId: unlaunchedProviderId('x') };
    expect(nodeUsd(node, TYPES, 0.1)).toBeCloseTo(0.5);
  });

  it('is the highest price that the requirements allow', () => {
    const spot = Requirements.fromRequirements([oneOf(CAPACITY_TYPE_LABEL, 'spot')]);
    expect(highestUsd(TYPES, spot, 0.01)).toBeCloseTo(0.41);
    expect(highestUsd(TYPES, Requirements.EMPTY, 0)).toBeCloseTo(0.8);
    expect(highestUsd([], Requirements.EMPTY, 1)).toBe(0);
  });
});

describe('random ceilings', () => {
  function drawn(seed: number): EngineSnapshot {
    const draw = new Draw(seed);
    const base = drawnSnapshot(seed, { nodes: 4, workloads: 8 });
    const names = base.pools.map(({ nodePool: { metadata } }) => metadata.name);
    const ceilings = Array.from({ length: 1 + draw.below(3) }, (_, at) => {
      const used = { nodes: draw.below(4), cpu: 1000 * draw.below(20), [USD]: usdAmount(draw.below(20) / 10) };
      const free = { nodes: draw.below(5), cpu: 1000 * draw.below(40), [USD]: usdLimit(draw.below(40) / 10) };
      const chosen = Object.keys(used).filter(() => draw.chance(0.6));
      const limits = Object.fromEntries(chosen.map((name) => [name, amountIn(used, name) + amountIn(free, name)]));
      const object = { kind: 'NodePolicy' as const, name: `ceiling-${at}` };
      return ceiling(limits, { object, used, nodePools: names.filter(() => draw.chance(0.7)) });
    });
    return { ...base, ceilings };
  }

  it.each(PACKINGS)('are never exceeded by a plan of several NodePools with %s packing', (packing) => {
    let refused = 0;
    for (let seed = 1; seed <= 150; seed++) {
      const input = drawn(seed);
      const plan = solve(input, { ...OPTIONS, packing, explain: true });
      expect({ seed, exceeded: excesses(input, plan) }).toEqual({ seed, exceeded: [] });
      const { ceilings: _, ...free } = input;
      refused += plan.refusals.size - solve(free, { ...OPTIONS, packing }).refusals.size;
    }
    // the ceilings take effect
    expect(refused).toBeGreaterThan(100);
  });
});
