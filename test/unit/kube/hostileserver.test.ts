/** An API server with responses that a real API server never returns. */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { type Kind, type KubeObject, POD } from '#api/objects';
import { steadyClock } from '#lib/clock';
import type { Logger } from '#observe/logger';
import { ApiError, isConflict, isNotFound, type Store, type WatchEvent } from '../../../src/kube/client.ts';
import { openFence } from '../../../src/kube/fence.ts';
import { connect, type HttpKubeClient } from '../../../src/kube/http.ts';
import { startInformers } from '../../../src/kube/informers.ts';
import { openConnection } from '../../../src/kube/kubeconfig.ts';
import { deleteExactly } from '../../../src/kube/patch.ts';
import { bodyOf, exchange, responseLines } from '../../../src/kube/transport.ts';
import { WIDGET, type Widget, widget } from './fakes.ts';
import { type Answer, json, type ScriptedServer, scriptedServer, status } from './scriptedserver.ts';

const clock = steadyClock(1_000);
/** A clock for tests that depend on durations. */
const slowClock = steadyClock(20);
let server: ScriptedServer;
let client: HttpKubeClient;
let lines: string[];
let over: AbortController;

function recordingLog(): Logger {
  const take = (message: string): void => void lines.push(message);
  const log: Logger = { debug: take, info: take, warn: take, error: take, with: () => log };
  return log;
}

beforeEach(async () => {
  server = await scriptedServer();
  lines = [];
  over = new AbortController();
  client = connect({ fence: openFence(), url: server.url, clock, log: recordingLog(), qps: 100_000, burst: 100_000 });
});
afterEach(async () => {
  over.abort();
  client.close();
  await server.close();
});

async function until(condition: () => boolean): Promise<void> {
  for (let tries = 0; !condition(); tries += 1) {
    if (tries > 2_000) throw new Error('it did not happen in time');
    await sleep(4);
  }
}

const page = (items: readonly unknown[], next = '', resourceVersion = '7'): Answer =>
  json({ metadata: { resourceVersion, continue: next }, items });

describe('a list', () => {
  it('is rejected if it has the same page again and again', async () => {
    server.script(page([widget('a', 1)], 'next'));
    await expect(client.listAll(WIDGET)).rejects.toThrow(
      'returned an endless list of widgets: the same page was returned again',
    );
    expect(server.seen.length).toBeLessThan(5);
  });

  it('is rejected if it has an endless number of pages', async () => {
    let count = 0;
    server.script((seen, response) => page([], `page-${++count}`)(seen, response));
    await expect(client.listAll(WIDGET)).rejects.toThrow('returned an endless list of widgets: more than 5000 pages');
  }, 60_000);

  it('is rejected if it has new tokens for the same page', async () => {
    let count = 0;
    server.script((seen, response) => page([widget('a', 1)], `page-${++count}`)(seen, response));
    await expect(client.listAll(WIDGET)).rejects.toThrow(
      'returned an endless list of widgets: the same page was returned again',
    );
    expect(server.seen).toHaveLength(2);
  });

  it.each([
    {},
    null,
    { metadata: null },
    { metadata: {} },
    { metadata: { name: '' } },
    'x',
  ])('is rejected with the item %j, because it may be incomplete', async (odd) => {
    server.script(page([widget('a', 1), odd]));
    await expect(client.listAll(WIDGET)).rejects.toMatchObject({
      message: 'the API server returned an invalid list of widgets: item 1 has no name',
      request: 'GET /apis/example.com/v1/widgets',
    });
  });

  it.each([
    null,
    [],
    'x',
    {},
    { kind: 'Status', status: 'Success' },
    { metadata: { resourceVersion: '7' } },
    { metadata: { resourceVersion: '7' }, items: null },
    { metadata: { resourceVersion: '7' }, items: {} },
    { metadata: { resourceVersion: '7' }, items: 'x' },
    { metadata: {}, items: [] },
    { metadata: null, items: [] },
    { items: [] },
    { metadata: { resourceVersion: '7' }, items: [widget('a', 8)] },
  ])('is rejected if it is %j', async (odd) => {
    server.script(json(odd));
    await expect(client.listAll(WIDGET)).rejects.toThrow('the API server returned an invalid list of widgets: ');
  });
});

