/** Forwards a port of this machine to a port of a pod through the API server, as `kubectl port-forward` does. */
import { createServer, type Server, type Socket } from 'node:net';
import { PortForward } from '@kubernetes/client-node';
import { type ConnectionOptions, loadConfig } from './kubeconfig.ts';

export interface ForwardTarget {
  readonly namespace: string;
  readonly pod: string;
  readonly port: number;
}

export interface ForwardedPort {
  /** Base URL on this machine. */
  readonly url: string;
  close(): Promise<void>;
}

/** Opens a port on loopback. Each connection to it opens a stream to the pod. @throws Error if the kubeconfig cannot be used */
export async function forwardPort(
  options: ConnectionOptions,
  { namespace, pod, port }: ForwardTarget,
): Promise<ForwardedPort> {
  const forward = new PortForward(loadConfig(options), true);
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
    socket.on('error', () => socket.destroy());
    forward.portForward(namespace, pod, [port], socket, null, socket).then(
      (stream) => {
        if (typeof stream === 'function') return;
        // each side ends with the other; the client of this port reports a closed connection
        stream.addEventListener('close', () => socket.destroy());
        if (socket.destroyed) stream.close();
        else socket.on('close', () => stream.close());
      },
      () => socket.destroy(),
    );
  });
  await listening(server);
  const address = server.address();
  const local = typeof address === 'object' && address !== null ? address.port : 0;
  return {
    url: `http://127.0.0.1:${local}`,
    close: () =>
      new Promise((resolve) => {
        for (const socket of sockets) socket.destroy();
        server.close(() => resolve());
      }),
  };
}

const listening = (server: Server): Promise<void> =>
  new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, '127.0.0.1', resolve);
  });
