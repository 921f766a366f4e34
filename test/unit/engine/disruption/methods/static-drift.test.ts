import { describe, expect, it } from '@jest/globals';
import { CAPACITY_TYPE_LABEL, type NodePool } from '#api/objects';
import { claimCounts } from '../../../../../src/engine/disruption/candidates/claim-counts.ts';
import type { Candidate } from '../../../../../src/engine/disruption/command.ts';
import type { MethodInput } from '../../../../../src/engine/disruption/method.ts';
import { staticDrift } from '../../../../../src/engine/disruption/methods/static-drift.ts';
import { candidateOf, isBlock } from '../../../../../src/engine/disruption/pass.ts';
import { claim, instanceType, methodInputOf, NOW, pool, stateNode } from '../objects.ts';

const types = [instanceType('m.large', 2, 0.1), instanceType('m.small', 1, 0.05)];

const fixed = (replicas: number, nodes?: string): NodePool => {
  const base = pool('fixed');
  const requirements = [{ key: CAPACITY_TYPE_LABEL, operator: 'In' as const, values: ['on-demand'] }];
  const spec = { ...base.spec.template.spec, requirements };
  return {
    ...base,
    spec: { ...base.spec, template: { spec }, replicas, ...(nodes === undefined ? {} : { limits: { nodes } }) },
  };
};

const nodeOf = (name: string) =>
  stateNode(name, {
    pool: 'fixed',
    claim: claim(name, { status: { conditions: [{ type: 'Drifted', status: 'True' }] } }),
  });

function candidates(nodePool: NodePool, names: readonly string[]): readonly Candidate[] {
  const pools = new Map([['fixed', { nodePool, instanceTypes: types }]]);
  return names.map((name) => {
    const context = { nowMs: NOW, class: 'eventual' as const, inProgress: new Set<string>() };
    const found = candidateOf(nodeOf(name), { ...context, pools, podDisruptionBudgets: [] });
    if (isBlock(found)) throw new Error(found.text);
    return found;
  });
}

async function decide(nodePool: NodePool, names: readonly string[], more: Partial<MethodInput>) {
  return staticDrift.decide(
    methodInputOf(candidates(nodePool, names), {
      budgets: new Map([['fixed', 10]]),
      pools: new Map([['fixed', { nodePool, instanceTypes: types }]]),
      ...more,
    }),
  );
}

const claims = (active: number, pending = 0, deleting = 0) => new Map([['fixed', { active, pending, deleting }]]);

describe('static drift', () => {
  it.each([
    { what: 'all nodes within the budget', expected: ['a', 'b', 'c'], budget: 3, counts: claims(3) },
    { what: 'as many nodes as the budget allows', expected: ['a', 'b'], budget: 2, counts: claims(3) },
    { what: 'no node without a budget', expected: [], budget: 0, counts: claims(3) },
    { what: 'as many nodes as the limit allows', expected: ['a'], nodes: '5', counts: claims(3, 0, 1) },
    { what: 'no node if the limit is reached', expected: [], nodes: '3', counts: claims(3) },
    { what: 'no node while a replacement waits', expected: [], counts: claims(3, 1) },
    { what: 'further nodes while earlier ones are pending', expected: ['a', 'b', 'c'], counts: claims(2, 1) },
  ])('replaces $what', async ({ expected, budget = 10, nodes, counts }) => {
    const found = await decide(fixed(3, nodes), ['c', 'a', 'b'], {
      budgets: new Map([['fixed', budget]]),
      claims: counts,
    });
    expect(found.commands.map((command) => command.candidates.map(({ name }) => name))).toEqual(
      expected.map((name) => [name]),
    );
    expect(found.commands.every(({ replacements }) => replacements.length === 1)).toBe(true);
  });

  it.each([
    { what: 'limit', nodes: '3', counts: claims(3), code: 'limits', hint: 'spec.limits.nodes of 4 would allow' },
    { what: 'limit', nodes: '4', counts: claims(3, 0, 1), code: 'limits', hint: 'other nodes are replaced first' },
    { what: 'replacement', counts: claims(3, 1), code: 'budget', hint: undefined },
    { what: 'budget', budget: 0, counts: claims(3), code: 'budget', hint: undefined },
  ])('names the $what that allows no replacement now', async ({ budget = 10, nodes, counts, code, hint }) => {
    const { reasons } = await decide(fixed(3, nodes), ['a'], { budgets: new Map([['fixed', budget]]), claims: counts });
    const reason = [...(reasons?.values() ?? [])][0];
    expect(reason).toMatchObject({ code, object: { kind: 'NodePool', name: 'fixed' } });
    expect(reason?.nearestMiss ?? '').toContain(hint ?? '');
  });

  it('requests the requirements of the NodePool instead of the requirements of the node', async () => {
    const { commands } = await decide(fixed(1), ['a'], { claims: claims(1) });
    const [replacement] = commands[0]?.replacements ?? [];
    expect(replacement).toMatchObject({ nodePool: 'fixed', pods: [], instanceTypes: [], usdPerHour: 0.05 });
    expect(replacement?.labels).toMatchObject({ 'karpenter.sh/nodepool': 'fixed' });
    expect(replacement?.annotations).toHaveProperty(['karpenter.sh/nodepool-hash']);
    expect(replacement?.requirements.map(({ key }) => key)).not.toContain('karpenter.sh/initialized');
  });

  it('disrupts drifted nodes of static NodePools only', () => {
    const [drifted] = candidates(fixed(1), ['a']);
    const [dynamic] = candidates(pool('fixed'), ['a']);
    if (drifted === undefined || dynamic === undefined) throw new Error('the nodes are no candidates');
    expect(staticDrift.filter(drifted)).toBeUndefined();
    expect(staticDrift.filter(dynamic)).toMatchObject({ reason: { code: 'dynamic-pool' } });
  });
});

describe('claimCounts', () => {
  it('counts each NodeClaim once', () => {
    const leaving = claim('d');
    const nodes = [
      nodeOf('a'),
      stateNode('b', { pool: 'fixed', state: { markedForDeletion: true } }),
      stateNode('c', { pool: 'fixed', state: { markedForDeletion: true } }),
      stateNode('d', {
        pool: 'fixed',
        claim: { ...leaving, metadata: { ...leaving.metadata, deletionTimestamp: '2026-01-15T11:59:00Z' } },
        state: { markedForDeletion: true },
      }),
      stateNode('e', { pool: 'other' }),
    ];
    const counts = claimCounts(nodes, new Set(['aws:///b', 'aws:///d']));
    expect(counts.get('fixed')).toEqual({ active: 1, pending: 1, deleting: 2 });
    expect(counts.get('other')).toEqual({ active: 1, pending: 0, deleting: 0 });
  });
});
