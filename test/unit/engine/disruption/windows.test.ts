/** Windows of NodePolicies in time zones, with clocks that are set, and together with budgets. */
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { NodePolicy, NodePool } from '#api/objects';
import type { NodePolicySpec } from '#api/testing';
import { addWindows, calendarOf, isOpenAt, nextTurnMs, openHours } from '#engine/disruption';
import { allowedDisruptions } from '#engine/testing';
import { budgetRemark } from '../../../../src/engine/disruption/budgets/budgets.ts';

type Windows = NonNullable<NodePolicySpec['windows']>;
const hours = (timeZone: string, ...allowed: Windows['allowed']) => ({ timeZone, allowed, policy: 'night' });
const at = (text: string): number => Date.parse(text);
const isOpen = (of: ReturnType<typeof hours>, text: string): boolean => isOpenAt(of, at(text));
const turn = (of: ReturnType<typeof hours>, text: string): string | undefined => {
  const ms = nextTurnMs(of, at(text));
  return ms === undefined ? undefined : new Date(ms).toISOString().replace(':00.000Z', 'Z');
};

describe('a window', () => {
  it('includes its start and excludes its end, in its time zone', () => {
    const office = hours('America/New_York', { days: ['Mon', 'Tue'], start: '09:00', end: '17:00' });
    // 2026-06-01 is a Monday, and New York is four hours behind UTC
    expect(isOpen(office, '2026-06-01T12:59:59Z')).toBe(false);
    expect(isOpen(office, '2026-06-01T13:00:00Z')).toBe(true);
    expect(isOpen(office, '2026-06-01T20:59:59Z')).toBe(true);
    expect(isOpen(office, '2026-06-01T21:00:00Z')).toBe(false);
    expect(isOpen(office, '2026-06-03T15:00:00Z')).toBe(false);
    expect(turn(office, '2026-06-02T21:00:00Z')).toBe('2026-06-08T13:00Z');
  });

  it('belongs to the day on which it starts if it ends after midnight', () => {
    const night = hours('Europe/Berlin', { days: ['Fri'], start: '22:00', end: '06:00' });
    expect(isOpen(night, '2026-06-05T20:00:00Z')).toBe(true);
    expect(isOpen(night, '2026-06-06T03:59:59Z')).toBe(true);
    expect(isOpen(night, '2026-06-06T04:00:00Z')).toBe(false);
    expect(isOpen(night, '2026-06-06T20:30:00Z')).toBe(false);
  });

  it('is the whole day if it has no times', () => {
    const weekend = hours('Asia/Kolkata', { days: ['Sat', 'Sun'] });
    expect(isOpen(weekend, '2026-06-05T18:29:00Z')).toBe(false);
    expect(isOpen(weekend, '2026-06-05T18:30:00Z')).toBe(true);
    expect(turn(weekend, '2026-06-05T18:30:00Z')).toBe('2026-06-07T18:30Z');
  });

  it('is an hour shorter if the clock is set forward in it, and does not open if the clock skips it', () => {
    // Berlin: 02:00 becomes 03:00 at 01:00 UTC on 2026-03-29
    const night = hours('Europe/Berlin', { days: ['Sat'], start: '22:00', end: '06:00' });
    expect(turn(night, '2026-03-28T20:00:00Z')).toBe('2026-03-28T21:00Z');
    expect(turn(night, '2026-03-28T21:00:00Z')).toBe('2026-03-29T04:00Z');
    const skipped = hours('Europe/Berlin', { days: ['Sun'], start: '02:00', end: '03:00' });
    expect(turn(skipped, '2026-03-28T12:00:00Z')).toBe('2026-04-05T00:00Z');
    const cut = hours('Europe/Berlin', { days: ['Sun'], start: '02:30', end: '04:00' });
    expect(turn(cut, '2026-03-28T12:00:00Z')).toBe('2026-03-29T01:00Z');
  });

  it('opens twice if the clock shows its times twice', () => {
    // Berlin: 03:00 becomes 02:00 at 01:00 UTC on 2026-10-25
    const half = hours('Europe/Berlin', { days: ['Sun'], start: '02:30', end: '03:00' });
    expect(turn(half, '2026-10-24T12:00:00Z')).toBe('2026-10-25T00:30Z');
    expect(turn(half, '2026-10-25T00:30:00Z')).toBe('2026-10-25T01:00Z');
    expect(turn(half, '2026-10-25T01:00:00Z')).toBe('2026-10-25T01:30Z');
    expect(turn(half, '2026-10-25T01:30:00Z')).toBe('2026-10-25T02:00Z');
  });

  it('has no turn if it is always open', () => {
    expect(turn(hours('UTC', {}), '2026-06-01T00:00:00Z')).toBeUndefined();
  });

  it('turns exactly at the times that the clock of the zone shows, for random windows', () => {
    const time = fc
      .integer({ min: 0, max: 95 })
      .map(
        (quarter) =>
          `${String(Math.floor(quarter / 4)).padStart(2, '0')}:${String((quarter % 4) * 15).padStart(2, '0')}`,
      );
    const window = fc.record({
      days: fc.uniqueArray(fc.constantFrom('Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat' as const), { minLength: 1 }),
      start: time,
      end: time,
    });
    const zone = fc.constantFrom('UTC', 'Europe/Berlin', 'America/New_York', 'Australia/Lord_Howe', 'Asia/Kathmandu');
    const start = fc.constantFrom(at('2026-03-27T00:00Z'), at('2026-10-23T00:00Z'), at('2026-04-03T00:00Z'));
    fc.assert(
      fc.property(
        zone,
        fc.array(window, { minLength: 1, maxLength: 3 }),
        start,
        fc.nat(200),
        (name, allowed, fromMs, add) => {
          const of = hours(name, ...(allowed as Windows['allowed']));
          const quarter = 15 * 60_000;
          const beginMs = fromMs + add * quarter;
          const now = isOpenAt(of, beginMs);
          let expected: number | undefined;
          for (let ms = beginMs + quarter; ms < beginMs + 9 * 86_400_000 && expected === undefined; ms += quarter)
            if (isOpenAt(of, ms) !== now) expected = ms;
          expect(nextTurnMs(of, beginMs)).toBe(expected);
        },
      ),
      { numRuns: 150 },
    );
  });
});

