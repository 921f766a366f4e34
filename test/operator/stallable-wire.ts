/** Proxy between operators and a server that can stall: connections stay open, and all bytes arrive after the stall. */
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

export interface StallableWire {
  /** URL to use instead of the server's URL. */
  readonly url: string;
  stall(): void;
  resume(): void;
  /**
   * Resolves when a request whose first bytes contain the text arrives; `then` runs before the request is passed on.
   */
  when(text: string, then: () => void): Promise<void>;
  close(): Promise<void>;
}

/** @param target URL of the server, without TLS */
export async function startStallableWire(target: string): Promise<StallableWire> {
  const { hostname, port } = new URL(target);
  const sockets = new Set<Socket>();
  let isStalled = false;
  let onBytes: (bytes: Buffer) => void = () => undefined;

  const forward = (from: Socket, to: Socket): void => {
    sockets.add(from);
    if (isStalled) from.pause();
    from.on('data', (bytes: Buffer) => {
      onBytes(bytes);
      to.write(bytes);
      if (isStalled) from.pause();
    });
    from.once('end', () => to.end());
    from.on('error', () => to.destroy());
    from.once('close', () => {
      sockets.delete(from);
      to.destroy();
    });
  };
  const server = createServer({ allowHalfOpen: true }, (client) => {
    const upstream = connect({ host: hostname, port: Number(port), allowHalfOpen: true });
    forward(client, upstream);
    forward(upstream, client);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    stall() {
      isStalled = true;
      for (const socket of sockets) socket.pause();
    },
    when: (text, then) =>
      new Promise((resolve) => {
        onBytes = (bytes) => {
          if (!bytes.includes(text)) return;
          onBytes = () => undefined;
          then();
          resolve();
        };
      }),
    resume() {
      isStalled = false;
      for (const socket of sockets) socket.resume();
    },
    async close() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}
