import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { allowedDisruptions, type Budget, UNLIMITED } from '../../../../../src/engine/disruption/budgets/budgets.ts';
import {
  calendarOf,
  MOST_HITS,
  type PoolBudgets,
  poolBudgets,
  windowsOf,
} from '../../../../../src/engine/disruption/budgets/calendar.ts';
import { pool, stateNode } from '../objects.ts';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
/** Noon on a Wednesday. */
const NOW = Date.parse('2026-06-03T12:00:00Z');
const WEEK = { fromMs: NOW, toMs: NOW + 7 * DAY };

const standing = (budgets: readonly Budget[], nodes = 20): PoolBudgets => ({
  nodePool: 'default',
  budgets,
  nodes,
  disrupting: 0,
});
const spansOf = (budgets: readonly Budget[], reason = 'Empty', nodes = 20) =>
  calendarOf(standing(budgets, nodes), WEEK).reasons.find((each) => each.reason === reason)?.spans;
const warningsFor = (budgets: readonly Budget[], nodes = 20) =>
  calendarOf(standing(budgets, nodes), WEEK).warnings.map(({ code, text }) => `${code}: ${text}`);

describe('calendarOf', () => {
  it('lists the periods in which a number of nodes may be disrupted', () => {
    const nights: Budget = { nodes: '0', schedule: '0 9 * * 1-5', duration: '8h' };
    expect(spansOf([{ nodes: '10%' }, nights])?.slice(0, 4)).toEqual([
      { from: '2026-06-03T12:00:00Z', until: '2026-06-03T17:00:00Z', allowed: 0 },
      { from: '2026-06-03T17:00:00Z', until: '2026-06-04T09:00:00Z', allowed: 2 },
      { from: '2026-06-04T09:00:00Z', until: '2026-06-04T17:00:00Z', allowed: 0 },
      { from: '2026-06-04T17:00:00Z', until: '2026-06-05T09:00:00Z', allowed: 2 },
    ]);
  });

  it('merges adjacent periods with the same allowance and windows that touch', () => {
    const halves: readonly Budget[] = [
      { nodes: '3', schedule: '0 0 * * *', duration: '12h' },
      { nodes: '3', schedule: '0 12 * * *', duration: '12h' },
    ];
    expect(spansOf(halves)).toEqual([{ from: '2026-06-03T12:00:00Z', allowed: 3 }]);
    expect(spansOf([{ nodes: '1', schedule: '* * * * *', duration: '1h' }])).toEqual([
      { from: '2026-06-03T12:00:00Z', allowed: 1 },
    ]);
  });

  it('distinguishes reasons', () => {
    const drifted: Budget = { nodes: '0', reasons: ['Drifted'] };
    expect(spansOf([drifted], 'Drifted')).toEqual([{ from: '2026-06-03T12:00:00Z', allowed: 0 }]);
    expect(spansOf([drifted], 'Empty')).toEqual([{ from: '2026-06-03T12:00:00Z', allowed: 'unlimited' }]);
  });

  it.each([
    {
      when: 'within the period',
      budget: { nodes: '0', schedule: '0 9 * * *', duration: '8h' },
      is: '2026-06-03T17:00:00Z',
    },
    {
      when: 'after the period',
      budget: { nodes: '0', schedule: '0 0 1 6 *', duration: '720h' },
      is: '2026-07-01T00:00:00Z',
    },
    { when: 'never', budget: { nodes: '0' }, is: undefined },
  ])('finds the next opening $when', ({ budget, is }) => {
    const { reasons } = calendarOf(standing([budget]), WEEK);
    expect(reasons.map(({ nextOpening }) => nextOpening)).toEqual([is, is, is]);
  });

  it.each([
    [[{ nodes: '10%' }], []],
    [
      [{ nodes: '0' }],
      [
        'always-zero: budgets[0] never allows disruption, because it has nodes "0" and no schedule',
        'never-opens: no node can ever be disrupted for reason Empty, Drifted, Underutilized; change the budgets to allow disruption at some time',
      ],
    ],
    [
      [{ nodes: '0%', reasons: ['Drifted' as const] }],
      [
        'always-zero: budgets[0] never allows disruption, because it has nodes "0%" and no schedule',
        'never-opens: no node can ever be disrupted for reason Drifted; change the budgets to allow disruption at some time',
      ],
    ],
    [
      [{ nodes: '0', schedule: '@hourly', duration: '2h' }],
      [
        'never-opens: no node can ever be disrupted for reason Empty, Drifted, Underutilized; change the budgets to allow disruption at some time',
      ],
    ],
    [
      [{ nodes: '5', schedule: '0 0 30 2 *', duration: '1h' }],
      ['never-in-force: budgets[0] is never active, because its schedule "0 0 30 2 *" never matches'],
    ],
    [
      [{ nodes: '10%' }, { nodes: '5', schedule: 'soon', duration: '1h' }],
      [
        expect.stringMatching(
          /^unreadable: invalid cron schedule "soon".*; none of its nodes can be disrupted until this is corrected$/,
        ),
      ],
    ],
    [[{ nodes: '1', schedule: '@daily' }], [expect.stringMatching(/^unreadable: .*must be set together; none of/)]],
  ])('warns for %j of %j', (budgets, warnings) => {
    expect(warningsFor(budgets)).toEqual(warnings);
  });

  it('allows no disruption if a budget cannot be parsed, as the operator does', () => {
    expect(spansOf([{ nodes: 'some' }])).toEqual([{ from: '2026-06-03T12:00:00Z', allowed: 0 }]);
  });

  it('does not report that a NodePool without nodes never opens', () => {
    expect(spansOf([{ nodes: '10%' }], 'Empty', 0)).toEqual([{ from: '2026-06-03T12:00:00Z', allowed: 0 }]);
    expect(warningsFor([{ nodes: '10%' }], 0)).toEqual([]);
  });

  it('follows a schedule that starts every minute up to a limit, and reports the limit', () => {
    const budget: Budget = { nodes: '0', schedule: '* * * * *', duration: '1s' };
    const { warnings } = calendarOf(standing([budget]), { fromMs: NOW, toMs: NOW + 30 * DAY });
    const end = new Date(NOW + MOST_HITS * 60_000).toISOString().replace('.000', '');
    expect(warnings.map(({ text }) => text)).toEqual([
      `the schedule of budgets[0] starts too often to be computed beyond ${end}`,
    ]);
  });

  it('agrees with the operator at any time', () => {
    const budget = fc.record(
      {
        nodes: fc.constantFrom('0', '1', '7', '0%', '10%', '100%'),
        window: fc.option(
          fc.record({
            schedule: fc.constantFrom(
              '0 9 * * 1-5',
              '0 */3 * * *',
              '30 22 * * *',
              '@daily',
              '0 0 1,15 * *',
              '15 3 29 2 *',
            ),
            duration: fc.constantFrom('5m', '1h', '8h', '24h', '100h', '1m30s'),
          }),
          { nil: undefined },
        ),
        reasons: fc.constantFrom<Budget['reasons']>(undefined, ['Empty'], ['Drifted', 'Underutilized']),
      },
      { noNullPrototype: true },
    );
    const budgets = fc.array(
      budget.map(({ nodes, window, reasons }): Budget => ({ nodes, ...window, ...(reasons && { reasons }) })),
      { maxLength: 4 },
    );
    fc.assert(
      fc.property(budgets, fc.nat(7 * 24 * 60), fc.nat(30), fc.nat(365), (chosen, minutes, nodes, day) => {
        const period = { fromMs: NOW + day * DAY + 17, toMs: NOW + (day + 7) * DAY };
        const { reasons } = calendarOf(standing(chosen, nodes), period);
        const nowMs = period.fromMs + minutes * 60_000;
        fc.pre(nowMs < period.toMs);
        const nodePool = pool('default', { consolidateAfter: '0s', budgets: chosen });
        for (const { reason, spans } of reasons) {
          // Periods begin and end at whole seconds.
          const span = spans.findLast(({ from }) => Date.parse(from) <= nowMs);
          const allowed = allowedDisruptions(nodePool, { reason, total: nodes, nowMs });
          expect({ reason, allowed: span?.allowed }).toEqual({
            reason,
            allowed: allowed === UNLIMITED ? 'unlimited' : allowed,
          });
        }
      }),
      { numRuns: 100 },
    );
  });
});

describe('windowsOf', () => {
  it('begins with the open window, even if it started many times', () => {
    const budget: Budget = { nodes: '0', schedule: '* 9-17 * * *', duration: '5m' };
    const at = Date.parse('2026-06-03T12:00:30Z');
    expect(windowsOf(budget, { fromMs: at, toMs: at + DAY }).windows).toEqual([
      { fromMs: Date.parse('2026-06-03T12:00:00Z'), toMs: Date.parse('2026-06-03T18:04:00Z') },
      { fromMs: Date.parse('2026-06-04T09:00:00Z'), toMs: expect.any(Number) },
    ]);
  });
});

describe('poolBudgets', () => {
  it('counts nodes as the operator does, sorted by name, with the default budget if there is none', () => {
    const nodes = [stateNode('a'), stateNode('b', { ready: false })];
    expect(poolBudgets(nodes, [pool('zeta'), pool()], NOW)).toEqual([
      { nodePool: 'default', budgets: [{ nodes: '10%' }], nodes: 2, disrupting: 1 },
      { nodePool: 'zeta', budgets: [{ nodes: '10%' }], nodes: 0, disrupting: 0 },
    ]);
  });
});
