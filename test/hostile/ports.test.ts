/** Hostile requests to the operator's ports. */
import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type HostileWorld, startHostileWorld } from './hostile-world.ts';
import { expectBounded } from './memory.ts';
import { PORT_INPUTS, type PortInput } from './port-inputs.ts';
import { speak } from './raw-http.ts';

let hostile: HostileWorld;
beforeAll(async () => {
  hostile = await startHostileWorld();
});
afterAll(() => hostile.stop());

const urls = (): readonly string[] => [hostile.operator.metricsUrl, hostile.operator.healthUrl];

async function play({ say, answers, quietMs }: PortInput): Promise<void> {
  for (const url of urls()) expect(answers).toContain((await speak(url, say, quietMs)).status);
  await hostile.expectHealthy();
}

describe('the ports handle', () => {
  it.each(PORT_INPUTS)('$name', play);

  it.each([
    { what: 'open connections that say nothing', words: '' },
    { what: 'requests that never end', words: 'GET /metrics HTTP/1.1\r\nHost: x\r\n' },
  ])('200 $what', async ({ words }) => {
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
  ])('25 clients that request %s repeatedly', async (path) => {
    const client = async (): Promise<void> => {
      for (let i = 0; i < 4; i += 1)
        await (await fetch(`${hostile.operator.metricsUrl}${path}`)).arrayBuffer().catch(() => undefined);
    };
    await Promise.all([hostile.expectHealthy(), ...Array.from({ length: 25 }, client)]);
  });

  it('30 concurrent readiness probes', async () => {
    const ask = async (): Promise<number> => (await fetch(`${hostile.operator.healthUrl}/readyz?verbose`)).status;
    for (let round = 0; round < 10; round += 1)
      expect(new Set(await Promise.all(Array.from({ length: 30 }, ask)))).toEqual(new Set([200]));
    await hostile.expectHealthy();
  });

  it('all of these within the memory limits of the operator', () => expectBounded(hostile));
});
