/** Repeats an undone move only if the nodes that would be launched save enough. */
import { describe, expect, it } from '@jest/globals';
import type { Candidate } from '../../../../../src/engine/disruption/command.ts';
import type { Method, MethodInput } from '../../../../../src/engine/disruption/method.ts';
import { multiNode } from '../../../../../src/engine/disruption/methods/multi-node.ts';
import { singleNode } from '../../../../../src/engine/disruption/methods/single-node.ts';
import { swap } from '../../../../../src/engine/disruption/methods/swap.ts';
import { type Undone, workloadsOf } from '../../../../../src/engine/disruption/pricing/churn.ts';
import type { PlannedClaim } from '../../../../../src/engine/model.ts';
import { NOW } from '../objects.ts';
import { asking, candidate, planned, pools, solved } from './consolidation-input.ts';

/** Each node costs 0.20 USD per hour. */
const nodes = ['a', 'b', 'c', 'd'].map((name) => candidate(name));

/** A move of the pods of these nodes was undone once, so a repetition must save more. */
const undone: Undone = {
  nodePools: new Set(['default']),
  workloads: workloadsOf(nodes.flatMap(({ reschedulablePods }) => reschedulablePods)),
  level: 1,
  untilMs: NOW + 60_000,
};

/** Totals of ten such nodes; `share` is the disruption of one of these nodes relative to the average. */
const totals = (share: number): MethodInput['totals'] => {
  const [{ usdPerHour, rescheduleCost }] = nodes as [Candidate];
  return new Map([['default', { usdPerHour: 10 * usdPerHour, disruption: (10 * rescheduleCost) / share }]]);
};

const bought = (usdPerHour: number, count: number): readonly PlannedClaim[] =>
  Array.from({ length: count }, () => ({ ...planned(['m.1'], ['on-demand']), usdPerHour }));

interface Case {
  readonly method: Method;
  readonly candidates: readonly Candidate[];
  /** Number of replacements for a number of deleted nodes. */
  readonly replacements: (gone: number) => number;
}

const named = (each: Case) => ({ ...each, name: each.method.name });
const CASES = [
  named({ method: singleNode, candidates: nodes.slice(0, 1), replacements: () => 1 }),
  named({ method: multiNode, candidates: nodes, replacements: () => 1 }),
  named({ method: swap, candidates: nodes, replacements: (gone) => gone }),
];

async function commandsOf({ method, candidates, replacements }: Case, more: Partial<MethodInput>) {
  return method.decide(
    asking(candidates, (gone) => solved(bought(0.05, replacements(gone.length))), {
      ...{ consolidation: 'thorough', budgets: new Map([['default', 100]]), pools },
      ...more,
    }),
  );
}

describe('a move that was undone', () => {
  it.each(CASES)('is repeated by $name only if the savings after its replacements are sufficient', async (the) => {
    const found = async (more: Partial<MethodInput>) => (await commandsOf(the, more)).commands.length;
    // At most three quarters of the price is saved: enough for half of the usual disruption, but not for all of it.
    expect(await found({ undone: [undone], totals: totals(1) })).toBe(0);
    expect(await found({ undone: [undone], totals: totals(0.5) })).toBe(1);
    expect(await found({ undone: [{ ...undone, level: 2 }], totals: totals(0.5) })).toBe(0);
    expect(await found({ undone: [], totals: totals(1) })).toBe(1);
    expect(await found({ undone: [{ ...undone, untilMs: NOW }], totals: totals(1) })).toBe(1);
  });

  it('is reported as the reason that a node is not disrupted', async () => {
    const [{ providerId }] = nodes as [Candidate];
    const { reasons, exhausted } = await commandsOf(CASES[0] as Case, { undone: [undone], totals: totals(1) });
    expect(reasons?.get(providerId)).toMatchObject({
      code: 'churn',
      nearestMiss: 'score 0.75, at least 1.00 needed for another 1m0s',
    });
    expect(exhausted).toBe(true);
  });

  it('is not reported as approved if it is not repeated', async () => {
    const pool = { ...(nodes[0] as Candidate).nodePool };
    const disruption = { consolidateAfter: '0s', consolidationPolicy: 'Balanced' as const };
    const spec = { ...pool.spec, disruption };
    const balanced = nodes.map((each) => ({ ...each, nodePool: { ...pool, spec } }));
    const of = { ...(CASES[1] as Case), candidates: balanced };
    const kinds = async (more: Partial<MethodInput>) => (await commandsOf(of, more)).events.map(({ kind }) => kind);
    expect(await kinds({ undone: [], totals: totals(1) })).toContain('ConsolidationApproved');
    expect(await kinds({ undone: [undone], totals: totals(1) })).toEqual([]);
  });
});