describe('a response for an object', () => {
  const text =
    (body: string, code = 200): Answer =>
    (_, response) =>
      void response.writeHead(code, { 'content-type': 'text/html' }).end(body);
  const cutOff: Answer = (_, response) => {
    response.writeHead(200, { 'content-length': 1_000 });
    response.write('{"metadata":', () => response.destroy());
  };
  const ref = { name: 'a' };

  it.each([
    '',
    '<html>secret</html>',
    '{"metadata": {"name": "secr',
    'null',
    '[]',
    '{}',
    '{"kind":"Status"}',
  ])('is an error that names the request without the text, and does not mean that the object is missing: %j', async (body) => {
    server.script(text(body));
    for (const asked of [
      client.get(WIDGET, ref),
      client.find(WIDGET, ref),
      client.create(WIDGET, widget('a', 1)),
      client.update(WIDGET, widget('a', 1)),
      client.patch(WIDGET, ref, {}),
    ]) {
      const error: Error & { request?: string } = await asked.then(String, (failure) => failure);
      expect(error).toMatchObject({ name: 'UnreadableAnswer', message: expect.not.stringContaining('secr') });
      expect(error.request).toMatch(/^(GET|POST|PUT|PATCH) \/apis\/example.com\/v1\/widgets(\/a)?$/);
    }
  });

  it.each([
    '',
    '<html></html>',
    'null',
    '{}',
  ])('is a failure of a deletion or an eviction if it is %j', async (body) => {
    server.script(text(body));
    await expect(client.delete(WIDGET, ref)).rejects.toMatchObject({
      request: 'DELETE /apis/example.com/v1/widgets/a',
    });
    const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'p', namespace: 'n' }, spec: { containers: [] } };
    await expect(client.evict(pod)).rejects.toThrow('the API server');
  });

  it.each([
    { code: 404, page: '404 page not found\n' },
    { code: 404, page: '<html>no such site</html>' },
    { code: 409, page: '' },
  ])('does not mean that the object is missing if it is $code without a Status: $page', async ({
    code,
    page: body,
  }) => {
    server.script(text(body, code));
    const error: unknown = await client.find(WIDGET, ref).then(String, (failure) => failure);
    expect(error).toMatchObject({ name: 'ApiError', status: code, message: expect.stringContaining(String(code)) });
    expect([isNotFound(error), isConflict(error)]).toEqual([false, false]);
    await expect(deleteExactly(client, WIDGET, widget('a', 1))).rejects.toThrow(ApiError);
  });

  it('is requested again if it breaks off, except after a creation', async () => {
    server.script(cutOff, json(widget('a', 1)));
    expect(await client.get(WIDGET, ref)).toMatchObject({ metadata: ref });
    server.script(cutOff);
    await expect(client.create(WIDGET, widget('a', 1))).rejects.toMatchObject({
      name: 'ConnectionError',
      request: 'POST /apis/example.com/v1/widgets',
    });
  });

  it.each([
    { message: 17, reason: {}, details: 'x' },
    { message: { a: 1 }, reason: [], details: { retryAfterSeconds: 'soon' } },
    { message: 'x'.repeat(1_000_000), details: { retryAfterSeconds: -5 } },
    [],
    'x',
  ])('is reported as a failure if it is a failure in another form', async (body) => {
    server.script(json(body, 429));
    const error: Error = await client.get(WIDGET, ref).then(String, (failure) => failure);
    expect(error).toMatchObject({ name: 'ApiError', status: 429, reason: 'TooManyRequests' });
    expect(error.message.length).toBeLessThan(5_000);
  });

  it.each([
    '100000000',
    '1e300',
    'Thu, 01 Jan 2150 00:00:00 GMT',
  ])('is repeated after a short wait if it demands a wait until %s', async (wait) => {
    const patient = connect({ fence: openFence(), url: server.url, clock: slowClock });
    server.script(status(429, 'TooManyRequests', 'later', { 'retry-after': wait }), json(widget('a', 1)));
    const startedMs = slowClock.now();
    expect(await patient.get(WIDGET, ref)).toMatchObject({ metadata: ref });
    expect(slowClock.now() - startedMs).toBeLessThan(50_000);
    patient.close();
  });

  it.each(['-1', 'soon', ''])('fails without a retry if it demands a wait of %j', async (wait) => {
    server.script(status(429, 'TooManyRequests', 'later', { 'retry-after': wait }), json(widget('a', 1)));
    await expect(client.get(WIDGET, ref)).rejects.toMatchObject({ status: 429 });
    expect(server.seen).toHaveLength(1);
  });

  it('is aborted if it is longer than any object', async () => {
    server.script((_, response) => {
      const pour = (): void =>
        void (response.write(' '.repeat(100_000)) ? setImmediate(pour) : response.once('drain', pour));
      pour();
    });
    const connection = openConnection({ url: server.url });
    const response = await exchange(connection, 'test', { method: 'GET', path: '/', idleMs: 1_000 });
    await expect(bodyOf(response, { longest: 1_000_000 })).rejects.toThrow('longer than 1000000 bytes');
    connection.close();
  });
});

