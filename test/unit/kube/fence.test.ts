import { once } from 'node:events';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { POD, type Pod } from '#api/objects';
import { createOnce } from '#controllers/testing';
import { steadyClock } from '#lib/clock';
import type { KubeClient } from '../../../src/kube/client.ts';
import { Leadership, NotPermitted, openFence } from '../../../src/kube/fence.ts';
import { connect, connectReader, type HttpKubeClient } from '../../../src/kube/http.ts';
import { type VirtualClock, virtualClock } from '../virtualclock.ts';
import { WIDGET, widget } from './fakes.ts';
import { json, type ScriptedServer, scriptedServer, status } from './scriptedserver.ts';

const SECOND = 1_000;

describe('Leadership', () => {
  it('is closed before the first renewal', () => {
    const leadership = new Leadership(virtualClock());
    expect(leadership.isOpen).toBe(false);
    expect(() => leadership.check()).toThrow(
      'the request was not sent: this replica does not hold the leader election lease',
    );
  });

  it('ends at the renew deadline after the last renewal, without a check', async () => {
    const clock = virtualClock();
    const leadership = new Leadership(clock);
    leadership.renew();
    await clock.advance(8 * SECOND);
    leadership.renew();
    await clock.advance(9.9 * SECOND);
    expect([leadership.isOpen, leadership.signal.aborted]).toEqual([true, false]);
    await clock.advance(0.2 * SECOND);
    expect([leadership.isOpen, leadership.signal.aborted]).toEqual([false, true]);
  });

  it('stays ended if a renewal returns late', async () => {
    const clock = virtualClock();
    const leadership = new Leadership(clock);
    leadership.renew();
    await clock.advance(11 * SECOND);
    leadership.renew();
    expect(() => leadership.check()).toThrow('the leader election lease was not renewed within 10 s');
  });

  it('ends in the first check after a pause of the process, before any timer has fired', () => {
    // The timers of a stopped process do not run, but its monotonic time advances.
    let pausedMs = 0;
    const still = virtualClock();
    const clock: VirtualClock = {
      ...still,
      now: () => still.now() + pausedMs,
      monotonic: () => still.now() + pausedMs,
    };
    const leadership = new Leadership(clock);
    leadership.renew();
    pausedMs = 22 * SECOND;
    expect(() => leadership.check()).toThrow(NotPermitted);
    expect(leadership.signal.aborted).toBe(true);
  });

  it.each([
    ['ends', 'put forward by an hour, as after a sleep of the machine', 3_600 * SECOND, false],
    ['goes on', 'put back by an hour', -3_600 * SECOND, true],
  ])('behaves as follows: %s if the time of the machine is %s', async (_, __, byMs, isOpen) => {
    let setMs = 0;
    const virtual = virtualClock();
    const clock: VirtualClock = { ...virtual, now: () => virtual.now() + setMs, monotonic: virtual.now };
    const leadership = new Leadership(clock);
    leadership.renew();
    setMs = byMs;
    expect(leadership.isOpen).toBe(isOpen);
    await virtual.advance(11 * SECOND);
    expect(leadership.signal.aborted).toBe(true);
  });
});

