/** Watches that stay open without data, and watches that the server refuses slowly. */
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import {
  ApiError,
  type KubeReader,
  type ListOptions,
  type WatchEvent,
  type WatchOptions,
} from '../../../src/kube/client.ts';
import { type ProcessInformers, startInformers } from '../../../src/kube/informers.ts';
import { watchAges, watchViews } from '../../../src/kube/watch-ages.ts';
import { virtualClock } from '../virtualclock.ts';
import { type Line, recordingLog, WIDGET, type Widget, widget } from './fakes.ts';

const SECOND = 1_000;
const RESOURCE = 'widgets.example.com';

/** A watch that is open. */
interface OpenWatch {
  readonly options: WatchOptions;
  readonly openedMs: number;
  send(event: WatchEvent<Widget>): void;
}

function start() {
  const clock = virtualClock();
  const { log, lines } = recordingLog();
  const stop = new AbortController();
  const watches: OpenWatch[] = [];
  const lists: number[] = [];
  const startMs = clock.now();
  const world = {
    clock,
    lines: lines as readonly Line[],
    watches,
    /** Seconds from the start until each list. */
    lists,
    stop,
    stored: [widget('a', 1)],
    /** If true, watches end after the requested time, as those of a real server. */
    ends: true,
    /** If set, the server refuses watches after this duration. */
    refusesAfterMs: undefined as number | undefined,
    seconds: () => (clock.now() - startMs) / SECOND,
    informers: undefined as unknown as ProcessInformers,
  };
  async function* watch(_: unknown, options: WatchOptions): AsyncGenerator<WatchEvent<Widget>> {
    if (world.refusesAfterMs !== undefined) {
      await clock.sleep(world.refusesAfterMs);
      throw new ApiError(403, 'Forbidden', 'no');
    }
    options.onOpen?.();
    const events: WatchEvent<Widget>[] = [];
    let wake: () => void = () => undefined;
    let isOver = false;
    const over = (): void => {
      isOver = true;
      wake();
    };
    options.signal.addEventListener('abort', over, { once: true });
    if (world.ends) clock.after((options.timeoutSeconds ?? 0) * SECOND, over);
    const send = (event: WatchEvent<Widget>): void => {
      events.push(event);
      wake();
    };
    watches.push({ options, openedMs: clock.now(), send });
    while (!isOver) {
      const next = events.shift();
      if (next !== undefined) yield next;
      else
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
    }
  }
  const client = {
    list: async (_kind: unknown, _options: ListOptions) => {
      lists.push(world.seconds());
      return { apiVersion: 'v1', kind: 'List', metadata: { resourceVersion: '5' }, items: world.stored };
    },
    watch,
  } as unknown as KubeReader;
  world.informers = startInformers({ client, clock, log, signal: stop.signal });
  return world;
}

let world: ReturnType<typeof start>;
beforeEach(() => {
  world = start();
});
afterEach(() => world.stop.abort());

const age = () => world.informers.watches()[0];

