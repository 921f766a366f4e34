import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { KubeEvent } from '#api/objects';
import { limiter } from '#lib/clock';
import { backOffMs } from '../../../src/kube/backoff.ts';
import { ApiError, type KubeClient, type Ref } from '../../../src/kube/client.ts';
import type { EventNote } from '../../../src/kube/events.ts';
import { eventRecorder } from '../../../src/kube/recorder.ts';
import { present } from '../../support/present.ts';
import { settableClock, virtualClock } from '../virtualclock.ts';
import { recordingLog, widget } from './fakes.ts';

describe('backOffMs', () => {
  it.each([
    { failures: 0, ms: 5 },
    { failures: 1, ms: 10 },
    { failures: 10, ms: 5_120 },
    { failures: 1_000, ms: 1_000_000 },
  ])('waits $ms ms after $failures failures', ({ failures, ms }) => {
    expect(backOffMs({ baseMs: 5, maxMs: 1_000_000 }, failures, () => 0)).toBe(ms);
  });

  it('adds less than a tenth', () => {
    fc.assert(
      fc.property(fc.nat(100), fc.double({ min: 0, max: 0.999, noNaN: true }), (failures, random) => {
        const backOff = { baseMs: 100, maxMs: 10_000 };
        const bare = backOffMs(backOff, failures, () => 0);
        const waited = backOffMs(backOff, failures, () => random);
        return waited >= bare && waited < bare * 1.1;
      }),
    );
  });
});

describe('limiter', () => {
  it('lets a burst through, then one per interval, in order', async () => {
    const clock = virtualClock();
    const start = clock.now();
    const bucket = limiter(clock, 2, 3);
    const times: number[] = [];
    for (let index = 0; index < 6; index += 1) void bucket.take().then(() => times.push(clock.now() - start));
    await clock.advance(5_000);
    expect(times).toEqual([0, 0, 0, 500, 1_000, 1_500]);
  });

  it('never exceeds its rate', async () => {
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 1, max: 50 }), fc.integer({ min: 1, max: 20 }), async (qps, burst) => {
        const clock = virtualClock();
        const bucket = limiter(clock, qps, burst);
        let taken = 0;
        for (let step = 0; step < 40; step += 1) {
          while (bucket.tryTake()) taken += 1;
          await clock.advance(100);
        }
        expect(taken).toBeLessThanOrEqual(burst + (qps * 4_000) / 1_000);
        expect(taken).toBeGreaterThanOrEqual(Math.min(burst, qps));
      }),
      { numRuns: 10 },
    );
  });

  it('keeps its rate if the clock is set', async () => {
    const clock = settableClock();
    const bucket = limiter(clock, 1, 1);
    expect(bucket.tryTake()).toBe(true);
    clock.put(3_600_000);
    expect(bucket.tryTake()).toBe(false);
    clock.put(-7_200_000);
    await clock.advance(1_000);
    expect(bucket.tryTake()).toBe(true);
  });

  it('is unlimited at zero', () => {
    const bucket = limiter(virtualClock(), 0, 0);
    expect(Array.from({ length: 1_000 }, () => bucket.tryTake()).every(Boolean)).toBe(true);
  });
});