const poolWith = (budgets?: readonly { readonly nodes: string }[]): NodePool =>
  ({
    metadata: { name: 'default', labels: {} },
    spec: { disruption: { consolidateAfter: '0s', ...(budgets !== undefined && { budgets }) } },
  }) as unknown as NodePool;
const policy = (windows: Windows): NodePolicy => ({
  apiVersion: 'karpenter-ts.sh/v1alpha1',
  kind: 'NodePolicy',
  metadata: { name: 'night' },
  spec: { windows },
});
const NIGHT: Windows = { timeZone: 'Europe/Berlin', allowed: [{ start: '22:00', end: '06:00' }] };
const DAY_MS = at('2026-06-01T12:00:00Z');
const NIGHT_MS = at('2026-06-01T23:00:00Z');

describe('a NodePool with windows', () => {
  it('limits disruption to them, and its budgets limit it inside: the stricter holds', () => {
    for (const [budgets, inside] of [
      [undefined, 1],
      [[{ nodes: '3' }], 3],
      [[{ nodes: '0' }], 0],
    ] as const) {
      const pool = addWindows(poolWith(budgets), [policy(NIGHT)]);
      for (const reason of ['Empty', 'Drifted', 'Underutilized'] as const) {
        expect(allowedDisruptions(pool, { reason, total: 10, nowMs: DAY_MS })).toBe(0);
        expect(allowedDisruptions(pool, { reason, total: 10, nowMs: NIGHT_MS })).toBe(inside);
      }
    }
  });

  it('is the same object without a policy, and an equal copy for the same policy', () => {
    const pool = poolWith();
    expect(addWindows(pool, [])).toBe(pool);
    const policies = [policy(NIGHT)];
    expect(addWindows(pool, policies)).toBe(addWindows(pool, policies));
  });

  it('is restricted only for the reasons of its windows', () => {
    const windows: Windows = { ...NIGHT, allowed: [{ reasons: ['Drifted', 'Expired'], start: '22:00', end: '06:00' }] };
    const pool = addWindows(poolWith([{ nodes: '100%' }]), [policy(windows)]);
    const allowed = (reason: 'Empty' | 'Drifted') => allowedDisruptions(pool, { reason, total: 10, nowMs: DAY_MS });
    expect(allowed('Drifted')).toBe(0);
    expect(allowed('Empty')).toBe(10);
    expect(openHours([policy(windows)], poolWith(), 'Expired')?.policy).toBe('night');
    expect(openHours([policy(NIGHT)], poolWith(), 'Expired')).toBeUndefined();
  });

  it('names the policy and the next opening in verdicts', () => {
    const pool = addWindows(poolWith([{ nodes: '5' }]), [policy(NIGHT)]);
    expect(budgetRemark(pool, { reason: 'Drifted', total: 10, nowMs: DAY_MS })).toBe(
      'by the windows of NodePolicy night until 2026-06-01T20:00:00Z',
    );
  });

  it('allows nothing if the time zone is unknown, and names the remedy', () => {
    const pool = addWindows(poolWith([{ nodes: '5' }]), [policy({ ...NIGHT, timeZone: 'Mars/Base' })]);
    expect(() => allowedDisruptions(pool, { reason: 'Drifted', total: 10, nowMs: NIGHT_MS })).toThrow(
      'invalid windows of NodePolicy night, time zone "Mars/Base" is unknown, expected for example Europe/Berlin',
    );
  });
});

