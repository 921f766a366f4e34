import { afterEach, describe, expect, it } from '@jest/globals';
import { NODE_POOL } from '#api/objects';
import { monotonicMs, since } from '#lib/clock';
import type { LogFields, Logger } from '#observe/logger';
import { createMetrics } from '#observe/setup';
import type { EventNote } from '../../../src/kube/events.ts';
import { openFence } from '../../../src/kube/fence.ts';
import { connect } from '../../../src/kube/http.ts';
import { ServerClock } from '../../../src/kube/server-clock.ts';
import { type SettableClock, settableClock } from '../virtualclock.ts';
import { json, type ScriptedServer, scriptedServer } from './scriptedserver.ts';

const SECOND = 1_000;
const HOUR = 3_600 * SECOND;
const DAY = 24 * HOUR;
const LEASE = { name: 'karpenter-leader-election', namespace: 'kube-system' };

const httpDate = (ms: number): string => new Date(ms).toUTCString();

interface Setup {
  readonly machine: SettableClock;
  readonly clock: ServerClock;
  readonly lines: readonly { readonly level: string; readonly message: string; readonly fields?: LogFields }[];
  readonly metrics: ReturnType<typeof createMetrics>;
  /** The API server's time. */
  serverNow(): number;
  /** Receives responses of the API server, each after `tookMs`. */
  hear(answers?: number, tookMs?: number): Promise<void>;
}

/** @param aheadMs time by which the API server's clock is ahead of the machine's */
function setup(aheadMs: number): Setup {
  const machine = settableClock(Date.UTC(2026, 5, 1, 12, 0, 0, 400));
  const lines: { level: string; message: string; fields?: LogFields }[] = [];
  const log: Logger = {
    debug: () => undefined,
    info: (message) => lines.push({ level: 'info', message }),
    warn: (message, fields = {}) => lines.push({ level: 'warn', message, fields }),
    error: (message, fields = {}) => lines.push({ level: 'error', message, fields }),
    with: () => log,
  };
  const metrics = createMetrics();
  const clock = new ServerClock(machine, { log, metrics });
  const startMs = machine.now() - monotonicMs(machine) + aheadMs;
  const serverNow = (): number => startMs + monotonicMs(machine);
  return {
    ...{ machine, clock, lines, metrics, serverNow },
    async hear(answers = 1, tookMs = 20) {
      for (let answer = 0; answer < answers; answer += 1) {
        const sentMs = monotonicMs(machine);
        await machine.advance(tookMs / 2);
        const date = httpDate(serverNow());
        await machine.advance(tookMs / 2);
        clock.correct({ date, age: undefined, sentMs });
      }
    },
  };
}

const skewOf = async ({ metrics }: Setup): Promise<number> =>
  Number(/^karpenter_api_server_clock_skew_seconds (\S+)$/m.exec(await metrics.text())?.[1]);

