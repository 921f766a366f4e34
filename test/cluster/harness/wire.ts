/** A proxy between operators and a real API server that can be interrupted. */
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type CuttableProxy, startCuttableProxy } from '../../operator/cuttable-proxy.ts';
import type { Cluster } from './cluster.ts';

export interface Wire extends CuttableProxy {
  /** Environment of operators that use the proxy. */
  readonly env: Readonly<Record<string, string>>;
}

export async function startWire({ plane, kubeconfig }: Cluster): Promise<Wire> {
  const cable = await startCuttableProxy(plane.url, {
    key: await readFile(plane.certificateKey, 'utf8'),
    cert: await readFile(plane.certificateAuthority, 'utf8'),
  });
  const file = join(plane.folder, `wire-${new URL(cable.url).port}.kubeconfig`);
  await writeFile(file, kubeconfig.replaceAll(plane.url, cable.url), { mode: 0o600 });
  return { ...cable, env: { KUBECONFIG: file } };
}