describe('a silent watch', () => {
  it('is opened again after a minute from the same version, then for a short time, then its objects are listed', async () => {
    world.ends = false;
    const store = world.informers.store(WIDGET);
    await world.clock.advance(0);
    expect(age()).toEqual({ resource: RESOURCE, ageMs: 0, isStale: false });
    await world.clock.advance(59 * SECOND);
    expect(world.watches).toHaveLength(1);
    await world.clock.advance(2 * SECOND);
    expect(world.watches.map(({ options }) => options.resourceVersion)).toEqual(['5', '5']);
    expect(world.watches[1]?.options.timeoutSeconds).toBe(5);
    expect(age()).toMatchObject({ isStale: true });
    world.stored = [widget('b', 7)];
    await world.clock.advance(15 * SECOND);
    expect(world.lists).toEqual([0, 75]);
    expect(store.list().map(({ metadata }) => metadata.name)).toEqual(['b']);
    // the list does not show that the next watch delivers
    expect(watchViews(world.informers)).toEqual([{ resource: RESOURCE, ageSeconds: 76, stale: true }]);
    expect(world.lines.map(({ message }) => message)).toContain('watches are silent, listing instead');
  });

  it('is listed once a minute while it stays silent, with one line in the log', async () => {
    world.ends = false;
    world.informers.store(WIDGET);
    await world.clock.advance(10 * 60 * SECOND);
    expect(world.lists.slice(0, 4)).toEqual([0, 75, 135, 195]);
    expect(world.lines.filter(({ message }) => message === 'watches are silent, listing instead')).toHaveLength(1);
  });

  it('is no longer stale after an event, a bookmark or an end', async () => {
    world.ends = false;
    world.informers.store(WIDGET);
    await world.clock.advance(80 * SECOND);
    expect(age()).toMatchObject({ isStale: true });
    world.watches.at(-1)?.send({ type: 'BOOKMARK', resourceVersion: '9' });
    await world.clock.advance(0);
    expect(age()).toEqual({ resource: RESOURCE, ageMs: 0, isStale: false });
    expect(world.lines.map(({ message }) => message)).toContain('watches are no longer silent');

    await world.clock.advance(80 * SECOND);
    expect(age()).toMatchObject({ isStale: true });
    world.ends = true;
    await world.clock.advance(140 * SECOND);
    expect(age()).toMatchObject({ isStale: false });
  });
});

describe('a watch of unchanged objects', () => {
  it('is never stale, and is not listed again, because the server ends it in time', async () => {
    world.informers.store(WIDGET);
    for (let second = 0; second < 3_600; second += 1) {
      await world.clock.advance(SECOND);
      expect(age()?.ageMs).toBeLessThan(52 * SECOND);
    }
    expect(world.lists).toEqual([0]);
    expect(world.watches.length).toBeLessThan(95);
    expect(world.lines).toEqual([]);
  });

  it('is not opened again while it delivers events', async () => {
    world.ends = false;
    world.informers.store(WIDGET);
    for (let version = 6; version < 20; version += 1) {
      await world.clock.advance(50 * SECOND);
      world.watches[0]?.send({ type: 'MODIFIED', object: widget('a', version) });
    }
    await world.clock.advance(50 * SECOND);
    expect(world.watches).toHaveLength(1);
  });
});

describe('a watch that the server refuses', () => {
  it.each([0, 1_500, 10_000])('is reported once until a watch is accepted, if each refusal takes %d ms', async (ms) => {
    world.refusesAfterMs = ms;
    world.informers.store(WIDGET);
    await world.clock.advance(120 * SECOND);
    const reports = world.lines.filter(({ level }) => level !== 'debug').map(({ message }) => message);
    expect(reports).toEqual(['failed watching, retrying']);
    world.refusesAfterMs = undefined;
    await world.clock.advance(20 * SECOND);
    expect(world.lines.at(-1)?.message).toBe('watching again');
  });
});

describe('a store that another request has shown to be outdated', () => {
  it('is listed immediately, and is stale until its watch delivers', async () => {
    const store = world.informers.store(WIDGET);
    await world.clock.advance(10 * SECOND);
    world.stored = [widget('b', 7)];
    world.informers.distrust(WIDGET);
    await world.clock.advance(0);
    expect(store.list().map(({ metadata }) => metadata.name)).toEqual(['b']);
    expect(age()).toMatchObject({ isStale: true });
    world.informers.distrust(WIDGET);
    await world.clock.advance(51 * SECOND);
    expect(world.lists).toEqual([0, 10]);
    expect(age()).toMatchObject({ isStale: false });
  });
});

it('reports the oldest watch of a resource that is read in several versions', () => {
  const watches = [1_000, 7_000, 2_000].map((ageMs) => ({ resource: RESOURCE, ageMs, isStale: false }));
  expect(watchAges({ watches: () => watches })).toEqual([{ labels: { resource: RESOURCE }, value: 7 }]);
});
