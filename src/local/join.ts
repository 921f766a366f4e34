/** The AWS and kubelets of the local world for a running cluster, such as a kind cluster. */
import { steadyClock } from '#lib/clock';
import type { RemoteClient } from './remote-client.ts';
import { startCaches } from './watched-caches.ts';
import { type ServerVersion, type Surroundings, surround, type WorldOptions } from './world.ts';

/** A running cluster with an API server, a scheduler and controllers. */
export interface RunningCluster {
  /** Client of an administrator, which the kubelets use. It is closed when the world stops. */
  readonly client: RemoteClient;
  /** Kubeconfig of the operator. */
  readonly kubeconfig: string;
}

export type JoinOptions = Omit<WorldOptions, 'kubePort' | 'timeScale' | 'clock'>;

/** Adds AWS and kubelets to the cluster in real time. `stop` leaves the cluster running. */
export async function joinCluster(
  { client, kubeconfig }: RunningCluster,
  options: JoinOptions = {},
): Promise<Surroundings> {
  const version = (await client.raw('GET', '/version')) as ServerVersion;
  const { url, caBundle } = client;
  return surround(
    { url, client, kubeconfig, version, ...(caBundle && { certificateAuthority: caBundle }) },
    { ...options, clock: steadyClock() },
    {
      connect: async (life) => ({ ...life, client, caches: startCaches({ ...life, client }) }),
      stopped: async () => client.close(),
    },
  );
}