describe('eventRecorder', () => {
  const object = widget('a', 1);
  const note = { object, type: 'Normal', reason: 'Evicted', message: 'Evicted pod: ' } as const;

  function recorder(create: (event: KubeEvent) => Promise<KubeEvent> = async (event) => event) {
    const clock = settableClock();
    const posted: KubeEvent[] = [];
    const counted: unknown[] = [];
    const gone = new Set<string>();
    const client = {
      create: async (_: unknown, event: KubeEvent) => {
        const answer = await create(event);
        posted.push(event);
        return answer;
      },
      patch: async (_: unknown, { name }: Ref, patch: object) => {
        if (gone.has(name)) throw new ApiError(404, 'NotFound', 'expired');
        counted.push({ name, ...patch });
      },
    } as unknown as KubeClient;
    const { log, lines } = recordingLog();
    return { clock, posted, counted, gone, lines, events: eventRecorder({ client, clock, log }) };
  }

  it('drops repetitions of a key, also for other objects, until the window has passed', async () => {
    const { clock, events, posted, counted } = recorder();
    const other = { ...note, object: widget('b', 1) };
    events.publish({ ...note, dedupe: ['x'] }, { ...other, dedupe: ['x'] });
    await clock.advance(119_000);
    events.publish({ ...note, dedupe: ['x'] });
    await clock.advance(2_000);
    events.publish({ ...note, dedupe: ['x'], windowMs: 1_000 });
    await clock.advance(1_000);
    events.publish({ ...note, dedupe: ['x'] });
    await clock.settle();
    expect(posted.length + counted.length).toBe(3);
  });

  it('repeats a lasting event ever more rarely, but before it expires, and a changed message after the window', async () => {
    const { clock, events, posted, counted } = recorder();
    const count = async (minutes: number, message: string): Promise<number> => {
      const before = posted.length + counted.length;
      for (let minute = 0; minute < minutes; minute += 1) {
        events.publish({ ...note, message, dedupe: ['x'], isLasting: true });
        await clock.advance(60_000);
      }
      return posted.length + counted.length - before;
    };
    // after 0, 4, 12, 28, 60 and 105 minutes
    expect(await count(149, 'a')).toBe(6);
    expect(await count(1, 'b')).toBe(1);
    expect(await count(2, 'a')).toBe(1);
    expect(await count(600, 'a')).toBeGreaterThanOrEqual(600 / 45);
  });

  it('creates valid event names for objects with names of the maximum length', async () => {
    const { clock, events, posted } = recorder();
    events.publish({ ...note, object: widget(`${'a.'.repeat(126)}b`, 1) });
    await clock.settle();
    const name = present(posted[0]?.metadata.name);
    expect(name.length).toBeLessThanOrEqual(253);
    expect(name).toMatch(/^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/);
  });

  it('drops them for no longer if the clock is set back in the meantime', async () => {
    const { clock, events, posted, counted } = recorder();
    const say = async (): Promise<number> => {
      events.publish({ ...note, dedupe: ['x'] });
      await clock.settle();
      return posted.length + counted.length;
    };
    expect(await say()).toBe(1);
    clock.put(-3_600_000);
    await clock.advance(119_000);
    expect(await say()).toBe(1);
    await clock.advance(2_000);
    expect(await say()).toBe(2);
  });

  it('counts repetitions for an object, and creates a new event after the old one has expired', async () => {
    const { clock, events, posted, counted, gone } = recorder();
    const say = async (...notes: readonly EventNote[]): Promise<void> => {
      events.publish(...notes);
      await clock.advance(60_000);
    };
    await say(note);
    await say(note, { ...note, message: 'Evicted pod: Drifted' }, { ...note, object: widget('b', 1) });
    await say(note);
    const [first] = posted;
    if (first === undefined) throw new Error('nothing was posted');
    const { metadata, firstTimestamp = '' } = first;
    const later = (minutes: number): string =>
      new Date(Date.parse(firstTimestamp) + minutes * 60_000).toISOString().replace('.000', '');
    expect(counted).toEqual([
      { name: metadata.name, count: 2, lastTimestamp: later(1) },
      { name: metadata.name, count: 3, lastTimestamp: later(2) },
    ]);
    gone.add(metadata.name);
    await say(note);
    await say(note);
    expect(posted.map(({ count }) => count)).toEqual([1, 1, 1, 1]);
    expect(new Set(posted.map((event) => event.metadata.name)).size).toBe(4);
    expect(counted.slice(2)).toMatchObject([{ name: posted[3]?.metadata.name, count: 2 }]);
  });

  it('checks the key before the rate limit, so an event without a token is not sent later', async () => {
    const { clock, events, posted } = recorder();
    const limit = { name: 'nominations', qps: 1, burst: 1 };
    events.publish({ ...note, dedupe: ['1'], limit }, { ...note, dedupe: ['2'], limit });
    await clock.advance(2_000);
    events.publish({ ...note, dedupe: ['2'], limit });
    await clock.settle();
    expect(posted).toHaveLength(1);
  });

  it('reports failures once and continues', async () => {
    let isDown = true;
    const { clock, events, lines, posted } = recorder(async (event) => {
      if (isDown) throw new Error('connection refused');
      return event;
    });
    events.publish(note, note, note);
    await clock.settle();
    isDown = false;
    events.publish(note);
    await clock.settle();
    expect(posted).toHaveLength(1);
    expect(lines.map(({ level, message }) => `${level} ${message}`)).toEqual([
      'error failed recording event',
      'info recording events again',
    ]);
  });

  it('posts the next repetition of an event that could not be posted, but not of a rejected one', async () => {
    const errors = [new Error('connection refused'), new ApiError(503, '', 'no storage'), new ApiError(422, '', 'no')];
    const { clock, events, posted } = recorder(async (event) => {
      const error = errors.shift();
      if (error) throw error;
      return event;
    });
    for (let pass = 0; pass < 5; pass += 1) {
      events.publish({ ...note, dedupe: ['x'] });
      await clock.settle();
    }
    expect([errors.length, posted.length]).toEqual([0, 0]);
    await clock.advance(121_000);
    events.publish({ ...note, dedupe: ['x'] });
    await clock.settle();
    expect(posted).toHaveLength(1);
  });

  it('posts the next repetition of an event that found no place in the queue', async () => {
    const { clock, events, posted, counted } = recorder();
    const notes = Array.from({ length: 1_010 }, (_, i) => ({ ...note, dedupe: [`${i}`] }));
    events.publish(...notes);
    await clock.settle();
    expect(posted.length + counted.length).toBeLessThan(1_010);
    events.publish(...notes);
    await clock.settle();
    expect(posted.length + counted.length).toBe(1_010);
  });

  it('stops flushing after the grace period', async () => {
    const { clock, events } = recorder(() => new Promise(() => undefined));
    events.publish(note);
    let isStopped = false;
    const stopping = events.stop(1_000).then(() => {
      isStopped = true;
    });
    await clock.advance(999);
    expect(isStopped).toBe(false);
    await clock.advance(2);
    await stopping;
  });
});
