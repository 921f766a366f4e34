import { describe, expect, it } from '@jest/globals';
import type { Clock } from '#lib/clock';
import { RequestBatcher } from '../../../src/aws/request-batcher.ts';

/** A clock that the test advances. */
function manualClock() {
  let now = 0;
  let timers: { at: number; fire: () => void }[] = [];
  const clock: Clock = {
    now: () => now,
    sleep: async () => undefined,
    after: (ms, fire) => {
      const timer = { at: now + ms, fire };
      timers.push(timer);
      return () => {
        timers = timers.filter((each) => each !== timer);
      };
    },
  };
  const advance = (ms: number): void => {
    now += ms;
    const due = timers.filter(({ at }) => at <= now);
    timers = timers.filter(({ at }) => at > now);
    for (const { fire } of due) fire();
  };
  return { clock, advance };
}

function batcherOf(maxItems = 100) {
  const { clock, advance } = manualClock();
  const calls: (readonly string[])[] = [];
  const batcher = new RequestBatcher<string, string>({
    name: 'test',
    clock,
    idleMs: 35,
    maxMs: 1000,
    maxItems,
    bucket: (input) => input.slice(0, 1),
    run: async (inputs) => {
      calls.push(inputs);
      if (inputs.includes('a!')) throw new Error('refused');
      return inputs.map((input) => ({ status: 'fulfilled', value: input.toUpperCase() }));
    },
  });
  return { batcher, advance, calls };
}

describe('Batcher', () => {
  it('combines requests that arrive before the silence, by bucket', async () => {
    const { batcher, advance, calls } = batcherOf();
    const answers = Promise.all(['a1', 'b1', 'a2'].map((input) => batcher.add(input)));
    advance(34);
    expect(calls).toEqual([]);
    advance(1);
    expect(await answers).toEqual(['A1', 'B1', 'A2']);
    expect(calls).toHaveLength(2);
    expect(calls).toEqual(expect.arrayContaining([['a1', 'a2'], ['b1']]));
  });

  it('does not wait longer than the maximum while requests keep coming', async () => {
    const { batcher, advance, calls } = batcherOf();
    const answers: Promise<string>[] = [];
    for (let at = 0; at < 1000; at += 20) {
      answers.push(batcher.add(`a${at}`));
      advance(20);
    }
    await Promise.all(answers);
    expect(calls).toHaveLength(1);
  });

  it('closes at the number of items', async () => {
    const { batcher, calls } = batcherOf(2);
    await Promise.all([batcher.add('a1'), batcher.add('a2')]);
    expect(calls).toEqual([['a1', 'a2']]);
  });

  it('passes a failure to all requests in the bucket and to no other requests', async () => {
    const { batcher, advance } = batcherOf();
    const results = Promise.allSettled(['a!', 'a2', 'b1'].map((input) => batcher.add(input)));
    advance(35);
    expect((await results).map(({ status }) => status)).toEqual(['rejected', 'rejected', 'fulfilled']);
  });
});
