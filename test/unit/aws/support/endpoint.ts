/** A server in place of AWS, with the responses of a test. */
import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface Endpoint {
  readonly server: Server;
  /** Also restores the environment. */
  close(): Promise<void>;
}

/** Starts a server that later clients of this process use. */
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
