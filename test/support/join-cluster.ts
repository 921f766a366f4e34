/** The AWS and kubelets of the local world for a running control plane. */
import { steadyClock } from '../../src/lib/clock.ts';
import { type ServerVersion, type Surroundings, surround, type WorldOptions } from '../../src/local/world.ts';
import { type Credentials, connect, type KubeApi } from './kube-api.ts';
import { startCaches } from './watched-caches.ts';

/** A running cluster with an API server, a scheduler and controllers. */
export interface RunningCluster {
  /** URL of the API server. */
  readonly url: string;
  /** Credentials of an administrator, which the kubelets use. */
  readonly credentials: Credentials;
  /** Kubeconfig of the operator. */
  readonly kubeconfig: string;
}

export type JoinedCluster = Surroundings & { readonly kube: { readonly client: KubeApi } };

/**
 * Adds AWS and kubelets to the cluster in real time. The test installs the CustomResourceDefinitions. `stop` leaves the
 * cluster running.
 */
export async function joinCluster(
  { url, credentials, kubeconfig }: RunningCluster,
  options: Omit<WorldOptions, 'kubePort' | 'timeScale' | 'clock'> = {},
): Promise<JoinedCluster> {
  const client = connect(url, credentials);
  const version = (await client.raw('GET', '/version')) as ServerVersion;
  const { certificateAuthority } = credentials;
  const surroundings = await surround(
    { url, client, certificateAuthority, kubeconfig, version },
    { ...options, clock: steadyClock() },
    {
      connect: async (life) => ({ ...life, client, caches: startCaches({ ...life, client }) }),
      stopped: async () => client.close(),
    },
  );
  return { ...surroundings, kube: { ...surroundings.kube, client } };
}
