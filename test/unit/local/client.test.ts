import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { afterEach, describe, expect, it } from '@jest/globals';
import { connect, type KubeApi } from '../../support/kube-api.ts';

let server: Server;
let client: KubeApi;
afterEach(async () => {
  client.close();
  server.closeAllConnections();
  server.close();
  await once(server, 'close');
});

/** A server that closes the connection at the request with this number. */
async function serve(breaksAt: number): Promise<string[]> {
  const seen: string[] = [];
  const requests = new Map<Socket, number>();
  server = createServer((request, response) => {
    const number = (requests.get(request.socket) ?? 0) + 1;
    requests.set(request.socket, number);
    if (number === breaksAt) return void request.socket.destroy();
    seen.push(`${request.method} ${request.url}`);
    response.end('{}');
  });
  client = connect(await listening());
  return seen;
}

async function listening(): Promise<string> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

describe('the client of the local world', () => {
  it('retries on a new connection if the server has closed the kept-alive connection', async () => {
    const seen = await serve(2);
    await client.raw('GET', '/first');
    expect(await client.raw('POST', '/second', { a: 1 })).toEqual({});
    expect(seen).toEqual(['GET /first', 'POST /second']);
  });

  it('reports an error if a new connection breaks', async () => {
    await serve(1);
    await expect(client.raw('GET', '/first')).rejects.toThrow('Cannot reach the API server');
  });

  it('reports a rejection immediately, even if the response has Retry-After', async () => {
    server = createServer((_, response) => response.writeHead(429, { 'retry-after': '60' }).end('{}'));
    client = connect(await listening());
    await expect(client.raw('GET', '/busy')).rejects.toMatchObject({ status: 429 });
  });

  it('sends its token', async () => {
    server = createServer((request, response) => response.end(JSON.stringify(request.headers.authorization)));
    client = connect(await listening(), { token: 'a-token' });
    expect(await client.raw('GET', '/whoami')).toBe('Bearer a-token');
  });
});
