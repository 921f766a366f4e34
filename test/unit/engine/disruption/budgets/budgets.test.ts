import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import {
  allowances,
  allowedDisruptions,
  type Budget,
  budgetErrors,
  budgetValue,
  isBudgetActive,
  UNLIMITED,
} from '../../../../../src/engine/disruption/budgets/budgets.ts';
import { claim, NOW, pool, stateNode } from '../objects.ts';

const HOUR = 3_600_000;

describe('isBudgetActive', () => {
  it.each([
    { when: 'there is no schedule', budget: { nodes: '1' }, nowMs: NOW, is: true },
    { when: 'the hit is now', budget: { nodes: '1', schedule: '0 12 * * *', duration: '1h' }, nowMs: NOW, is: true },
    {
      when: 'the window is open',
      budget: { nodes: '1', schedule: '0 11 * * *', duration: '90m' },
      nowMs: NOW,
      is: true,
    },
    {
      when: 'the window closes now',
      budget: { nodes: '1', schedule: '0 11 * * *', duration: '1h' },
      nowMs: NOW,
      is: false,
    },
    {
      when: 'the hit is to come',
      budget: { nodes: '1', schedule: '1 12 * * *', duration: '1h' },
      nowMs: NOW,
      is: false,
    },
    {
      when: 'it began the day before',
      budget: { nodes: '1', schedule: '@daily', duration: '12h1m' },
      nowMs: NOW,
      is: true,
    },
    {
      when: 'the weekday differs',
      budget: { nodes: '1', schedule: '0 9 * * mon-wed', duration: '8h' },
      nowMs: NOW,
      is: false,
    },
    {
      when: 'the weekday matches',
      budget: { nodes: '1', schedule: '0 9 * * mon-fri', duration: '8h' },
      nowMs: NOW,
      is: true,
    },
    {
      when: 'it goes by steps from a value on',
      budget: { nodes: '1', schedule: '0 9/3 * * *', duration: '30m' },
      nowMs: NOW,
      is: true,
    },
  ])('returns $is if $when', ({ budget, nowMs, is }) => {
    expect(isBudgetActive(budget, nowMs)).toBe(is);
  });

  it.each([
    '@annually',
    '@yearly',
    '@monthly',
    '@weekly',
    '@daily',
    '@midnight',
    '@hourly',
  ])('parses %s', (schedule) => {
    expect(() => isBudgetActive({ nodes: '1', schedule, duration: '1h' }, NOW)).not.toThrow();
  });

  it.each([
    { schedule: '@annually', opens: '2026-01-01T00:00:00Z' },
    { schedule: '@yearly', opens: '2026-01-01T00:00:00Z' },
    { schedule: '@monthly', opens: '2026-02-01T00:00:00Z' },
    { schedule: '@weekly', opens: '2026-02-08T00:00:00Z' }, // a Sunday
    { schedule: '@daily', opens: '2026-02-10T00:00:00Z' },
    { schedule: '@midnight', opens: '2026-02-10T00:00:00Z' },
    { schedule: '@hourly', opens: '2026-02-10T13:00:00Z' },
  ])('opens $schedule at $opens', ({ schedule, opens }) => {
    const isOpen = (ms: number): boolean => isBudgetActive({ nodes: '1', schedule, duration: '10m' }, ms);
    expect([-1, 0, 599_999, 600_000].map((after) => isOpen(Date.parse(opens) + after))).toEqual([
      false,
      true,
      true,
      false,
    ]);
  });

  it('rejects a schedule that cannot be parsed', () => {
    expect(() => isBudgetActive({ nodes: '1', schedule: 'every day', duration: '1h' }, NOW)).toThrow(
      /invalid cron schedule/,
    );
  });

  it('is active for exactly the duration after each start', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 47 * 60 }), fc.integer({ min: 1, max: 23 * 60 }), (minute, minutes) => {
        const midnight = Date.UTC(2026, 0, 15);
        const active = isBudgetActive(
          { nodes: '1', schedule: '0 0 * * *', duration: `${minutes}m` },
          midnight + minute * 60_000,
        );
        return active === minute % (24 * 60) < minutes;
      }),
    );
  });
});

