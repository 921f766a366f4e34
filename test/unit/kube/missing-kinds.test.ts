/** Kinds that the API server does not serve, or that must not be read, on a virtual clock. */
import { afterEach, describe, expect, it } from '@jest/globals';
import type { KubeList } from '#api/objects';
import { ApiError, type KubeReader, type StoreOptions, type WatchEvent } from '../../../src/kube/client.ts';
import { startInformers } from '../../../src/kube/informers.ts';
import { virtualClock } from '../virtualclock.ts';
import { recordingLog, WIDGET, type Widget, widget } from './fakes.ts';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const NOT_SERVED = new ApiError(404, 'NotFound', 'the server could not find the requested resource');
const FORBIDDEN = new ApiError(403, 'Forbidden', 'widgets is forbidden');

let stop = new AbortController();
afterEach(() => stop.abort());

function start(options: StoreOptions, failure: Error) {
  stop = new AbortController();
  const clock = virtualClock();
  const startMs = clock.now();
  const world = { clock, failure: failure as Error | undefined, lists: [] as number[] };
  async function* watch(_: unknown, { signal, onOpen }: { signal: AbortSignal; onOpen?: () => void }) {
    if (world.failure !== undefined) throw world.failure;
    onOpen?.();
    await clock.sleep(HOUR, signal);
    yield* [] as WatchEvent<Widget>[];
  }
  const list = async (): Promise<KubeList<Widget>> => {
    world.lists.push(clock.now() - startMs);
    if (world.failure !== undefined) throw world.failure;
    return {
      ...{ apiVersion: 'example.com/v1', kind: 'WidgetList' },
      metadata: { resourceVersion: '5' },
      items: [widget('a', 1)],
    };
  };
  const client = { list, watch } as unknown as KubeReader;
  const informers = startInformers({ client, clock, log: recordingLog().log, signal: stop.signal });
  return { ...world, world, informers, store: informers.store(WIDGET, {}, options) };
}

describe('a kind that is not served', () => {
  it.each<[string, StoreOptions, Error]>([
    ['an add-on', { isAddOn: true }, NOT_SERVED],
    ['a mandatory add-on', { isAddOn: true, optional: false }, NOT_SERVED],
    ['an optional kind', { optional: true }, NOT_SERVED],
    ['an optional kind that must not be read', { optional: true }, FORBIDDEN],
  ])('causes few requests as %s', async (_, options, failure) => {
    const { clock, lists } = start(options, failure);
    await clock.advance(5 * MINUTE);
    expect(lists.length).toBeLessThan(15);
    const early = lists.length;
    await clock.advance(HOUR);
    const gaps = lists.slice(early).map((at, index) => at - (lists[early + index - 1] ?? 0));
    expect(lists.length - early).toBeLessThanOrEqual(30);
    expect(Math.max(...gaps)).toBeLessThanOrEqual(2.2 * MINUTE);
    expect(new Set(gaps).size).toBeGreaterThan(1);
  });

  it('is read within two minutes and a tenth after it appears', async () => {
    const { clock, world, store } = start({ isAddOn: true }, NOT_SERVED);
    await clock.advance(HOUR);
    world.failure = undefined;
    await clock.advance(2.2 * MINUTE);
    expect(store.synced).toBe(true);
    expect(store.list()).toHaveLength(1);
  });

  it('is read soon if it appears soon', async () => {
    const { clock, world, store } = start({ isAddOn: true }, NOT_SERVED);
    await clock.advance(2 * SECOND);
    world.failure = undefined;
    await clock.advance(5 * SECOND);
    expect(store.synced).toBe(true);
  });

  it.each<[string, StoreOptions, Error]>([
    ['it is mandatory', {}, NOT_SERVED],
    ['a mandatory add-on must not be read', { isAddOn: true, optional: false }, FORBIDDEN],
  ])('is requested every few seconds if %s', async (_, options, failure) => {
    const { clock, lists } = start(options, failure);
    await clock.advance(10 * MINUTE);
    expect(lists.length).toBeGreaterThan(100);
  });
});
