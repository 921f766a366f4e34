/**
 * Proxy of an API server for Services. The programs behind them run outside the cluster, where the addresses of Services
 * lead nowhere.
 */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Duplex } from 'node:stream';

export interface ServiceProxy {
  /** Flag that lets the API server reach Services through the proxy. */
  readonly flag: string;
  /** Sends connections to an address such as `172.20.0.10:443` to a local port. */
  serve(address: string, port: number): void;
  stop(): Promise<void>;
}

export async function startServiceProxy(): Promise<ServiceProxy> {
  const ports = new Map<string, number>();
  const open = new Set<Duplex>();
  const server = createServer();
  server.on('connect', ({ url = '' }, socket) => {
    const port = ports.get(url);
    if (port === undefined) return void socket.end('HTTP/1.1 502 Bad Gateway\r\n\r\n');
    const upstream = connect(port, '127.0.0.1', () => {
      socket.write('HTTP/1.1 200 Connection Established\r\n\r\n');
      socket.pipe(upstream).pipe(socket);
    });
    for (const [one, other] of [
      [socket, upstream],
      [upstream, socket],
    ] as const) {
      open.add(one);
      one.on('error', () => other.destroy());
      one.on('close', () => {
        open.delete(one);
        other.destroy();
      });
    }
  });
  const folder = await mkdtemp(join(tmpdir(), 'karpenter-proxy-'));
  // the API server fails to start with a proxy behind a plain TCP port
  const udsName = join(folder, 'proxy.sock');
  await new Promise<void>((resolve) => server.listen(udsName, resolve));
  const file = join(folder, 'egress.json');
  const connection = { proxyProtocol: 'HTTPConnect', transport: { uds: { udsName } } };
  await writeFile(
    file,
    JSON.stringify({
      apiVersion: 'apiserver.k8s.io/v1beta1',
      kind: 'EgressSelectorConfiguration',
      egressSelections: [{ name: 'cluster', connection }],
    }),
  );
  return {
    flag: `--egress-selector-config-file=${file}`,
    serve: (address, port) => void ports.set(address, port),
    async stop() {
      server.close();
      for (const socket of open) socket.destroy();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
