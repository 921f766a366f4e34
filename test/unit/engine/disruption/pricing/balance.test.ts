/** Shares and scores of the Balanced policy at their boundaries. */
import { describe, expect, it } from '@jest/globals';
import type { Pod } from '#api/objects';
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

/** A candidate of one NodePool with figures that are exact in binary. */
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

const totals = (of: Readonly<Record<string, Omit<PoolTotals, 'zones'>>>): ReadonlyMap<string, PoolTotals> =>
  new Map(Object.entries(of).map(([name, total]) => [name, { ...total, zones: new Map() }]));

describe('a score', () => {
  it.each([
    { usdPerHour: 1, cost: 2, score: 0.5, approved: true },
    { usdPerHour: 1, cost: 2.125, score: 8 / 17, approved: false },
    { usdPerHour: 0, cost: 2, score: 0, approved: false },
    { usdPerHour: 1, cost: 0, score: Number.POSITIVE_INFINITY, approved: true },
  ])('is, for $usdPerHour of 4 USD and a disruption cost of $cost of 4, $score', ({
    usdPerHour,
    cost,
    score,
    approved,
  }) => {
    const known = totals({ default: { usdPerHour: 4, disruption: 4 } });
    expect(evaluate(deletion(candidate('a', usdPerHour, cost)), { totals: known })).toMatchObject([
      { score, approved },
    ]);
  });

  it.each([
    { what: 'an unknown pool', known: totals({}) },
    { what: 'a NodePool without costs', known: totals({ default: { usdPerHour: 0, disruption: 4 } }) },
    { what: 'a NodePool without disruption costs', known: totals({ default: { usdPerHour: 4, disruption: 0 } }) },
  ])('is 0 for $what', ({ known }) => {
    expect(evaluate(deletion(candidate('a', 1, 1)), { totals: known })).toMatchObject([{ score: 0, approved: false }]);
  });

  it('assigns each of several NodePools its share of the savings', () => {
    const known = totals({ default: { usdPerHour: 4, disruption: 4 }, other: { usdPerHour: 8, disruption: 8 } });
    const views = evaluate(deletion(candidate('a', 1, 1), candidate('b', 3, 4, 'other')), { totals: known });
    expect(views.map(({ score }) => score)).toEqual([1, 0.75]);
  });

  it('rejects a command without candidates', () => {
    expect(isApproved([])).toBe(false);
  });
});

describe('couldPass', () => {
  it('excludes candidates whose deletion would not pass, unless the price of the NodePool is unknown', () => {
    const one = candidate('a', 1, 4);
    expect(couldPass(one, { totals: totals({ default: { usdPerHour: 8, disruption: 8 } }) })).toBe(false);
    expect(couldPass(one, { totals: totals({ default: { usdPerHour: 4, disruption: 8 } }) })).toBe(true);
    expect(couldPass(one, { totals: totals({ default: { usdPerHour: 0, disruption: 8 } }) })).toBe(true);
    expect(couldPass(one, { totals: totals({}) })).toBe(true);
    // moves with a price are not scored
    const scales = { totals: totals({ default: { usdPerHour: 8, disruption: 8 } }), forecasts: new Map() };
    expect(couldPass(one, scales)).toBe(true);
    expect(evaluate(deletion(one), scales)).toMatchObject([{ policy: 'Balanced', approved: true }]);
    expect(evaluate(deletion(one), scales)[0]).not.toHaveProperty('score');
  });
});

describe('the total of a NodePool', () => {
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
    { what: 'a DaemonSet pod', pods: [daemon], candidate: 2, other: 2 },
    { what: 'a finished pod', pods: [finished], candidate: 2, other: 2 },
    { what: 'a terminating pod', pods: [going], candidate: 2, other: 3 }, // candidates count the pods that must move
  ])('counts $what', ({ pods, candidate: asCandidate, other }) => {
    expect(disruption(pods, true)).toBe(asCandidate);
    expect(disruption(pods, false)).toBe(other);
  });

  it('includes only NodePools with candidates', () => {
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

  it('does not simulate a candidate whose deletion would not pass', async () => {
    const { commands, asked, reasons } = await decide(5, {});
    expect({ commands, asked }).toEqual({ commands: [], asked: [] });
    expect(reasons?.get('aws:///a')).toMatchObject({
      code: 'unbalanced',
      nearestMiss: 'score 0.40, at least 0.50 needed',
    });
  });

  it('deletes a node if the score passes, but does not replace a node if the savings are too small', async () => {
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
