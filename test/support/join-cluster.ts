/** The local world's AWS and kubelets around a control plane that runs already. */
import { steadyClock } from '../../src/lib/clock.ts';
import { type ServerVersion, type Surroundings, surround, type WorldOptions } from '../../src/local/world.ts';
import { type Credentials, connect, type KubeApi } from './kube-api.ts';
import { startCaches } from './watched-caches.ts';

/** A cluster that runs already, with an API server, a scheduler and controllers of its own. */
export interface RunningCluster {
  /** Of its API server. */
  readonly url: string;
  /** Of somebody who may do anything: the kubelets work with them. */
  readonly credentials: Credentials;
  /** The text of the kubeconfig that the operator gets. */
  readonly kubeconfig: string;
}

export type JoinedCluster = Surroundings & { readonly kube: { readonly client: KubeApi } };

/**
 * Puts AWS and kubelets around the cluster. Its CustomResourceDefinitions are left to the test, and its clock is real time.
 * `stop` leaves the cluster running.
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
