/** A server in the place of AWS, which answers what a test wants. */
import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface Endpoint {
  readonly server: Server;
  /** Also puts the environment back. */
  close(): Promise<void>;
}

/** From now on clients that are made in this process ask it. */
export async function serveAws(answer: RequestListener): Promise<Endpoint> {
  const environment = { ...process.env };
  const server = createServer(answer).listen(0, '127.0.0.1');
  await once(server, 'listening');
  Object.assign(process.env, {
    AWS_ENDPOINT_URL: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    AWS_REGION: 'us-west-2',
    AWS_ACCESS_KEY_ID: 'local',
    AWS_SECRET_ACCESS_KEY: 'local',
  });
  const close = async (): Promise<void> => {
    process.env = environment;
    server.closeAllConnections();
    server.close();
    await once(server, 'close');
  };
  return { server, close };
}
