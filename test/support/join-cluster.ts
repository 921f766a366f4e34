/** The AWS and kubelets of the local world for a control plane of a test. */
import { createClusterObjects } from '#local/cluster';
import type { JoinOptions } from '#local/testing';
import { joinCluster as join, type Surroundings } from '#local/world';
import { type Credentials, connect, type KubeApi } from './kube-api.ts';

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
 * Adds AWS and kubelets, and the objects of a new EKS cluster, in real time. The test installs the
 * CustomResourceDefinitions. `stop` leaves the cluster running.
 */
export async function joinCluster(
  { url, credentials, kubeconfig }: RunningCluster,
  options: JoinOptions = {},
): Promise<JoinedCluster> {
  const client = connect(url, credentials);
  await createClusterObjects(client);
  const surroundings = await join({ client, kubeconfig }, options);
  return { ...surroundings, kube: { ...surroundings.kube, client } };
}