/** Starts an informer that stops at the end of the test. */
async function informed<T extends KubeObject>(kind: Kind<T>): Promise<Store<T>> {
  const store = startInformers({ client, clock: slowClock, log: recordingLog(), signal: over.signal }).store(kind);
  await until(() => store.synced);
  return store;
}

const pod = (name: string, version: string, spec?: object): object => ({
  metadata: { name, namespace: 'n', uid: name, resourceVersion: version },
  ...(spec && { spec }),
});
const SPEC = { nodeName: 'node', containers: [{ name: 'c' }] };

/** Returns a watch that stays open. */
const streamOf =
  (...events: readonly unknown[]): Answer =>
  (_, response) => {
    response.writeHead(200).flushHeaders();
    for (const event of events) response.write(`${typeof event === 'string' ? event : JSON.stringify(event)}\n`);
  };
/** Returns a watch that ends. */
const endingStreamOf =
  (...events: readonly unknown[]): Answer =>
  async (seen, response) => {
    await streamOf(...events)(seen, response);
    response.end();
  };

describe('an object that cannot be used', () => {
  it('is skipped and named, and the other objects are kept', async () => {
    server.script(page([pod('broken', '1'), pod('sound', '2', SPEC)]), streamOf());
    const store = await informed(POD);
    expect(store.list().map(({ metadata }) => metadata.name)).toEqual(['sound']);
    expect(lines).toContain('received an invalid object');
  });

  it('keeps its last valid state after an invalid list or watch event', async () => {
    const broken = { type: 'MODIFIED', object: pod('web', '8') };
    const expired = { type: 'ERROR', object: { code: 410 } };
    server.script(
      page([pod('web', '1', SPEC)]),
      streamOf(broken, expired),
      page([pod('web', '9')], '', '9'),
      streamOf(),
    );
    const store = await informed(POD);
    await until(() => lines.filter((line) => line === 'received an invalid object').length === 2);
    expect(store.list().map(({ spec }) => spec.nodeName)).toEqual(['node']);
  });
});

describe('a watch', () => {
  const watch = async (...sent: readonly unknown[]): Promise<readonly WatchEvent<Widget>[]> => {
    server.script((_, response) => void response.end(sent.map((one) => `${JSON.stringify(one)}\n`).join('')));
    const events: WatchEvent<Widget>[] = [];
    const { signal } = new AbortController();
    for await (const event of client.watch(WIDGET, { resourceVersion: '1', signal })) events.push(event);
    return events;
  };

  it.each([
    null,
    'x',
    {},
    { type: 'ADDED' },
    { type: 'ADDED', object: null },
    { type: 'ADDED', object: {} },
    { type: 'MODIFIED', object: { metadata: {} } },
    { type: 'BOOKMARK', object: {} },
    { type: 'BOOKMARK', object: { metadata: {} } },
    { type: 'ADDED', object: { metadata: { name: 'a' } } },
    { type: 'constructor', object: widget('a', 1) },
  ])('fails with the name of the kind for the event %j', async (event) => {
    await expect(watch(event)).rejects.toThrow('the API server sent an invalid watch event of widgets');
  });

  it('fails with the name of the request if it breaks off', async () => {
    server.script((_, response) => {
      response.writeHead(200);
      response.write('{"type":"ADDED","obj', () => response.destroy());
    });
    const { signal } = new AbortController();
    const read = async (): Promise<void> => {
      for await (const _ of client.watch(WIDGET, { resourceVersion: '1', signal }));
    };
    await expect(read()).rejects.toMatchObject({
      name: 'ConnectionError',
      request: 'GET /apis/example.com/v1/widgets',
    });
  });

  it('is aborted if a line is endless', async () => {
    server.script((_, response) => {
      const pour = (): void =>
        void (response.write('x'.repeat(1_000)) ? setImmediate(pour) : response.once('drain', pour));
      pour();
    });
    const response = await exchange(openConnection({ url: server.url }), 'test', {
      method: 'GET',
      path: '/',
      idleMs: 1_000,
    });
    const read = async (): Promise<void> => {
      for await (const _ of responseLines(response, 100_000));
    };
    await expect(read()).rejects.toThrow('more than 100000 characters without a line');
    response.destroy();
  });
});

