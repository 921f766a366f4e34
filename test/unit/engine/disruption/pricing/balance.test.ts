/** Shares and scores of the Balanced policy, at and about their bounds. */
import { describe, expect, it } from '@jest/globals';
import type { Pod } from '../../../../../src/api/kubernetes.ts';
import type { Candidate } from '../../../../../src/engine/disruption/command.ts';
import { singleNode } from '../../../../../src/engine/disruption/methods/single-node.ts';
import { described } from '../../../../../src/engine/disruption/pass.ts';
import {
  couldPass,
  evaluate,
  isApproved,
  type PoolTotals,
  poolTotals,
} from '../../../../../src/engine/disruption/pricing/balance.ts';
import type { StateNode } from '../../../../../src/engine/model.ts';
import { at, instanceType, methodInputOf, NOW, pod, pool, stateNode } from '../objects.ts';

const balanced = (name: string) => pool(name, { consolidateAfter: '0s', consolidationPolicy: 'Balanced' });
const types = [instanceType('m.large', 2, 0.1)];
const pools = new Map(['default', 'other'].map((name) => [name, { nodePool: balanced(name), instanceTypes: types }]));

const candidateIn = (node: StateNode): Candidate => described(node, pools) as Candidate;

/** Of one pool, with figures that are exact in binary. */
const candidate = (name: string, usdPerHour: number, rescheduleCost: number, poolName = 'default'): Candidate => ({
  ...candidateIn(stateNode(name, { pool: poolName, pods: [pod(`on-${name}`)] })),
  usdPerHour,
  rescheduleCost,
});

const deletion = (...candidates: readonly Candidate[]) => ({
  reason: 'Underutilized' as const,
  candidates,
  replacements: [],
});

const totals = (of: Readonly<Record<string, PoolTotals>>): ReadonlyMap<string, PoolTotals> =>
  new Map(Object.entries(of));

describe('a score', () => {
  it.each([
    { usdPerHour: 1, cost: 2, score: 0.5, approved: true },
    { usdPerHour: 1, cost: 2.125, score: 8 / 17, approved: false },
    { usdPerHour: 0, cost: 2, score: 0, approved: false },
    { usdPerHour: 1, cost: 0, score: Number.POSITIVE_INFINITY, approved: true },
  ])('of $usdPerHour of 4 USD for $cost of 4 is $score', ({ usdPerHour, cost, score, approved }) => {
    const known = totals({ default: { usdPerHour: 4, disruption: 4 } });
    expect(evaluate(deletion(candidate('a', usdPerHour, cost)), known)).toMatchObject([{ score, approved }]);
  });

  it.each([
    { what: 'an unknown pool', known: totals({}) },
    { what: 'a pool that costs nothing', known: totals({ default: { usdPerHour: 0, disruption: 4 } }) },
    { what: 'a pool that nothing disturbs', known: totals({ default: { usdPerHour: 4, disruption: 0 } }) },
  ])('is 0 for $what', ({ known }) => {
    expect(evaluate(deletion(candidate('a', 1, 1)), known)).toMatchObject([{ score: 0, approved: false }]);
  });

  it('gives each of several pools its share of the savings', () => {
    const known = totals({ default: { usdPerHour: 4, disruption: 4 }, other: { usdPerHour: 8, disruption: 8 } });
    const views = evaluate(deletion(candidate('a', 1, 1), candidate('b', 3, 4, 'other')), known);
    expect(views.map(({ score }) => score)).toEqual([1, 0.75]);
  });

  it('lets no command pass that takes nothing', () => {
    expect(isApproved([])).toBe(false);
  });
});

describe('couldPass', () => {
  it('holds back what even a deletion would not be worth, but nothing where the price of the pool is not known', () => {
    const one = candidate('a', 1, 4);
    expect(couldPass(one, totals({ default: { usdPerHour: 8, disruption: 8 } }))).toBe(false);
    expect(couldPass(one, totals({ default: { usdPerHour: 4, disruption: 8 } }))).toBe(true);
    expect(couldPass(one, totals({ default: { usdPerHour: 0, disruption: 8 } }))).toBe(true);
    expect(couldPass(one, totals({}))).toBe(true);
  });
});

describe('the totals of a pool', () => {
  const of = (kind: string) => ({ ownerReferences: [{ apiVersion: 'apps/v1', kind, name: 'x', uid: 'x' }] });
  const daemon = pod('daemon', { metadata: of('DaemonSet') });
  const finished = pod('finished', { status: { phase: 'Succeeded' } });
  const going = pod('going', { metadata: { deletionTimestamp: at(NOW) } });

  const disruption = (pods: readonly Pod[], isCandidate: boolean): number | undefined => {
    const node = stateNode('b', { pods });
    const other = stateNode('a');
    const found = [other, ...(isCandidate ? [node] : [])].map(candidateIn);
    return poolTotals([other, node], found, pools).get('default')?.disruption;
  };

  it.each([
    { what: 'a running pod', pods: [pod('p')], candidate: 3, other: 3 },
    { what: 'a daemon', pods: [daemon], candidate: 2, other: 2 },
    { what: 'a finished pod', pods: [finished], candidate: 2, other: 2 },
    { what: 'a pod that is going', pods: [going], candidate: 2, other: 3 }, // a candidate counts what must move
  ])('count $what', ({ pods, candidate: asCandidate, other }) => {
    expect(disruption(pods, true)).toBe(asCandidate);
    expect(disruption(pods, false)).toBe(other);
  });

  it('are of pools with candidates alone', () => {
    const nodes = [stateNode('a'), stateNode('b', { pool: 'other' })];
    expect([...poolTotals(nodes, [nodes[0] as StateNode].map(candidateIn), pools).keys()]).toEqual(['default']);
  });
});

describe('single-node consolidation under the Balanced policy', () => {
  const decide = (usdPerHour: number, more: object) => {
    const asked: string[] = [];
    const question = methodInputOf([candidate('a', 1, 2)], {
      totals: totals({ default: { usdPerHour, disruption: 4 } }),
      simulate: async (gone) => {
        asked.push(...gone.map(({ name }) => name));
        return {
          claims: [],
          pools: [],
          plan: { claims: [], placements: [], refusals: new Map(), notEvaluated: [], emptyPools: [] },
          stranded: new Map(),
          ...more,
        };
      },
    });
    return singleNode.decide(question).then((findings) => ({ ...findings, asked }));
  };

  it('does not even try what a deletion would not be worth', async () => {
    const { commands, asked, reasons } = await decide(5, {});
    expect({ commands, asked }).toEqual({ commands: [], asked: [] });
    expect(reasons?.get('aws:///a')).toMatchObject({
      code: 'unbalanced',
      nearestMiss: 'score 0.40, at least 0.50 needed',
    });
  });

  it('deletes what is worth it, but does not replace when too little of it is saved', async () => {
    expect((await decide(4, {})).commands).toHaveLength(1);
    const claim = {
      nodePool: 'default',
      pods: [],
      instanceTypes: ['m.large'],
      requirements: [{ key: 'karpenter.sh/capacity-type', operator: 'In', values: ['on-demand'] }],
      requests: {},
      labels: {},
      annotations: {},
      cheapest: 'm.large',
      usdPerHour: 0.1,
    };
    const poolInputs = [{ nodePool: balanced('default'), instanceTypes: types }];
    const { commands, asked, reasons } = await decide(4, { claims: [claim], pools: poolInputs });
    expect({ commands, asked }).toEqual({ commands: [], asked: ['a'] });
    expect(reasons?.get('aws:///a')?.nearestMiss).toBe('score 0.45, at least 0.50 needed');
  });
});
