/** Free ports for processes that cannot choose a port themselves. */
import { randomInt } from 'node:crypto';
import { createServer } from 'node:net';

/** Below the ports that Linux gives to outgoing connections. Any connection of another test could take one of those. */
const [LOWEST, HIGHEST] = [10_000, 32_767];
const TRIES = 100;

/** Returns different free ports. @throws Error if none is found */
export async function freePorts(count: number): Promise<readonly number[]> {
  const ports = new Set<number>();
  for (let tries = 0; ports.size < count; tries++) {
    if (tries > TRIES) throw new Error(`no free port between ${LOWEST} and ${HIGHEST}`);
    const port = randomInt(LOWEST, HIGHEST + 1);
    if (await isFree(port)) ports.add(port);
  }
  return [...ports];
}

export async function freePort(): Promise<number> {
  const [port = 0] = await freePorts(1);
  return port;
}

const isFree = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen(port, () => server.close(() => resolve(true)));
  });