describe('a client with a fence', () => {
  const clock = steadyClock(1_000);
  const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'p', namespace: 'n', uid: 'u' } } as Pod;
  const WRITES: readonly (readonly [string, (client: KubeClient) => Promise<unknown>])[] = [
    ['create', (client) => client.create(WIDGET, widget('a', 1))],
    ['update', (client) => client.update(WIDGET, widget('a', 1))],
    ['update of a status', (client) => client.update(WIDGET, widget('a', 1), { subresource: 'status' })],
    ['patch', (client) => client.patch(WIDGET, { name: 'a' }, {})],
    ['delete', (client) => client.delete(WIDGET, { name: 'a' })],
    ['evict', (client) => client.evict(pod)],
    ['raw', (client) => (client as HttpKubeClient).raw('/any', undefined, { method: 'POST', body: {} })],
  ];
  let server: ScriptedServer;

  beforeEach(async () => {
    server = await scriptedServer();
    server.script(json({ ...widget('a', 1), status: 'Success' }, 200));
  });
  afterEach(() => server.close());

  it.each(WRITES)('sends no %s unless the lease is held, but reads', async (_, write) => {
    const leadership = new Leadership(clock);
    const client = connect({ url: server.url, clock, fence: leadership });
    await expect(write(client)).rejects.toThrow(NotPermitted);
    await client.get(WIDGET, { name: 'a' });
    leadership.end('over');
    await expect(write(client)).rejects.toThrow('the request was not sent: over');
    await client.get(WIDGET, { name: 'a' });
    expect(server.seen.map(({ method }) => method)).toEqual(['GET', 'GET']);
    client.close();
  });

  it.each(WRITES)('rejects each %s if it was opened as read-only', async (_, write) => {
    const client = connectReader({ url: server.url, clock }) as HttpKubeClient;
    await expect(write(client)).rejects.toThrow('this client is read-only');
    expect(server.seen).toEqual([]);
    client.close();
  });

  it('sends nothing if the lease is lost during the connect, as in a pause of the process', async () => {
    let checks = 0;
    let allowed = Number.POSITIVE_INFINITY;
    const fence = {
      ...openFence(),
      check: () => {
        if (++checks > allowed) throw new NotPermitted('over');
      },
    };
    const create = async (): Promise<unknown> => {
      const client = connect({ url: server.url, clock, fence });
      checks = 0;
      return client.create(WIDGET, widget('a', 1)).finally(() => client.close());
    };
    await create();
    expect(server.seen).toHaveLength(1);
    // before the wait for a token, before the request, and after the connect
    expect(checks).toBe(3);
    allowed = 2;
    await expect(create()).rejects.toThrow('the request was not sent: over');
    expect(server.seen).toHaveLength(1);
    expect(checks).toBe(3);
  });

  it('drops requests that wait for the rate limiter when the lease is lost', async () => {
    const slow = virtualClock();
    const leadership = new Leadership(slow);
    leadership.renew();
    const client = connect({ url: server.url, clock: slow, qps: 1, burst: 1, fence: leadership });
    const creations = Array.from({ length: 60 }, () => client.create(WIDGET, widget('a', 1)));
    const results = Promise.allSettled(creations);
    await creations[0];
    await slow.advance(11 * SECOND);
    await results;
    // One token at the start and one in each second until the deadline.
    expect(server.seen.length).toBeLessThanOrEqual(11);
    client.close();
  });

  it('aborts open requests when the lease is lost, and does not repeat them', async () => {
    const leadership = new Leadership(virtualClock());
    leadership.renew();
    let answering: (() => void) | undefined;
    const arrived = new Promise<void>((resolve) => {
      answering = resolve;
    });
    let hungUp: Promise<unknown> | undefined;
    server.script((_, response) => {
      hungUp = once(response, 'close');
      answering?.();
    });
    const client = connect({ url: server.url, clock, fence: leadership });
    const patched = client.patch(WIDGET, { name: 'a' }, {});
    await arrived;
    leadership.end('over');
    await expect(patched).rejects.toThrow('over');
    await hungUp;
    expect(server.seen).toHaveLength(1);
    client.close();
  });

  it('does not repeat a rejected request after the lease is lost', async () => {
    const still = virtualClock();
    const leadership = new Leadership(still);
    leadership.renew();
    server.script(status(429, 'TooManyRequests', 'later', { 'retry-after': '5' }));
    const client = connect({ url: server.url, clock: still, fence: leadership });
    const patched = expect(client.patch(WIDGET, { name: 'a' }, {})).rejects.toThrow();
    while (server.seen.length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
    leadership.end('over');
    await patched;
    expect(server.seen).toHaveLength(1);
    client.close();
  });

  it('checks once more after slow credentials', async () => {
    const leadership = new Leadership(clock);
    leadership.renew();
    const client = connect({ url: server.url, clock, fence: leadership });
    const created = client.create(WIDGET, widget('a', 1));
    leadership.end('over');
    await expect(created).rejects.toThrow('over');
    expect(server.seen).toEqual([]);
    client.close();
  });

  it('creates an object with a generated name only while the lease is held', async () => {
    const leadership = new Leadership(clock);
    const client = connect({ url: server.url, clock, fence: leadership });
    const creating = createOnce({ client, clock, signal: new AbortController().signal }, WIDGET, widget('a', 1));
    await expect(creating).rejects.toThrow(NotPermitted);
    expect(server.seen).toEqual([]);
    client.close();
  });

  it('serves a pod read with an open fence', async () => {
    server.script(json(pod));
    const client = connect({ url: server.url, clock, fence: openFence() });
    expect(await client.get(POD, { name: 'p', namespace: 'n' })).toMatchObject({ metadata: { name: 'p' } });
    client.close();
  });
});