describe('budgetValue', () => {
  it.each([
    { nodes: '3', total: 10, is: 3 },
    { nodes: '0', total: 10, is: 0 },
    { nodes: '10%', total: 10, is: 1 },
    { nodes: '10%', total: 1, is: 1 },
    { nodes: '10%', total: 11, is: 2 },
    { nodes: '0%', total: 50, is: 0 },
    { nodes: '100%', total: 7, is: 7 },
    { nodes: '10%', total: 0, is: 0 },
  ])('allows $is of $total nodes for $nodes', ({ nodes, total, is }) => {
    expect(budgetValue({ nodes }, total, NOW)).toBe(is);
  });

  it('does not limit while its window is closed', () => {
    expect(budgetValue({ nodes: '0', schedule: '0 1 * * *', duration: '1h' }, 10, NOW)).toBe(UNLIMITED);
  });
});

describe('allowedDisruptions', () => {
  const allowed = (budgets: readonly Budget[], reason: 'Empty' | 'Drifted' = 'Empty'): number =>
    allowedDisruptions(pool('p', { consolidateAfter: '0s', budgets: [...budgets] }), { reason, total: 20, nowMs: NOW });

  it('is the strictest budget for the reason', () => {
    expect(allowed([{ nodes: '50%' }, { nodes: '3' }])).toBe(3);
    expect(allowed([{ nodes: '50%' }, { nodes: '3', reasons: ['Drifted'] }])).toBe(10);
    expect(allowed([{ nodes: '50%' }, { nodes: '3', reasons: ['Drifted'] }], 'Drifted')).toBe(3);
  });

  it('has no limit if no budget applies to the reason', () => {
    expect(allowed([{ nodes: '3', reasons: ['Drifted'] }])).toBe(UNLIMITED);
    expect(allowed([])).toBe(UNLIMITED);
  });

  it('is 10% by default', () => {
    expect(allowedDisruptions(pool('p', undefined), { reason: 'Empty', total: 20, nowMs: NOW })).toBe(2);
  });

  it('is rejected and counts as 0 if a budget for another reason cannot be parsed', () => {
    const broken = pool('p', {
      consolidateAfter: '0s',
      budgets: [{ nodes: '50%' }, { nodes: '1', reasons: ['Drifted'], schedule: '61 * * * *', duration: '1h' }],
    });
    expect(() => allowedDisruptions(broken, { reason: 'Empty', total: 20, nowMs: NOW })).toThrow();
    expect(allowances([stateNode('a')], [broken], { reason: 'Empty', nowMs: NOW }).get('p')?.allowed).toBe(0);
    expect(budgetErrors([pool('fine'), broken], NOW)).toEqual([
      expect.stringMatching(/^invalid disruption budgets in nodepool p, invalid cron schedule "61 \* \* \* \*"/),
    ]);
  });
});

describe('allowances', () => {
  const half = pool('default', { consolidateAfter: '0s', budgets: [{ nodes: '50%' }] });
  const allowanceOf = (nodes: Parameters<typeof allowances>[0]) =>
    allowances(nodes, [half], { reason: 'Empty', nowMs: NOW }).get('default');

  it('counts nodes that are being disrupted or are not ready against every reason', () => {
    const nodes = [
      stateNode('a'),
      stateNode('b', { ready: false }),
      stateNode('c', { state: { markedForDeletion: true } }),
      stateNode('d'),
      stateNode('e'),
      stateNode('f'),
    ];
    expect(allowanceOf(nodes)).toEqual({ total: 6, disrupting: 2, allowed: 3, remaining: 1 });
  });

  it('is never negative', () => {
    const nodes = ['a', 'b', 'c'].map((name) => stateNode(name, { state: { markedForDeletion: true } }));
    expect(allowanceOf(nodes)).toEqual({ total: 3, disrupting: 3, allowed: 2, remaining: 0 });
  });

  it('excludes unmanaged and uninitialized nodes, other NodePools, and instances that are being terminated', () => {
    const terminating = claim('t', { status: { conditions: [{ type: 'InstanceTerminating', status: 'True' }] } });
    const { nodeClaim: _, ...unmanaged } = stateNode('u');
    const nodes = [
      stateNode('a', { pool: 'other' }),
      stateNode('b', { state: { initialized: false } }),
      stateNode('t', { claim: terminating }),
      unmanaged,
    ];
    expect(allowanceOf(nodes)).toEqual({ total: 0, disrupting: 0, allowed: 0, remaining: 0 });
  });
});

it('opens a window at the hour in UTC in any time zone of the process', () => {
  const budget = { nodes: '0', schedule: '0 9 * * *', duration: '1h' };
  expect(isBudgetActive(budget, Date.UTC(2026, 6, 1, 9, 30))).toBe(true);
  expect(isBudgetActive(budget, Date.UTC(2026, 6, 1, 9, 30) + 12 * HOUR)).toBe(false);
});
