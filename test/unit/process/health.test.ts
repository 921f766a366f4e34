import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { request } from 'node:http';
import { networkInterfaces } from 'node:os';
import { afterEach, describe, expect, it } from '@jest/globals';
import { silent } from '#observe/logger';
import { gauge, LEADER_ELECTION_MASTER_STATUS, NODES_CREATED, WORKQUEUE_DEPTH } from '#observe/metrics';
import { createMetrics } from '#observe/setup';
import {
  type EndpointOptions,
  type Endpoints,
  type SharedCheck,
  serveEndpoints,
  Unavailable,
} from '../../../src/process/health.ts';
import type { Settings } from '../../../src/process/settings.ts';

let endpoints: Endpoints | undefined;
afterEach(() => endpoints?.close());

async function start(ready: Readonly<Record<string, SharedCheck>> = {}, profiling = false): Promise<Endpoints> {
  const metrics = createMetrics();
  metrics.counter(NODES_CREATED).inc({ zone: 'a' });
  const ports = { metricsPort: 0, healthProbePort: 0, host: '127.0.0.1' };
  endpoints = await serveEndpoints({ ...ports, metrics, profiling, ready, log: silent });
  return endpoints;
}

async function get(port: number, path: string, host = '127.0.0.1'): Promise<{ status: number; text: string }> {
  const response = await fetch(`http://${host}:${port}${path}`);
  return { status: response.status, text: await response.text() };
}

/** Returns the status of a request with headers that `fetch` does not send. */
function statusWith(port: number, path: string, headers: Readonly<Record<string, string>>): Promise<number> {
  return new Promise((resolve, reject) => {
    request({ port, host: '127.0.0.1', path, headers }, (answer) => {
      answer.resume();
      resolve(answer.statusCode ?? 0);
    })
      .on('error', reject)
      .end();
  });
}

const passes: SharedCheck = () => undefined;
const fails: SharedCheck = () => {
  throw new Error('caches are not synced');
};

/** Resolves when the servers of this process have received this number of requests. */
function requestsArrived(count: number): Promise<void> {
  let arrived = 0;
  return new Promise((resolve) => {
    const hear = (): void => {
      arrived += 1;
      if (arrived < count) return;
      unsubscribe('http.server.request.start', hear);
      resolve();
    };
    subscribe('http.server.request.start', hear);
  });
}

