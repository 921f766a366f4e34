/** Finds the operator for `karpenter top`, again if its leader changes. */
import type { HttpKubeReader } from '../../kube/http.ts';
import type { ForwardedPort } from '../../kube/port-forward.ts';
import type { ClusterFlags } from '../cluster.ts';
import { forwardToOperator } from '../operator-pod.ts';

/** Address of the operator's metrics port: the given one, or a port that is forwarded to the leader. */
export class OperatorAddress {
  readonly #client: HttpKubeReader;
  readonly #cluster: ClusterFlags;
  readonly #server: string | undefined;
  #forwarded: ForwardedPort | undefined;

  constructor(client: HttpKubeReader, cluster: ClusterFlags, server: string | undefined) {
    this.#client = client;
    this.#cluster = cluster;
    this.#server = server;
  }

  /** Returns undefined if the cluster has no operator, or if its Lease or its pod cannot be read. */
  async url(isLost = false): Promise<string | undefined> {
    if (this.#server !== undefined) return this.#server;
    if (isLost) await this.close();
    if (this.#forwarded === undefined) {
      const found = await forwardToOperator(this.#client, this.#cluster);
      if (typeof found !== 'string') this.#forwarded = found;
    }
    return this.#forwarded?.url;
  }

  async close(): Promise<void> {
    const port = this.#forwarded;
    this.#forwarded = undefined;
    await port?.close();
  }
}
