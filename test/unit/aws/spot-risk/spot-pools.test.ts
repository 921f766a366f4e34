/** Counts of spot pools. They decay, are limited, and survive restarts even if their text is damaged. */
import { describe, expect, it } from '@jest/globals';
import { SpotPools } from '../../../../src/aws/spot-risk/spot-pools.ts';
import { settableClock, virtualClock } from '../../virtualclock.ts';

const HOUR = 3_600_000;
const POOL = { instanceType: 'm5.large', zone: 'us-west-2a' };

const textOf = (pools: SpotPools): string => [...pools.texts()][0] ?? '';

describe('a count', () => {
  it('halves with time: capacity errors within hours, interruptions and hours within days', async () => {
    const clock = virtualClock();
    const pools = new SpotPools(clock);
    pools.add(POOL, { interruptions: 8, capacityErrors: 8, instanceHours: 8 });
    await clock.advance(6 * HOUR);
    expect(pools.all()[0]?.capacityErrors).toBeCloseTo(4, 6);
    await clock.advance(66 * HOUR);
    const [after] = pools.all();
    expect([after?.interruptions, after?.instanceHours]).toEqual([expect.closeTo(4, 6), expect.closeTo(4, 6)]);
    await clock.advance(2_000 * HOUR);
    expect(pools.all()).toEqual([]);
  });

  it('changes with each event, and hourly with running time', async () => {
    const clock = virtualClock();
    const pools = new SpotPools(clock);
    for (let minute = 0; minute < 180; minute += 5) {
      pools.add(POOL, { instanceHours: 1 / 12 });
      await clock.advance(300_000);
    }
    expect([pools.changes, pools.lateChanges]).toEqual([2, 36]);
    pools.add(POOL, { interruptions: 1 });
    expect(pools.changes).toBe(3);
  });

  it('does not decay if the clock of the machine is set', async () => {
    const clock = settableClock();
    const pools = new SpotPools(clock);
    pools.add(POOL, { interruptions: 1 });
    clock.put(10_000 * HOUR);
    expect(pools.all()[0]?.interruptions).toBe(1);
    clock.put(-20_000 * HOUR);
    expect(pools.all()[0]?.interruptions).toBe(1);
  });

  it('is kept for at most a thousand pools, with priority for interrupted pools', () => {
    const pools = new SpotPools(virtualClock());
    for (let at = 0; at < 50; at++) pools.add({ ...POOL, instanceType: `hot.${at}` }, { interruptions: 1 });
    for (let at = 0; at < 5_000; at++) pools.add({ ...POOL, instanceType: `calm.${at}` }, { instanceHours: 1 });
    const names = pools.all().map(({ instanceType }) => instanceType);
    expect(names.length).toBeLessThanOrEqual(1_000);
    expect(names.filter((name) => name.startsWith('hot.'))).toHaveLength(50);
  });
});

describe('the text of counts', () => {
  it('is read by another process with its age', async () => {
    const clock = virtualClock();
    const first = new SpotPools(clock);
    first.add(POOL, { interruptions: 4, instanceHours: 100 });
    const text = textOf(first);
    await clock.advance(72 * HOUR);
    const second = new SpotPools(clock);
    second.add(POOL, { interruptions: 1 });
    second.restore(text);
    const [found] = second.all();
    expect(found?.interruptions).toBeCloseTo(3, 6);
    expect(found?.instanceHours).toBeCloseTo(50, 6);
  });

  it('counts as new if its time is in the future', () => {
    const clock = settableClock();
    const first = new SpotPools(clock);
    first.add(POOL, { interruptions: 4 });
    const text = textOf(first);
    clock.put(-1_000 * HOUR);
    const second = new SpotPools(clock);
    second.restore(text);
    expect(second.all()[0]?.interruptions).toBe(4);
  });

  it('has shorter and shorter forms, which keep the pools with the most interruptions', () => {
    const pools = new SpotPools(virtualClock());
    for (let at = 0; at < 8; at++) pools.add({ ...POOL, instanceType: `type.${at}` }, { interruptions: at + 1 });
    const sizes = [...pools.texts()].map((text) => {
      const read = new SpotPools(virtualClock());
      read.restore(text);
      return read.all();
    });
    expect(sizes.map(({ length }) => length)).toEqual([8, 4, 2, 1, 0]);
    expect(sizes[3]?.[0]?.instanceType).toBe('type.7');
  });

  const stored = (pool: unknown, more: object = {}): string =>
    JSON.stringify({ version: 1, at: '2026-01-01T00:00:00Z', pools: [pool], ...more });
  const fine = { ...POOL, interruptions: 1, capacityErrors: 0, instanceHours: 1 };
  it.each([
    ['no JSON', 'x'],
    ['null', 'null'],
    ['another version', stored(fine, { version: 2 })],
    ['no time', stored(fine, { at: 'soon' })],
    ['pools that are no list', stored(fine, { pools: {} })],
    ['null for a pool', stored(null)],
    ['a pool without a name', stored({ ...fine, instanceType: '' })],
    ['a name of another alphabet', stored({ ...fine, zone: 'us west' })],
    ['a name that is too long', stored({ ...fine, zone: 'z'.repeat(100) })],
    ['a negative count', stored({ ...fine, interruptions: -1 })],
    ['a count in words', stored({ ...fine, interruptions: 'many' })],
    ['an endless count', stored(fine).replace('"interruptions":1', '"interruptions":1e999')],
    ['one bad pool after good ones', stored(fine, { pools: [fine, { ...fine, instanceHours: null }] })],
  ])('is rejected with %s without any change', (_, text) => {
    const pools = new SpotPools(virtualClock());
    expect(() => pools.restore(text)).toThrow();
    expect(pools.all()).toEqual([]);
  });

  it('is limited if there are too many pools', () => {
    const many = Array.from({ length: 5_000 }, (_, at) => ({ ...fine, instanceType: `t.${at}` }));
    const pools = new SpotPools(virtualClock(Date.UTC(2026, 0, 1)));
    pools.restore(stored(fine, { pools: many }));
    expect(pools.all().length).toBeLessThanOrEqual(1_000);
  });
});