describe('serveEndpoints', () => {
  it('serves the metrics', async () => {
    const { metricsPort } = await start();
    const { status, text } = await get(metricsPort, '/metrics');
    expect(status).toBe(200);
    expect(text).toContain('karpenter_nodes_created_total{zone="a"} 1');
  });

  it('serves debug pages with their current content', async () => {
    const seen = [{ node: 'a' }];
    const ports = { metricsPort: 0, healthProbePort: 0, host: '127.0.0.1' };
    const debug = {
      '/debug/verdicts': () => seen,
      '/debug/moves': () => {
        throw new Unavailable('this replica stands by');
      },
    };
    endpoints = await serveEndpoints({
      ...ports,
      metrics: createMetrics(),
      profiling: false,
      ready: {},
      debug,
      log: silent,
    });
    seen.push({ node: 'b' });
    const { status, text } = await get(endpoints.metricsPort, '/debug/verdicts');
    expect({ status, body: JSON.parse(text) }).toEqual({ status: 200, body: [{ node: 'a' }, { node: 'b' }] });
    expect(await get(endpoints.metricsPort, '/debug/other')).toEqual({
      status: 404,
      text: 'not found, try /metrics, /debug/verdicts, /debug/moves\n',
    });
    expect(await get(endpoints.metricsPort, '/debug/moves')).toEqual({ status: 503, text: 'this replica stands by\n' });
  });

  it('repeats a response until it expires by the given clock', async () => {
    let [ms, made] = [0, 0];
    const debug = {
      '/debug/moves': () => {
        // long enough that the timer for the release of the response does not fire during this test
        ms += 60_000;
        made += 1;
        return made;
      },
    };
    const ports = { metricsPort: 0, healthProbePort: 0, host: '127.0.0.1' };
    const common = { metrics: createMetrics(), profiling: false, ready: {}, log: silent };
    endpoints = await serveEndpoints({ ...ports, ...common, debug, now: () => ms });
    const { metricsPort } = endpoints;
    const ask = async (): Promise<string> => (await get(metricsPort, '/debug/moves')).text;
    expect([await ask(), await ask()]).toEqual(['1', '1']);
    ms += 1_000_000;
    expect(await ask()).toBe('2');
  });

  describe('a debug page', () => {
    const inside = (debugEndpoints: Settings['debugEndpoints'], host = '127.0.0.1'): EndpointOptions => {
      const ports = { metricsPort: 0, healthProbePort: 0, host };
      const common = { metrics: createMetrics(), profiling: true, ready: {}, log: silent };
      return { ...ports, ...common, debug: { '/debug/moves': () => [] }, debugEndpoints };
    };
    const statuses = async (host = '127.0.0.1'): Promise<readonly number[]> => {
      const paths = ['/metrics', '/debug/moves', '/debug/pprof/cmdline'];
      return Promise.all(paths.map(async (path) => (await get(endpoints?.metricsPort ?? 0, path, host)).status));
    };

    it.each([
      { debugEndpoints: 'loopback', is: [200, 200, 200] },
      { debugEndpoints: 'all', is: [200, 200, 200] },
      { debugEndpoints: 'off', is: [200, 404, 404] },
    ] as const)('returns $is on loopback if DEBUG_ENDPOINTS is $debugEndpoints', async ({ debugEndpoints, is }) => {
      endpoints = await serveEndpoints(inside(debugEndpoints));
      expect(await statuses()).toEqual(is);
    });

    it.each([
      { headers: { host: 'localhost:8080' }, is: 200 },
      { headers: { host: '127.0.0.1' }, is: 200 },
      { headers: { host: '[::1]:8080' }, is: 200 },
      { headers: { host: 'localhost', 'sec-fetch-site': 'none' }, is: 200 },
      { headers: { host: 'localhost', 'sec-fetch-site': 'same-origin' }, is: 200 },
      { headers: { host: 'localhost', 'sec-fetch-site': 'cross-site' }, is: 403 },
      { headers: { host: 'localhost', 'sec-fetch-site': 'same-site' }, is: 403 },
      { headers: { host: 'rebound.example:8080' }, is: 421 },
      { headers: { host: '127.0.0.1.rebound.example' }, is: 421 },
      { headers: { host: '10.0.0.1:8080' }, is: 421 },
    ])('returns $is with $headers, while metrics and probes are served', async ({ headers, is }) => {
      for (const debugEndpoints of ['loopback', 'all'] as const) {
        const serving = await serveEndpoints(inside(debugEndpoints));
        endpoints = serving;
        const { metricsPort, healthProbePort } = serving;
        const status = (port: number, path: string) => statusWith(port, path, headers);
        expect(await status(metricsPort, '/debug/moves')).toBe(is);
        expect(await status(metricsPort, '/debug/pprof/cmdline')).toBe(is);
        expect(await status(metricsPort, '/metrics')).toBe(200);
        expect(await status(healthProbePort, '/healthz')).toBe(200);
        expect(await status(healthProbePort, '/readyz')).toBe(200);
        await serving.close();
      }
    });

    const elsewhere = Object.values(networkInterfaces())
      .flatMap((addresses) => addresses ?? [])
      .find(({ family, internal }) => family === 'IPv4' && !internal)?.address;
    (elsewhere === undefined ? it.skip : it)('return 403 to remote clients, unless these are permitted', async () => {
      endpoints = await serveEndpoints(inside('loopback', elsewhere));
      expect(await statuses(elsewhere)).toEqual([200, 403, 403]);
      expect((await get(endpoints.metricsPort, '/debug/moves', elsewhere)).text).toContain('DEBUG_ENDPOINTS=all');
      await endpoints.close();
      endpoints = await serveEndpoints(inside('all', elsewhere));
      expect(await statuses(elsewhere)).toEqual([200, 200, 200]);
    });

    it('does not block probes while many clients request it', async () => {
      let made = 0;
      let probed = 0;
      let probedMeanwhile = 0;
      const types = function* (): Generator<string> {
        const probedBefore = probed;
        made += 1;
        for (let type = 0; type < 250; type += 1) {
          const endMs = performance.now() + 1;
          while (performance.now() < endMs);
          yield 'x'.repeat(2_000);
        }
        probedMeanwhile += probed - probedBefore;
      };
      const debug = { '/debug/instancetypes': () => ({ instanceTypes: { [Symbol.iterator]: types } }) };
      const present = await serveEndpoints({ ...inside('loopback'), debug });
      endpoints = present;
      let isOver = false;
      const attack = Array.from({ length: 25 }, async () => {
        for (let times = 0; times < 2; times += 1) await get(present.metricsPort, '/debug/instancetypes');
      });
      const probing = (async () => {
        for (; !isOver; probed += 1) expect((await get(present.healthProbePort, '/readyz')).status).toBe(200);
      })();
      await Promise.all(attack);
      isOver = true;
      await probing;
      expect(made).toBeLessThan(4);
      expect(probedMeanwhile).toBeGreaterThan(3);
    });

    it('creates only one profile at a time', async () => {
      endpoints = await serveEndpoints(inside('loopback'));
      const { metricsPort } = endpoints;
      const leaving = new AbortController();
      const first = fetch(`http://127.0.0.1:${metricsPort}/debug/pprof/profile?seconds=300`, {
        signal: leaving.signal,
      });
      first.catch(() => undefined);
      const path = '/debug/pprof/allocs?seconds=0';
      const until = async (status: number): Promise<void> => {
        while ((await get(metricsPort, path)).status !== status) await new Promise((resolve) => setTimeout(resolve, 5));
      };
      await until(503);
      // the profile ends when its client disconnects
      leaving.abort();
      await until(200);
    });
  });

  it.each([
    { path: '/healthz', status: 200, text: 'ok' },
    { path: '/readyz', status: 200, text: 'ok' },
    { path: '/readyz?verbose', status: 200, text: '[+]manager ok\n[+]crd ok\n[+]readyz ok\nreadyz check passed\n' },
    { path: '/readyz/crd', status: 200, text: 'ok' },
    { path: '/readyz/other', status: 404, text: 'no check named "other"\n' },
    { path: '/', status: 404, text: 'not found, try /healthz or /readyz\n' },
  ])('returns $status for $path', async ({ path, status, text }) => {
    const { healthProbePort } = await start({ manager: passes, crd: passes });
    expect(await get(healthProbePort, path)).toEqual({ status, text });
  });

  it('is not ready while a check fails, and names the check', async () => {
    const { healthProbePort } = await start({ manager: fails, crd: passes });
    expect(await get(healthProbePort, '/readyz')).toEqual({
      status: 500,
      text: '[-]manager failed: caches are not synced\n[+]crd ok\n[+]readyz ok\nreadyz check failed\n',
    });
    expect((await get(healthProbePort, '/healthz')).status).toBe(200);
  });

  it('runs a check once for concurrent probes', async () => {
    let runs = 0;
    const ended = Promise.withResolvers<void>();
    const { healthProbePort } = await start({
      crd: () => {
        runs += 1;
        return ended.promise;
      },
    });
    const arrived = requestsArrived(30);
    const probing = Array.from({ length: 30 }, () => get(healthProbePort, '/readyz'));
    await arrived;
    ended.resolve();
    expect(new Set((await Promise.all(probing)).map(({ status }) => status))).toEqual(new Set([200]));
    expect(runs).toBe(1);
  });

  it('waits for a check that waits, and aborts the check if the client disconnects', async () => {
    const begun = Promise.withResolvers<void>();
    const gone = Promise.withResolvers<void>();
    const { healthProbePort } = await start({
      manager: (signal) => {
        signal.addEventListener('abort', () => gone.resolve());
        begun.resolve();
        return gone.promise;
      },
    });
    const prober = new AbortController();
    const probing = fetch(`http://127.0.0.1:${healthProbePort}/readyz`, { signal: prober.signal });
    await begun.promise;
    prober.abort();
    await expect(probing).rejects.toThrow();
    await gone.promise;
  });

  it('serves profiles only if profiling is enabled', async () => {
    const without = await start();
    expect((await get(without.metricsPort, '/debug/pprof/')).status).toBe(404);
    await without.close();
    const { metricsPort } = await start({}, true);
    expect((await get(metricsPort, '/debug/pprof/cmdline')).text).toContain(process.argv[0]);
    const { text } = await get(metricsPort, '/debug/pprof/profile?seconds=0');
    expect(JSON.parse(text)).toHaveProperty('nodes');
  });

  it('names the port that cannot be opened', async () => {
    const { metricsPort } = await start();
    const again = serveEndpoints({
      metricsPort,
      healthProbePort: 0,
      host: '127.0.0.1',
      metrics: createMetrics(),
      profiling: false,
      ready: {},
      log: silent,
    });
    await expect(again).rejects.toThrow(
      /^Cannot listen on port \d+ of 127.0.0.1: another process uses the port; .* set METRICS_PORT/,
    );
  });
});

describe('createMetrics', () => {
  it('returns the same metric for the same name, and separates registries', async () => {
    const [one, other] = [createMetrics(), createMetrics()];
    expect(one.counter(NODES_CREATED)).toBe(one.counter({ ...NODES_CREATED }));
    expect(one.counter(NODES_CREATED)).not.toBe(other.counter(NODES_CREATED));
    expect(() => one.gauge(gauge({ name: NODES_CREATED.name, help: 'X' }))).toThrow('it exists with another type');
  });

  it('serves metrics under their declared names', async () => {
    const metrics = createMetrics();
    metrics.gauge(WORKQUEUE_DEPTH).set(1);
    metrics.beforeScrape(() => metrics.gauge(LEADER_ELECTION_MASTER_STATUS).set(2));
    const text = await metrics.text();
    expect(text).toContain('\nworkqueue_depth 1');
    expect(text).toContain('\nleader_election_master_status 2');
  });
});