describe('ServerClock', () => {
  it.each([
    ['an hour ahead', HOUR],
    ['20 minutes ahead', HOUR / 3],
    ['an hour behind', -HOUR],
    ['a year behind', -365 * DAY],
  ])('shows the time of an API server that is %s after three responses', async (_, aheadMs) => {
    const world = setup(aheadMs);
    await world.hear(2);
    expect(world.clock.now()).toBe(world.machine.now());
    await world.hear();
    expect(Math.abs(world.clock.now() - world.serverNow())).toBeLessThanOrEqual(SECOND);
    expect(Number.isInteger(world.clock.now())).toBe(true);
    expect(Math.abs((await skewOf(world)) + aheadMs / SECOND)).toBeLessThanOrEqual(1);
  });

  it('keeps its time while responses allow it, despite the resolution of their dates', async () => {
    const world = setup(HOUR);
    await world.hear(3);
    const ahead = (): number => world.clock.now() - monotonicMs(world.machine);
    const before = ahead();
    for (let round = 0; round < 500; round += 1) {
      await world.machine.advance(137);
      await world.hear(1, (round * 37) % 900);
    }
    expect(ahead()).toBe(before);
  });

  it('leaves the time of a synchronized machine unchanged', async () => {
    const world = setup(300);
    for (let round = 0; round < 100; round += 1) {
      await world.machine.advance(137);
      await world.hear(1, 50);
      expect(world.clock.now()).toBe(world.machine.now());
    }
    expect(await skewOf(world)).toBe(0);
    expect(world.lines).toEqual([]);
  });

  it('takes the duration of a request into account', async () => {
    const world = setup(0);
    await world.hear(5, 50 * SECOND);
    expect(world.clock.now()).toBe(world.machine.now());
  });

  it.each([
    ['no date', { date: undefined, age: undefined }],
    ['an empty date', { date: '', age: undefined }],
    ['a text', { date: 'yesterday', age: undefined }],
    ['another form of dates', { date: '2026-06-01T10:00:00Z', age: undefined }],
    ['the beginning of time', { date: httpDate(0), age: undefined }],
    ['a day that does not exist', { date: 'Tue, 99 Jun 2026 10:00:00 GMT', age: undefined }],
    ['a date out of a cache', { date: 'Mon, 01 Jun 2026 10:00:00 GMT', age: '7200' }],
  ])('ignores responses with %s', (_, headers) => {
    const { clock, machine } = setup(0);
    for (let answer = 0; answer < 9; answer += 1) clock.correct({ ...headers, sentMs: monotonicMs(machine) });
    expect(clock.now()).toBe(machine.now());
  });

  it('ignores responses that disagree if the next response agrees', async () => {
    const world = setup(0);
    for (let round = 0; round < 20; round += 1) {
      for (let answer = 0; answer < 2; answer += 1)
        world.clock.correct({
          date: httpDate(world.serverNow() - HOUR),
          age: undefined,
          sentMs: monotonicMs(world.machine),
        });
      await world.hear();
    }
    expect(world.clock.now()).toBe(world.machine.now());
  });

  it('ignores responses that disagree with each other', async () => {
    const world = setup(0);
    for (let answer = 1; answer < 20; answer += 1)
      world.clock.correct({
        date: httpDate(world.serverNow() - answer * HOUR),
        age: undefined,
        sentMs: monotonicMs(world.machine),
      });
    expect(world.clock.now()).toBe(world.machine.now());
  });

  it('follows the machine if the API server is more than a day ahead, and reports it', async () => {
    const world = setup(2 * DAY);
    await world.hear(6);
    expect(world.clock.now()).toBe(world.machine.now());
    expect(world.lines.map(({ message }) => message)).toEqual([
      'the clock of the API server is more than a day ahead, using the time of the machine',
    ]);
    expect(Math.abs((await skewOf(world)) + (2 * DAY) / SECOND)).toBeLessThanOrEqual(1);
  });

  it('keeps its time when the clock of the machine is set', async () => {
    const world = setup(-HOUR);
    await world.hear(3);
    world.machine.put(-HOUR);
    expect(Math.abs(world.clock.now() - world.serverNow())).toBeLessThanOrEqual(SECOND);
    await world.hear(3);
    expect(Math.abs(world.clock.now() - world.serverNow())).toBeLessThanOrEqual(SECOND);
    expect(Math.abs(await skewOf(world))).toBeLessThanOrEqual(1);
  });

  it('does not count a correction as elapsed time', async () => {
    const world = setup(HOUR);
    const elapsed = since(world.clock);
    await world.hear(3, 20);
    expect(world.clock.now() - world.machine.now()).toBeGreaterThan(HOUR / 2);
    expect([elapsed.atLeast(), elapsed.atMost()]).toEqual([60, 60]);
  });

  it('reports a skew once, and its end', async () => {
    const world = setup(-HOUR);
    await world.hear(10);
    expect(world.lines).toEqual([
      {
        level: 'warn',
        message: 'the clock of the machine differs from the clock of the API server, using the time of the API server',
        fields: {
          'machine-clock': "1h0m0s ahead of the API server's clock",
          remedy: 'synchronize the clocks of the node and of the control plane with NTP, for example with chrony',
        },
      },
    ]);
    world.machine.put(-HOUR);
    await world.hear(10);
    expect(world.lines.slice(1)).toEqual([
      { level: 'info', message: 'the clock of the machine matches the clock of the API server again' },
    ]);
  });

  it('does not report a difference of a few seconds', async () => {
    const world = setup(4 * SECOND);
    await world.hear(10);
    expect(Math.abs(world.clock.now() - world.serverNow())).toBeLessThanOrEqual(SECOND);
    expect(world.lines).toEqual([]);
  });

  it('publishes an event for the Lease, also for a skew that was found earlier', async () => {
    const world = setup(HOUR);
    await world.hear(3);
    const notes: EventNote[] = [];
    const lease = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata: LEASE };
    world.clock.reportTo({ publish: (...more) => void notes.push(...more) }, lease);
    expect(notes).toMatchObject([
      { object: { kind: 'Lease', metadata: LEASE }, type: 'Warning', reason: 'ClockSkewed' },
    ]);
    expect(notes[0]?.message).toBe(
      "The clock of the operator's machine is 1h0m0s behind the API server's clock; synchronize both with NTP, for example by chrony",
    );
  });
});

describe('the client of the API server', () => {
  let server: ScriptedServer | undefined;
  afterEach(() => server?.close());

  it('corrects the clock by successful responses only', async () => {
    server = await scriptedServer();
    const { clock, machine, serverNow } = setup(HOUR);
    const client = connect({ fence: openFence(), url: server.url, clock, mostRetries: 0 });
    const dated = (ms: number) => ({ date: httpDate(ms) });
    server.script(json({}, 403, dated(serverNow() + DAY)));
    for (let request = 0; request < 4; request += 1)
      await client.get(NODE_POOL, { name: 'default' }).catch(() => undefined);
    expect(clock.now()).toBe(machine.now());
    server.script(json({ metadata: { resourceVersion: '1' }, items: [] }, 200, dated(serverNow())));
    for (let request = 0; request < 4; request += 1) await client.list(NODE_POOL);
    expect(Math.abs(clock.now() - serverNow())).toBeLessThanOrEqual(SECOND);
    client.close();
  });
});