it('aborts a body that arrives too slowly', async () => {
  const timers: NodeJS.Timeout[] = [];
  server.script((_, response) => void timers.push(setInterval(() => response.write(' '), 5)));
  const response = await exchange(openConnection({ url: server.url }), 'test', {
    method: 'GET',
    path: '/',
    idleMs: 1_000,
  });
  await expect(bodyOf(response, { longestMs: 100 })).rejects.toThrow('did not end within 100 ms');
  for (const timer of timers) clearInterval(timer);
});

describe('an informer', () => {
  const LATER = { type: 'ADDED', object: widget('b', 20) };
  const names = (store: Store<Widget>): readonly string[] => store.list().map(({ metadata }) => metadata.name);

  it.each([
    { what: 'an event that cannot be read', watches: [streamOf('{"type":')] },
    { what: 'refusals of the version', watches: [status(400, 'BadRequest', 'invalid resourceVersion')] },
    {
      what: 'a version that the server has not reached',
      watches: [status(504, 'Timeout', 'Too large resource version')],
    },
    {
      what: 'an earlier version',
      watches: [streamOf({ type: 'BOOKMARK', object: { metadata: { resourceVersion: '3' } } })],
    },
    { what: 'a page of HTML', watches: [endingStreamOf('<html>')] },
    { what: 'an end at once', watches: [endingStreamOf()] },
  ])('lists again after watches that contain only $what', async ({ watches }) => {
    const listed = page([widget('a', 1), widget('b', 20)], '', '20');
    server.script(page([widget('a', 1)]), (seen, response) =>
      seen.query.has('watch') ? watches[0]?.(seen, response) : listed(seen, response),
    );
    const store = await informed(WIDGET);
    await until(() => names(store).includes('b'));
  });

  it('continues from its last version if connections break repeatedly', async () => {
    const watch: Answer = (_, response) => void response.destroy();
    server.script(page([widget('a', 1)]), watch, watch, watch, watch, watch, streamOf(LATER));
    const store = await informed(WIDGET);
    await until(() => names(store).includes('b'));
    expect(server.seen.filter(({ query }) => !query.has('watch'))).toHaveLength(1);
  });

  it('reports repeated failures of watches, and their end', async () => {
    const broken = status(500, 'InternalError', 'no');
    server.script(page([widget('a', 1)]), broken, broken, broken, page([widget('a', 1)]), streamOf());
    await informed(WIDGET);
    await until(() => lines.includes('watching again'));
    expect(lines.filter((line) => line === 'failed watching, retrying')).toHaveLength(1);
  });

  it('limits the rate of requests if each watch ends after one event', async () => {
    let version = 10;
    const one: Answer = (seen, response) =>
      endingStreamOf({ type: 'ADDED', object: widget('b', ++version) })(seen, response);
    server.script(page([widget('a', 1)]), one);
    const startedMs = slowClock.now();
    await informed(WIDGET);
    await until(() => server.seen.length > 20);
    expect(slowClock.now() - startedMs).toBeGreaterThan(19 * 200);
  });

  it('ignores an older state of an object', async () => {
    const older = { type: 'MODIFIED', object: widget('a', 5, 'old') };
    server.script(page([widget('a', 6, 'new')]), streamOf(older, LATER));
    const store = await informed(WIDGET);
    await until(() => names(store).includes('b'));
    expect(store.get({ name: 'a' })?.spec?.color).toBe('new');
  });

  it('keeps its objects while lists cannot be read', async () => {
    const expired = { type: 'ERROR', object: { code: 410 } };
    const broken = json({ metadata: { resourceVersion: '9' }, items: null });
    server.script(
      page([widget('a', 1)]),
      streamOf(expired),
      broken,
      page([{}]),
      json({ metadata: {}, items: [] }),
      broken,
    );
    const store = await informed(WIDGET);
    await until(() => server.seen.length > 6);
    expect(names(store)).toEqual(['a']);
    expect(lines.filter((line) => line === 'failed listing, retrying')).toHaveLength(1);
  });
});
