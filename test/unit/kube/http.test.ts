import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { POD, type Pod } from '#api/objects';
import { steadyClock } from '#lib/clock';
import { createMetrics } from '#observe/setup';
import { ApiError, type WatchEvent } from '../../../src/kube/client.ts';
import { openFence } from '../../../src/kube/fence.ts';
import { connect, type HttpKubeClient } from '../../../src/kube/http.ts';
import { WIDGET, type Widget, widget } from './fakes.ts';
import { hangUp, json, type ScriptedServer, scriptedServer, status } from './scriptedserver.ts';

// back-off of seconds passes in milliseconds
const clock = steadyClock(1_000);
let server: ScriptedServer;
let client: HttpKubeClient;

beforeEach(async () => {
  server = await scriptedServer();
  client = connect({ fence: openFence(), url: server.url, clock, userAgent: 'karpenter/test' });
});

afterEach(async () => {
  client.close();
  await server.close();
});

const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'p', namespace: 'n', uid: 'u' } } as Pod;

describe('a request', () => {
  it.each([
    {
      call: 'get',
      path: '/apis/example.com/v1/widgets/a',
      method: 'GET',
      run: () => client.get(WIDGET, { name: 'a' }),
    },
    {
      call: 'get of a pod',
      path: '/api/v1/namespaces/n/pods/p',
      method: 'GET',
      run: () => client.get(POD, { name: 'p', namespace: 'n' }),
    },
    {
      call: 'create',
      path: '/apis/example.com/v1/widgets',
      method: 'POST',
      run: () => client.create(WIDGET, widget('a', 1)),
    },
    {
      call: 'update of a status',
      path: '/apis/example.com/v1/widgets/a/status',
      method: 'PUT',
      run: () => client.update(WIDGET, widget('a', 1), { subresource: 'status' }),
    },
    {
      call: 'patch',
      path: '/apis/example.com/v1/widgets/a',
      method: 'PATCH',
      body: { spec: { color: null } },
      type: 'application/merge-patch+json',
      run: () => client.patch(WIDGET, { name: 'a' }, { spec: { color: null } }),
    },
    {
      call: 'JSON patch',
      path: '/apis/example.com/v1/widgets/a',
      method: 'PATCH',
      type: 'application/json-patch+json',
      run: () => client.patch(WIDGET, { name: 'a' }, [], { type: 'json' }),
    },
    {
      call: 'delete',
      path: '/apis/example.com/v1/widgets/a',
      method: 'DELETE',
      body: { apiVersion: 'v1', kind: 'DeleteOptions', preconditions: { uid: 'u' }, gracePeriodSeconds: 7 },
      run: () => client.delete(WIDGET, { name: 'a' }, { uid: 'u', gracePeriodSeconds: 7 }),
    },
    {
      call: 'evict',
      path: '/api/v1/namespaces/n/pods/p/eviction',
      method: 'POST',
      body: {
        apiVersion: 'policy/v1',
        kind: 'Eviction',
        metadata: { name: 'p', namespace: 'n' },
        deleteOptions: { apiVersion: 'v1', kind: 'DeleteOptions', preconditions: { uid: 'u' } },
      },
      run: () => client.evict(pod, { uid: 'u' }),
    },
  ])('is sent for $call as $method $path', async ({ run, method, path, body, type }) => {
    server.script(json(widget('a', 1)));
    await run();
    expect(server.seen[0]).toMatchObject({ method, path, ...(body && { body }) });
    expect(server.seen[0]?.headers['user-agent']).toBe('karpenter/test');
    if (type) expect(server.seen[0]?.headers['content-type']).toBe(type);
  });

  it('refuses to address a namespaced object without a namespace', async () => {
    expect(() => client.get(POD, { name: 'p' })).toThrow('Cannot address Pod "p": it has no namespace');
  });

  it('returns failures with the status, reason and message of the server', async () => {
    server.script(status(409, 'Conflict', 'the object has been modified'));
    await expect(client.get(WIDGET, { name: 'a' })).rejects.toMatchObject({
      name: 'ApiError',
      status: 409,
      reason: 'Conflict',
      message: 'the object has been modified',
    });
  });

  it('returns undefined for a missing object, and throws other errors', async () => {
    server.script(status(404, 'NotFound', 'gone'), status(403, 'Forbidden', 'no'));
    expect(await client.find(WIDGET, { name: 'a' })).toBeUndefined();
    await expect(client.find(WIDGET, { name: 'a' })).rejects.toThrow(ApiError);
  });

  it('reads every page and adds the kind that the server omits', async () => {
    const { kind: _, apiVersion: __, ...bare } = widget('a', 1);
    server.script(
      json({ metadata: { resourceVersion: '7', continue: 'next' }, items: [bare] }),
      json({ metadata: { resourceVersion: '7' }, items: [widget('b', 2)] }),
    );
    expect(await client.listAll(WIDGET)).toEqual([widget('a', 1), widget('b', 2)]);
    expect(server.seen[1]?.query.get('continue')).toBe('next');
  });

  it('reads the list in one request if the pages expire', async () => {
    server.script(
      json({ metadata: { resourceVersion: '7', continue: 'next' }, items: [widget('a', 1)] }),
      status(410, 'Expired', 'the continue token is too old'),
      json({ metadata: { resourceVersion: '8' }, items: [widget('a', 1), widget('b', 2)] }),
    );
    expect(await client.listAll(WIDGET, { labelSelector: 'x=y' })).toHaveLength(2);
    expect(Object.fromEntries(server.seen[2]?.query ?? [])).toEqual({ labelSelector: 'x=y' });
  });

  it('counts its requests', async () => {
    const metrics = createMetrics();
    const counted = connect({ fence: openFence(), url: server.url, clock, metrics });
    server.script(json(widget('a', 1)), status(404, 'NotFound', 'gone'));
    await counted.get(WIDGET, { name: 'a' });
    await counted.find(WIDGET, { name: 'a' });
    counted.close();
    const text = await metrics.text();
    expect(text).toContain('client_go_request_total{code="200",method="GET"} 1');
    expect(text).toContain('client_go_request_total{code="404",method="GET"} 1');
  });
});

