/** Deletions of objects by the controllers of a real control plane and by the local server. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { steadyClock } from '#lib/clock';
import { type LocalApiServer, startApiServer } from '#local/testing';
import { type ControlPlane, startControlPlane } from './harness/controlplane.ts';
import { type Server, serverAt } from './harness/http.ts';
import { eventually } from './harness/processes.ts';
import { LIVES } from './parity/lives.ts';
import { normal } from './parity/normal.ts';

describe('the life of objects on a real control plane and on the local server', () => {
  let plane: ControlPlane;
  let local: LocalApiServer;
  let servers: readonly [real: Server, ours: Server];

  beforeAll(async () => {
    plane = await startControlPlane();
    local = await startApiServer({ clock: steadyClock() });
    servers = [serverAt(plane.url, plane.credentials), serverAt(local.url)];
  }, 180_000);
  afterAll(async () => {
    for (const server of servers ?? []) server.close();
    await local?.close();
    await plane?.stop();
  }, 60_000);

  /** Creates a namespace with the service account that pods need. */
  async function namespaceOn(server: Server, name: string): Promise<string> {
    await server.send({ method: 'POST', path: '/api/v1/namespaces', body: { metadata: { name } } });
    const account = { method: 'GET', path: `/api/v1/namespaces/${name}/serviceaccounts/default` };
    await eventually('its service account', async () => (await server.send(account)).code === 200 || undefined, 60_000);
    return name;
  }

  it.each(LIVES.map((life, i) => [life.name, life, `life-${i}`] as const))(
    '%s',
    async (_, life, namespace) => {
      const [real, ours] = await Promise.all(
        servers.map(async (server) => life.live(server, await namespaceOn(server, namespace))),
      );
      expect(normal(ours)).toEqual(normal(real));
    },
    120_000,
  );
});
