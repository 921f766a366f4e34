import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { limiter } from '#lib/clock';
import { type QueueResult, WorkQueue } from '../../../src/kube/queue.ts';
import { heapUsed } from '../../support/heap.ts';
import { type VirtualClock, virtualClock } from '../virtualclock.ts';

const meter = { added() {}, started() {}, finished() {}, retried() {} };
const done: QueueResult = { kind: 'done' };
const retry: QueueResult = { kind: 'retry' };

function queueWith(
  work: (key: string) => Promise<QueueResult>,
  {
    concurrency = 1,
    clock = virtualClock(),
    qps = 0,
  }: { concurrency?: number; clock?: VirtualClock; qps?: number } = {},
): { queue: WorkQueue; clock: VirtualClock } {
  const queue = new WorkQueue({
    clock,
    concurrency,
    backOff: { baseMs: 100, maxMs: 1_000 },
    retries: limiter(clock, qps, 1),
    work,
    meter,
    random: () => 0,
  });
  return { queue, clock };
}

/** Work that a test completes. */
function held(): {
  work: (key: string) => Promise<QueueResult>;
  finish: (verdict?: QueueResult) => void;
  begun: string[];
} {
  const begun: string[] = [];
  const pending: ((verdict: QueueResult) => void)[] = [];
  return {
    begun,
    work: (key) => {
      begun.push(key);
      return new Promise((resolve) => pending.push(resolve));
    },
    finish: (verdict = done) => pending.shift()?.(verdict),
  };
}

describe('WorkQueue', () => {
  it('processes a key once that was added several times before it started', async () => {
    const { work, begun } = held();
    const { queue, clock } = queueWith(work);
    queue.add('a');
    queue.add('a');
    queue.add('b');
    queue.start();
    await clock.settle();
    expect(begun).toEqual(['a']);
    expect(queue.depth).toBe(1);
  });

  it('processes a key again, but not at the same time, if it is added while it is processed', async () => {
    const { work, begun, finish } = held();
    const { queue, clock } = queueWith(work, { concurrency: 5 });
    queue.start();
    queue.add('a');
    await clock.settle();
    queue.add('a');
    queue.add('a');
    await clock.settle();
    expect(begun).toEqual(['a']);
    finish();
    await clock.settle();
    expect(begun).toEqual(['a', 'a']);
    finish();
    await clock.settle();
    expect(begun).toEqual(['a', 'a']);
  });

  it('processes at most as many keys as its concurrency, in order of arrival', async () => {
    const { work, begun, finish } = held();
    const { queue, clock } = queueWith(work, { concurrency: 2 });
    queue.start();
    for (const key of ['a', 'b', 'c', 'd']) queue.add(key);
    await clock.settle();
    expect(begun).toEqual(['a', 'b']);
    finish();
    await clock.settle();
    expect(begun).toEqual(['a', 'b', 'c']);
  });

  it('keeps the earlier of two times, and drops the time if the key is added without a delay', async () => {
    const times: number[] = [];
    const { queue, clock } = queueWith(async () => {
      times.push(clock.now() - start);
      return done;
    });
    const start = clock.now();
    queue.start();
    queue.addAfter('a', 500);
    queue.addAfter('a', 200);
    queue.addAfter('a', 900);
    await clock.advance(1_000);
    expect(times).toEqual([200]);
    queue.addAfter('a', 100);
    queue.add('a');
    await clock.advance(1_000);
    expect(times).toEqual([200, 1_000]);
    expect(clock.waiting).toBe(0);
  });

  it('processes delayed keys in order of their times, with one timer for all of them', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(fc.nat(30), fc.integer({ min: 1, max: 500 })), { maxLength: 120 }),
        async (adds) => {
          const [processed, expected] = [new Map<string, number>(), new Map<string, number>()];
          const { queue, clock } = queueWith(async (key) => {
            processed.set(key, clock.now() - start);
            return done;
          });
          const start = clock.now();
          queue.start();
          for (const [number, waitMs] of adds) {
            queue.addAfter(`${number}`, waitMs);
            expected.set(`${number}`, Math.min(waitMs, expected.get(`${number}`) ?? waitMs));
          }
          await clock.settle();
          expect(clock.waiting).toBe(Math.min(1, adds.length));
          await clock.advance(500);
          expect(processed).toEqual(expected);
          expect([...processed.values()]).toEqual([...processed.values()].sort((a, b) => a - b));
          expect(clock.waiting).toBe(0);
        },
      ),
    );
  });

  it('keeps few outdated delays of keys that are added again and again', async () => {
    const { queue, clock } = queueWith(async () => done);
    queue.start();
    const before = heapUsed();
    for (let round = 0; round < 100_000; round += 1) {
      queue.addAfter('a', 3_600_000);
      queue.add('a');
      if (round % 1_000 === 0) await clock.settle();
    }
    await clock.settle();
    expect(heapUsed() - before).toBeLessThan(1_000_000);
    await queue.stop();
    expect(clock.waiting).toBe(0);
  });

  it('backs off exponentially up to the maximum and starts over after a success', async () => {
    const times: number[] = [];
    const verdicts = [retry, retry, retry, retry, retry, { kind: 'again', waitMs: 50 } as const, retry, done];
    const { queue, clock } = queueWith(async () => {
      times.push(clock.now() - start);
      return verdicts[times.length - 1] ?? done;
    });
    const start = clock.now();
    queue.start();
    queue.add('a');
    await clock.advance(10_000);
    const gaps = times.slice(1).map((time, index) => time - (times[index] ?? 0));
    expect(gaps).toEqual([100, 200, 400, 800, 1_000, 50, 100]);
  });

  it('shares the rate of retries between all keys', async () => {
    const times: number[] = [];
    const failedOnce = new Set<string>();
    const { queue, clock } = queueWith(
      async (key) => {
        if (failedOnce.has(key)) {
          times.push(clock.now() - start);
          return done;
        }
        failedOnce.add(key);
        return retry;
      },
      { concurrency: 3, qps: 1 },
    );
    const start = clock.now();
    queue.start();
    for (const key of ['a', 'b', 'c']) queue.add(key);
    await clock.advance(5_000);
    expect(times).toEqual([100, 1_000, 2_000]);
  });

  it('completes running work when it stops, and starts no other work', async () => {
    const { work, begun, finish } = held();
    const { queue, clock } = queueWith(work);
    queue.start();
    queue.add('a');
    queue.add('b');
    queue.addAfter('c', 10);
    await clock.settle();
    let isStopped = false;
    const stopping = queue.stop().then(() => {
      isStopped = true;
    });
    queue.add('d');
    await clock.advance(100);
    expect(isStopped).toBe(false);
    finish(retry);
    await stopping;
    await clock.advance(10_000);
    expect(begun).toEqual(['a']);
    expect(clock.waiting).toBe(0);
  });
});