describe('retries', () => {
  it.each([429, 503])('retries after a %d with a Retry-After header', async (code) => {
    server.script(status(code, 'Busy', 'later', { 'retry-after': '1' }), json(widget('a', 1)));
    expect(await client.get(WIDGET, { name: 'a' })).toEqual(widget('a', 1));
    expect(server.seen).toHaveLength(2);
  });

  it('does not repeat a creation that may have succeeded', async () => {
    server.script(status(429, 'Busy', 'later', { 'retry-after': '1' }), json(widget('a', 1)));
    expect(await client.create(WIDGET, widget('a', 1))).toEqual(widget('a', 1));
    server.script(status(503, 'Busy', 'later', { 'retry-after': '1' }), json(widget('a', 1)));
    await expect(client.create(WIDGET, widget('a', 1))).rejects.toMatchObject({ status: 503 });
    expect(server.seen).toHaveLength(3);
  });

  it('returns a rejected eviction without a retry, independent of the headers', async () => {
    server.script(status(429, 'TooManyRequests', 'budget', { 'retry-after': '10' }));
    await expect(client.evict(pod)).rejects.toMatchObject({ status: 429 });
    expect(server.seen).toHaveLength(1);
  });

  it('repeats reads after broken connections, but not creations', async () => {
    server.script(hangUp, hangUp, json(widget('a', 1)));
    expect(await client.get(WIDGET, { name: 'a' })).toEqual(widget('a', 1));
    server.script(hangUp);
    await expect(client.create(WIDGET, widget('a', 1))).rejects.toThrow('Cannot reach the API server');
    expect(server.seen).toHaveLength(4);
  });

  it('stops after a number of attempts', async () => {
    server.script(hangUp);
    await expect(client.get(WIDGET, { name: 'a' })).rejects.toThrow('Cannot reach the API server');
    expect(server.seen.length).toBe(7);
  });

  it('reads its credentials again, once, if they are rejected', async () => {
    server.script(status(401, 'Unauthorized', 'who'), json(widget('a', 1)));
    await client.get(WIDGET, { name: 'a' });
    server.script(status(401, 'Unauthorized', 'who'));
    await expect(client.get(WIDGET, { name: 'a' })).rejects.toMatchObject({ status: 401 });
    expect(server.seen).toHaveLength(4);
  });
});

