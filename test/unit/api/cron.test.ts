import { describe, expect, it, jest } from '@jest/globals';
import { Cron } from 'croner';
import fc from 'fast-check';
import { nextHitMs } from '#engine/testing';
import { parseCron } from '../../../src/api/cron.ts';

/** A Wednesday. */
const FROM = new Date('2026-06-03T10:31:00Z');

const hits = (schedule: string, count = 4): readonly string[] =>
  parseCron(schedule)
    .nextRuns(count, FROM)
    .map((hit) => hit.toISOString().slice(5, 16));

describe('parseCron', () => {
  it.each([
    ['* * * * *', '06-03T10:32 06-03T10:33 06-03T10:34 06-03T10:35'],
    ['? ? ? ? ?', '06-03T10:32 06-03T10:33 06-03T10:34 06-03T10:35'],
    ['*/20 * * * *', '06-03T10:40 06-03T11:00 06-03T11:20 06-03T11:40'],
    // A value with a step continues to the end of the field and starts again there.
    ['0/15 * * * *', '06-03T10:45 06-03T11:00 06-03T11:15 06-03T11:30'],
    ['5/25 * * * *', '06-03T10:55 06-03T11:05 06-03T11:30 06-03T11:55'],
    ['0 9/12 * * *', '06-03T21:00 06-04T09:00 06-04T21:00 06-05T09:00'],
    ['0 0 1/10 * *', '06-11T00:00 06-21T00:00 07-01T00:00 07-11T00:00'],
    ['0 0 1 2/5 *', '07-01T00:00 12-01T00:00 02-01T00:00 07-01T00:00'],
    ['0 0 * * mon/4', '06-05T00:00 06-08T00:00 06-12T00:00 06-15T00:00'],
    // Steps may exceed the range of the field.
    ['*/90 * * * *', '06-03T11:00 06-03T12:00 06-03T13:00 06-03T14:00'],
    ['50/10,5 * * * *', '06-03T10:50 06-03T11:05 06-03T11:50 06-03T12:05'],
    ['10-40/15 3,22 * * *', '06-03T22:10 06-03T22:25 06-03T22:40 06-04T03:10'],
    ['05 09 * * *', '06-04T09:05 06-05T09:05 06-06T09:05 06-07T09:05'],
    ['0 9 * JAN,Feb Mon-wed', '01-04T09:00 01-05T09:00 01-06T09:00 01-11T09:00'],
    ['0 0 * * 0', '06-07T00:00 06-14T00:00 06-21T00:00 06-28T00:00'],
    ['0 0 * * sun', '06-07T00:00 06-14T00:00 06-21T00:00 06-28T00:00'],
    ['  0  0\t* * 6 ', '06-06T00:00 06-13T00:00 06-20T00:00 06-27T00:00'],
    ['@weekly', '06-07T00:00 06-14T00:00 06-21T00:00 06-28T00:00'],
    // Either day matches if both are restricted.
    ['0 0 5 * 1', '06-05T00:00 06-08T00:00 06-15T00:00 06-22T00:00'],
    ['0 0 */10 * 1', '06-08T00:00 06-11T00:00 06-15T00:00 06-21T00:00'],
    ['0 0 5 * 0-6', '06-04T00:00 06-05T00:00 06-06T00:00 06-07T00:00'],
    // Both must match if one of them is unrestricted.
    ['0 0 ? * 1', '06-08T00:00 06-15T00:00 06-22T00:00 06-29T00:00'],
    ['0 0 */1 * 1', '06-08T00:00 06-15T00:00 06-22T00:00 06-29T00:00'],
    ['0 0 *,5 * 1', '06-08T00:00 06-15T00:00 06-22T00:00 06-29T00:00'],
    ['0 0 5 * ?', '06-05T00:00 07-05T00:00 08-05T00:00 09-05T00:00'],
  ])('parses %j: %s', (schedule, expected) => {
    expect(hits(schedule).join(' ')).toBe(expected);
  });

  it('never starts on a day that does not exist in the calendar', () => {
    expect(hits('0 0 30 2 *')).toEqual([]);
  });

  it.each([
    ['/10 * * * *', 'a minute within 0-59, not "/10"'],
    ['60 * * * *', 'a minute within 0-59, not "60"'],
    ['*/0 * * * *', 'a minute within 0-59, not "*/0"'],
    ['30-10 * * * *', 'a minute within 0-59, not "30-10"'],
    ['1-2-3 * * * *', 'a minute within 0-59, not "1-2-3"'],
    ['-5 * * * *', 'a minute within 0-59, not "-5"'],
    ['5- * * * *', 'a minute within 0-59, not "5-"'],
    ['5/ * * * *', 'a minute within 0-59, not "5/"'],
    ['*/5/2 * * * *', 'a minute within 0-59, not "*/5/2"'],
    ['*-5 * * * *', 'a minute within 0-59, not "*-5"'],
    ['0,,5 * * * *', 'a minute within 0-59, not ""'],
    ['1.5 * * * *', 'a minute within 0-59, not "1.5"'],
    ['1e1 * * * *', 'a minute within 0-59, not "1e1"'],
    ['jan * * * *', 'a minute within 0-59, not "jan"'],
    ['0 24 * * *', 'an hour within 0-23, not "24"'],
    ['0 0 0 * *', 'a day of the month within 1-31, not "0"'],
    ['0 0 L * *', 'a day of the month within 1-31, not "L"'],
    ['0 0 15W * *', 'a day of the month within 1-31, not "15W"'],
    ['0 0 * 13 *', 'a month within 1-12 or jan-dec, not "13"'],
    ['0 0 * January *', 'a month within 1-12 or jan-dec, not "January"'],
    ['0 0 * mon *', 'a month within 1-12 or jan-dec, not "mon"'],
    ['0 0 * * 7', 'a day of the week within 0-6 or sun-sat, not "7"'],
    ['0 0 * * 5-7', 'a day of the week within 0-6 or sun-sat, not "5-7"'],
    ['0 0 * * mon-sun', 'a day of the week within 0-6 or sun-sat, not "mon-sun"'],
    ['0 0 * * 1#2', 'a day of the week within 0-6 or sun-sat, not "1#2"'],
    ['0 0 * * 5L', 'a day of the week within 0-6 or sun-sat, not "5L"'],
    ['0 0 1 * +1', 'a day of the week within 0-6 or sun-sat, not "+1"'],
    ['', 'five fields or a shortcut such as @daily'],
    ['0 9 * *', 'five fields or a shortcut such as @daily'],
    ['0 0 9 * * *', 'five fields or a shortcut such as @daily'],
    ['CRON_TZ=Europe/Berlin 0 9 * * *', 'five fields or a shortcut such as @daily'],
    ['@daily please', 'five fields or a shortcut such as @daily'],
    ['@every 1h', 'five fields or a shortcut such as @daily'],
  ])('rejects %j: expected %s', (schedule, expected) => {
    expect(() => parseCron(schedule)).toThrow(
      expect.objectContaining({ message: `invalid cron schedule "${schedule}", expected ${expected}` }),
    );
  });

  it('starts at every step of a range and at no other minute', () => {
    const minute = fc.integer({ min: 0, max: 59 });
    fc.assert(
      fc.property(minute, minute, fc.integer({ min: 1, max: 70 }), (one, other, step) => {
        const [first, last] = [Math.min(one, other), Math.max(one, other)];
        const expected = Array.from({ length: 60 }, (_, at) => at).filter(
          (at) => at >= first && at <= last && (at - first) % step === 0,
        );
        const found = parseCron(`${first}-${last}/${step} 11 * * *`).nextRuns(expected.length, FROM);
        expect(found.map((hit) => hit.getUTCMinutes())).toEqual(expected);
        expect(found.every((hit) => hit.getUTCDate() === 3)).toBe(true);
      }),
      { numRuns: 50 },
    );
  });
});

describe('the next start', () => {
  it('is the next start of the schedule, independent of earlier calls', () => {
    const schedule = '*/20 9 * * *';
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: 3 * 24 * 3_600 }), { minLength: 1 }), (seconds) => {
        for (const each of seconds) {
          const fromMs = FROM.getTime() + each * 1_000;
          const expected = parseCron(schedule).nextRun(new Date(fromMs))?.getTime();
          expect(nextHitMs(schedule, fromMs)).toBe(expected);
          expect(nextHitMs(schedule, (expected ?? 0) - 1_000)).toBe(expected);
        }
      }),
      { numRuns: 30 },
    );
  });

  it('is searched once if there is none', () => {
    const searches = jest.spyOn(Cron.prototype, 'nextRun');
    const before = searches.mock.calls.length;
    for (let minute = 0; minute < 500; minute++)
      expect(nextHitMs('7 7 30 2 *', FROM.getTime() + minute * 60_000)).toBe(Number.POSITIVE_INFINITY);
    expect(searches.mock.calls.length - before).toBe(1);
    searches.mockRestore();
  });
});
