import type { ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { steadyClock } from '#lib/clock';
import type { Store } from '../../../src/kube/client.ts';
import { openFence } from '../../../src/kube/fence.ts';
import { connect, type HttpKubeClient } from '../../../src/kube/http.ts';
import { type ProcessInformers, startInformers } from '../../../src/kube/informers.ts';
import { type Line, recordingLog, WIDGET, type Widget, widget } from './fakes.ts';
import { type Answer, hangUp, json, type ScriptedServer, scriptedServer, status } from './scriptedserver.ts';

// a silence of a minute takes 600 ms, longer than each test needs
const clock = steadyClock(100);
let server: ScriptedServer;
let client: HttpKubeClient;
let informers: ProcessInformers;
let stop: AbortController;
let lines: readonly Line[];

beforeEach(async () => {
  server = await scriptedServer();
  client = connect({ fence: openFence(), url: server.url, clock });
  stop = new AbortController();
  const recording = recordingLog();
  lines = recording.lines;
  informers = startInformers({ client, clock, log: recording.log, signal: stop.signal });
});

afterEach(async () => {
  stop.abort();
  client.close();
  await server.close();
});

const page = (version: number, ...items: readonly Widget[]): Answer =>
  json({ metadata: { resourceVersion: String(version) }, items });

/** A watch that the test drives; it stays open until the test ends it. */
function openWatch(): { answer: Answer; send(type: string, object: unknown): void; end(): void; break(): void } {
  let open: ServerResponse | undefined;
  const early: string[] = [];
  const send = (type: string, object: unknown): void => {
    const line = `${JSON.stringify({ type, object })}\n`;
    if (open) open.write(line);
    else early.push(line);
  };
  return {
    answer: (_, response) => {
      open = response;
      response.writeHead(200).flushHeaders();
      for (const line of early) response.write(line);
    },
    send,
    end: () => open?.end(),
    break: () => open?.destroy(),
  };
}

function track(store: Store<Widget>): string[] {
  const events: string[] = [];
  store.subscribe((event, { metadata }, before) => {
    const from = event === 'updated' ? `${before?.metadata.resourceVersion}→` : '';
    events.push(`${event} ${metadata.name}@${from}${metadata.resourceVersion}`);
  });
  return events;
}

async function until(condition: () => boolean): Promise<void> {
  for (let tries = 0; !condition(); tries += 1) {
    if (tries > 500) throw new Error('it did not happen in time');
    await sleep(4);
  }
}

describe('an informer', () => {
  it('lists, then watches from the version of the list', async () => {
    const watch = openWatch();
    server.script(page(5, widget('a', 1), widget('b', 2)), watch.answer);
    const store = informers.store(WIDGET);
    const events = track(store);
    await informers.synced();
    expect(store.synced).toBe(true);
    watch.send('ADDED', widget('c', 6));
    watch.send('MODIFIED', widget('a', 7));
    watch.send('DELETED', widget('b', 8));
    await until(() => events.length === 5);
    expect(events).toEqual(['added a@1', 'added b@2', 'added c@6', 'updated a@1→7', 'deleted b@8']);
    expect(server.seen[1]?.query.get('resourceVersion')).toBe('5');
    expect(store.list().map(({ metadata }) => metadata.name)).toEqual(['a', 'c']);
    expect(store.get({ name: 'b' })).toBeUndefined();
  });

  it('is named until its first list is complete', async () => {
    const listing = Promise.withResolvers<void>();
    server.script(async (...exchange) => {
      await listing.promise;
      await page(5)(...exchange);
    }, openWatch().answer);
    informers.store(WIDGET);
    expect(informers.unsynced()).toEqual([`${WIDGET.plural}.${WIDGET.group}`]);
    listing.resolve();
    await informers.synced();
    expect(informers.unsynced()).toEqual([]);
  });

  it('sends existing objects to late subscribers', async () => {
    server.script(page(5, widget('a', 1)), openWatch().answer);
    const store = informers.store(WIDGET);
    await informers.synced();
    expect(track(store)).toEqual(['added a@1']);
  });

  it('maintains indexes, also indexes that are added later', async () => {
    const watch = openWatch();
    server.script(page(5, widget('a', 1, 'red'), widget('b', 2, 'red'), widget('c', 3)), watch.answer);
    const store = informers.store(WIDGET, { color: ({ spec }) => (spec?.color ? [spec.color] : []) });
    const events = track(store);
    await informers.synced();
    informers.store(WIDGET, { initial: ({ metadata }) => [metadata.name[0] ?? ''] });
    watch.send('MODIFIED', widget('a', 6, 'blue'));
    await until(() => events.length === 4);
    const names = (index: string, value: string) => store.byIndex(index, value).map(({ metadata }) => metadata.name);
    expect(names('color', 'red')).toEqual(['b']);
    expect(names('color', 'blue')).toEqual(['a']);
    expect(names('color', 'green')).toEqual([]);
    expect(names('initial', 'c')).toEqual(['c']);
    expect(() => store.byIndex('size', 'big')).toThrow('Cannot look up widgets by "size"');
  });

  it.each([
    'end',
    'break',
  ] as const)('continues from the last observed resource version if the watch has an %s', async (how) => {
    const [first, second] = [openWatch(), openWatch()];
    server.script(page(5, widget('a', 1)), first.answer, second.answer);
    const events = track(informers.store(WIDGET));
    await informers.synced();
    first.send('ADDED', widget('b', 6));
    first.send('BOOKMARK', { metadata: { resourceVersion: '9' } });
    await until(() => events.length === 2);
    await sleep(30);
    first[how]();
    // A server may send the same event again.
    second.send('ADDED', widget('b', 6));
    second.send('ADDED', widget('c', 10));
    await until(() => events.length === 3);
    expect(events).toEqual(['added a@1', 'added b@6', 'added c@10']);
    expect(server.seen[2]?.query.get('resourceVersion')).toBe('9');
  });

  it.each([
    {
      when: 'as an event',
      expire: (watch: ReturnType<typeof openWatch>) => watch.send('ERROR', { code: 410, reason: 'Expired' }),
    },
    { when: 'as the answer to the next watch', expire: (watch: ReturnType<typeof openWatch>) => watch.end() },
  ])('lists again after the history expired $when, and publishes only differences', async ({ expire, when }) => {
    const [first, second] = [openWatch(), openWatch()];
    const again = page(20, widget('a', 1), widget('b', 15), widget('c', 3, undefined, 'successor'), widget('e', 16));
    const refusal = when === 'as an event' ? [] : [status(410, 'Expired', 'too old')];
    server.script(
      page(5, widget('a', 1), widget('b', 2), widget('c', 3), widget('d', 4)),
      first.answer,
      ...refusal,
      again,
      second.answer,
    );
    const events = track(informers.store(WIDGET));
    await informers.synced();
    first.send('BOOKMARK', { metadata: { resourceVersion: '6' } });
    await until(() => server.seen.length === 2);
    await sleep(30);
    expire(first);
    second.send('ADDED', widget('f', 21));
    await until(() => events.some((event) => event.startsWith('added f')));
    expect(events.slice(4)).toEqual([
      'deleted d@4',
      'updated b@2→15',
      'deleted c@3',
      'added c@3',
      'added e@16',
      'added f@21',
    ]);
    expect(server.seen.at(-1)?.query.get('resourceVersion')).toBe('20');
    expect(lines.filter(({ level }) => level !== 'debug')).toEqual([]);
  });

  it('reads long lists in pages, and in one request if the pages expire', async () => {
    server.script(
      json({ metadata: { resourceVersion: '5', continue: 'two' }, items: [widget('a', 1)] }),
      status(410, 'Expired', 'the continue token is too old'),
      page(6, widget('a', 1), widget('b', 2)),
      openWatch().answer,
    );
    const store = informers.store(WIDGET);
    await informers.synced();
    expect(store.list()).toHaveLength(2);
    expect(server.seen[2]?.query.has('limit')).toBe(false);
  });

  it('reads smaller pages if objects are large, and larger pages again afterwards', async () => {
    const large = (name: string) => ({ ...widget(name, 1), text: 'x'.repeat(2 ** 20) });
    const all = [
      ...Array.from({ length: 30 }, (_, at) => large(`l${at}`)),
      ...Array.from({ length: 30 }, (_, at) => widget(`s${at}`, 1)),
    ];
    const watch = openWatch();
    server.script((seen, response) => {
      if (seen.query.has('watch')) return watch.answer(seen, response);
      const from = Number(seen.query.get('continue') ?? 0);
      const to = from + Number(seen.query.get('limit'));
      const metadata = { resourceVersion: '5', ...(to < all.length ? { continue: String(to) } : {}) };
      return json({ metadata, items: all.slice(from, to) })(seen, response);
    });
    const store = informers.store(WIDGET);
    await informers.synced();
    expect(store.list()).toHaveLength(60);
    const limits = server.seen.filter(({ query }) => query.has('limit')).map(({ query }) => Number(query.get('limit')));
    // Each page has at most 8 MiB.
    expect(limits.slice(0, 7)).toEqual([500, 62, 7, 7, 7, 7, 7]);
    expect(limits.at(-1)).toBeGreaterThan(7);
    expect(lines.filter(({ level }) => level === 'error')).toEqual([]);
  });

  it('keeps trying a kind that cannot be listed, and reports the remedy once', async () => {
    const forbidden = status(403, 'Forbidden', 'widgets is forbidden');
    server.script(forbidden, forbidden, hangUp, page(5, widget('a', 1)), openWatch().answer);
    const store = informers.store(WIDGET);
    await informers.synced();
    expect(store.list()).toHaveLength(1);
    const errors = lines.filter(({ level }) => level === 'error');
    expect(errors).toHaveLength(1);
    expect(errors[0]).toMatchObject({
      message: 'failed listing, retrying',
      fields: { kind: 'Widget', remedy: 'allow the service account to get, list and watch widgets.example.com' },
    });
    expect(lines.some(({ message }) => message === 'listing again')).toBe(true);
  });

  it('waits for an add-on that is served and must be readable, and not for one that is not served', async () => {
    const gate = Promise.withResolvers<void>();
    const notServed = status(404, 'NotFound', 'the server could not find the requested resource');
    server.script(status(403, 'Forbidden', 'widgets is forbidden'), async (seen, response) => {
      await gate.promise;
      return notServed(seen, response);
    });
    informers.store(WIDGET, {}, { isAddOn: true, optional: false });
    while (server.seen.length < 2) await sleep(1);
    expect(informers.unsynced()).toHaveLength(1);
    gate.resolve();
    await informers.synced();
  });

  it('does not wait for an optional kind that is not served', async () => {
    server.script(status(404, 'NotFound', 'the server could not find the requested resource'));
    const store = informers.store(WIDGET, {}, { optional: true });
    await informers.synced();
    expect(store.synced).toBe(false);
    expect(store.list()).toEqual([]);
  });

  it('reads an add-on when it is served, and keeps its objects without an error when it no longer is', async () => {
    const notServed = status(404, 'NotFound', 'the server could not find the requested resource');
    server.script(notServed, notServed, page(5, widget('a', 1)), notServed, notServed);
    const store = informers.store(WIDGET, {}, { isAddOn: true });
    await informers.synced();
    expect(store.list()).toEqual([]);
    await until(() => store.list().length === 1);
    await until(() => server.seen.length >= 5);
    expect(store.list()).toHaveLength(1);
    expect(informers.watches()).toEqual([]);
    expect(lines.filter(({ level }) => level === 'error')).toEqual([]);
  });

  it('stops waiting when the signal is aborted', async () => {
    server.script(status(404, 'NotFound', 'not served'));
    informers.store(WIDGET);
    const signal = AbortSignal.timeout(20);
    await expect(informers.synced(signal)).rejects.toThrow();
  });

  it('continues if a listener fails', async () => {
    server.script(page(5, widget('a', 1)), openWatch().answer);
    const store = informers.store(WIDGET);
    store.subscribe(() => {
      throw new Error('boom');
    });
    const events = track(store);
    await informers.synced();
    expect(events).toEqual(['added a@1']);
    expect(lines.find(({ level }) => level === 'error')?.message).toBe('failed handling event');
  });
});