describe('kubeconfig', () => {
  const kubeconfig = (user: unknown): string =>
    JSON.stringify(
      {
        'current-context': 'c',
        clusters: [{ name: 'k', cluster: { server: server.url } }],
        users: [{ name: 'u', user }],
        contexts: [{ name: 'c', context: { cluster: 'k', user: 'u', namespace: 'here' } }],
      },
      null,
      2,
    );

  it('sends a token, also one from a file beside it', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'kubeconfig-'));
    try {
      writeFileSync(join(folder, 'token'), 'secret');
      writeFileSync(join(folder, 'config'), kubeconfig({ tokenFile: 'token' }));
      server.script(json(widget('a', 1)));
      const fromFile = connect({ fence: openFence(), kubeconfig: join(folder, 'config'), clock });
      await fromFile.get(WIDGET, { name: 'a' });
      const fromText = connect({ fence: openFence(), kubeconfig: kubeconfig({ token: 'other' }), clock });
      await fromText.get(WIDGET, { name: 'a' });
      expect(server.seen.map(({ headers }) => headers.authorization)).toEqual(['Bearer secret', 'Bearer other']);
      expect(fromText.namespace).toBe('here');
      fromFile.close();
      fromText.close();
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  it('runs the plugin of an exec user, and again if its token is rejected', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'kubeconfig-'));
    try {
      const counter = join(folder, 'count');
      writeFileSync(counter, '');
      const script =
        `const fs = require('node:fs'); fs.appendFileSync(${JSON.stringify(counter)}, 'x');` +
        `const token = 'token-' + fs.readFileSync(${JSON.stringify(counter)}).length;` +
        `console.log(JSON.stringify({ apiVersion: 'client.authentication.k8s.io/v1', kind: 'ExecCredential', status: { token } }));`;
      const exec = { apiVersion: 'client.authentication.k8s.io/v1', command: process.execPath, args: ['-e', script] };
      const plugged = connect({ fence: openFence(), kubeconfig: kubeconfig({ exec }), clock });
      server.script(json(widget('a', 1)), status(401, 'Unauthorized', 'expired'), json(widget('a', 1)));
      await plugged.get(WIDGET, { name: 'a' });
      await plugged.get(WIDGET, { name: 'a' });
      plugged.close();
      const sent = server.seen.map(({ headers }) => headers.authorization);
      expect(sent).toEqual(['Bearer token-1', 'Bearer token-1', 'Bearer token-2']);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  it('names a context without a cluster', () => {
    expect(() =>
      connect({
        fence: openFence(),
        kubeconfig: kubeconfig({}).replace('"cluster": "k"', '"cluster": "other"'),
        clock,
      }),
    ).toThrow('Cannot find the API server: context "c" of the kubeconfig does not refer to an existing cluster');
  });

  it('names a file that cannot be read', () => {
    expect(() => connect({ fence: openFence(), kubeconfig: '/nowhere/config', clock })).toThrow(
      'Cannot read kubeconfig "/nowhere/config"',
    );
  });
});

describe('watch', () => {
  async function collect(signal = new AbortController().signal): Promise<WatchEvent<Widget>[]> {
    const events: WatchEvent<Widget>[] = [];
    for await (const event of client.watch(WIDGET, { resourceVersion: '5', signal })) events.push(event);
    return events;
  }

  it('reads events with lines and characters that are split over chunks', async () => {
    const events = [
      { type: 'ADDED', object: widget('grün', 6) },
      { type: 'MODIFIED', object: widget('日本', 7) },
      { type: 'BOOKMARK', object: { metadata: { resourceVersion: '9' } } },
    ];
    const bytes = Buffer.from(events.map((event) => `${JSON.stringify(event)}\n`).join(''));
    server.script(async (_, response) => {
      response.writeHead(200);
      for (let from = 0; from < bytes.length; from += 7) {
        response.write(bytes.subarray(from, from + 7));
        await sleep(0);
      }
      response.end();
    });
    expect(await collect()).toEqual([events[0], events[1], { type: 'BOOKMARK', resourceVersion: '9' }]);
    expect(Object.fromEntries(server.seen[0]?.query ?? [])).toEqual({
      watch: 'true',
      allowWatchBookmarks: 'true',
      resourceVersion: '5',
    });
  });

  it('throws the error of an ERROR event', async () => {
    const error = { kind: 'Status', code: 410, reason: 'Expired', message: 'too old resource version' };
    server.script((_, response) => {
      response.writeHead(200).end(`${JSON.stringify({ type: 'ERROR', object: error })}\n`);
    });
    await expect(collect()).rejects.toMatchObject({ status: 410, reason: 'Expired' });
  });

  it('throws if the connection breaks, and ends without an error when the signal is aborted', async () => {
    server.script((_, response) => {
      response.writeHead(200);
      response.write(`${JSON.stringify({ type: 'ADDED', object: widget('a', 6) })}\n`, () => response.destroy());
    });
    await expect(collect()).rejects.toThrow();
    server.script((_, response) => {
      response.writeHead(200).flushHeaders();
    });
    const stop = new AbortController();
    setTimeout(() => stop.abort(), 20);
    expect(await collect(stop.signal)).toEqual([]);
  });
});