describe('the calendar of a NodePool with windows', () => {
  const calendar = (windows: Windows, budgets = [{ nodes: '2' }]) =>
    calendarOf(
      {
        nodePool: 'default',
        nodes: 10,
        disrupting: 0,
        budgets: addWindows(poolWith(budgets), [policy(windows)]).spec.disruption?.budgets ?? [],
      },
      { fromMs: DAY_MS, toMs: DAY_MS + 86_400_000 },
    );

  it('has a span for each window, and the next opening', () => {
    const { reasons, warnings } = calendar(NIGHT);
    expect(warnings).toEqual([]);
    expect(reasons.find(({ reason }) => reason === 'Empty')).toEqual({
      reason: 'Empty',
      nextOpening: '2026-06-01T20:00:00Z',
      spans: [
        { from: '2026-06-01T12:00:00Z', until: '2026-06-01T20:00:00Z', allowed: 0 },
        { from: '2026-06-01T20:00:00Z', until: '2026-06-02T04:00:00Z', allowed: 2 },
        { from: '2026-06-02T04:00:00Z', allowed: 0 },
      ],
    });
  });

  it('warns of windows that are always open', () => {
    const { warnings } = calendar({ allowed: [{}] });
    expect(warnings.map(({ code }) => code)).toEqual(['never-in-force', 'never-in-force', 'never-in-force']);
    expect(warnings[0]?.text).toBe(
      'the windows of NodePolicy night for reason Empty are always open, so they have no effect',
    );
  });

  it('warns if the windows and the budgets are never open together', () => {
    const closedAtNight = { nodes: '0', schedule: '0 20 * * *', duration: '8h' };
    const { warnings } = calendar({ ...NIGHT, timeZone: 'UTC', allowed: [{ start: '20:00', end: '04:00' }] }, [
      closedAtNight,
    ]);
    expect(warnings.map(({ code }) => code)).toEqual(['never-opens']);
  });
});
