/** Hostile requests to the operator's ports. */
import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type HostileWorld, startHostileWorld } from './hostile-world.ts';
import { expectBounded } from './memory.ts';
import { PORT_FLOODS, PORT_INPUTS, type PortInput } from './port-inputs.ts';
import { speak } from './raw-http.ts';
import { groupsOf, playTogether } from './together.ts';

let hostile: HostileWorld;
beforeAll(async () => {
  hostile = await startHostileWorld();
});
afterAll(() => hostile.stop());

const urls = (): readonly string[] => [hostile.operator.metricsUrl, hostile.operator.healthUrl];

/** Number of inputs that are sent at the same time. */
const TOGETHER = 11;

const play = (inputs: readonly PortInput[]): Promise<void> =>
  playTogether(hostile, inputs, async (together) => {
    for (const url of urls())
      await Promise.all(
        together.map(async ({ name, say, answers, quietMs }) => {
          const { status } = await speak(url, say, quietMs);
          expect({ name, answers }).toEqual({ name, answers: expect.arrayContaining([status]) });
        }),
      );
    await hostile.expectHealthy();
  });

describe('a port', () => {
  it.each([...groupsOf(PORT_INPUTS, TOGETHER), ...groupsOf(PORT_FLOODS, 1)])('handles $names', ({ inputs }) =>
    play(inputs));

  it.each([
    { what: 'open connections that say nothing', words: '' },
    { what: 'requests that never end', words: 'GET /metrics HTTP/1.1\r\nHost: x\r\n' },
  ])('handles 200 $what', async ({ words }) => {
    const sockets = urls().flatMap((url) =>
      Array.from({ length: 200 }, () => connect({ host: '127.0.0.1', port: Number(new URL(url).port) })),
    );
    for (const socket of sockets) {
      socket.on('error', () => undefined);
      socket.write(words);
    }
    await hostile.expectHealthy();
    for (const socket of sockets) socket.destroy();
  });

  it.each([
    '/metrics',
    '/debug/instancetypes',
    '/debug/offerings',
    '/debug/verdicts',
    '/debug/moves',
    '/debug/holds',
    '/debug/launches',
    '/debug/budgets',
    '/debug/blockers',
    '/debug/what-if?change=scale%20deploy/web%3D3',
  ])('handles 25 clients that request %s repeatedly', async (path) => {
    const client = async (): Promise<void> => {
      for (let i = 0; i < 4; i += 1)
        await (await fetch(`${hostile.operator.metricsUrl}${path}`)).arrayBuffer().catch(() => undefined);
    };
    await Promise.all([hostile.expectHealthy(), ...Array.from({ length: 25 }, client)]);
  });

  it('handles 30 concurrent readiness probes', async () => {
    const ask = async (): Promise<number> => (await fetch(`${hostile.operator.healthUrl}/readyz?verbose`)).status;
    for (let round = 0; round < 10; round += 1)
      expect(new Set(await Promise.all(Array.from({ length: 30 }, ask)))).toEqual(new Set([200]));
    await hostile.expectHealthy();
  });

  it('handles all of these within the memory limits of the operator', () => expectBounded(hostile));
});
