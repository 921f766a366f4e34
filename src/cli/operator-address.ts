/** Keeps a connection to the operator of a cluster for commands that read its data again and again. */
import type { HttpKubeReader } from '#kube/connection';
import type { ForwardedPort } from '#kube/port-forward';
import { forwardToOperator, type OperatorFlags } from './operator-pod.ts';

/** Address of the operator's metrics port: the given one, or a port that is forwarded to the leader. */
export class OperatorAddress {
  readonly #client: HttpKubeReader | undefined;
  readonly #cluster: OperatorFlags;
  readonly #server: string | undefined;
  /** Reason why the operator was not found. */
  #problem = '';
  #forwarded: ForwardedPort | undefined;

  /** @param client undefined if the server is given */
  constructor(client: HttpKubeReader | undefined, cluster: OperatorFlags, server: string | undefined) {
    this.#client = client;
    this.#cluster = cluster;
    this.#server = server;
  }

  /** Reason why the last search found no operator. */
  get problem(): string {
    return this.#problem;
  }

  /** Returns undefined if the cluster has no operator, or if its Lease or its pod cannot be read. */
  async url(isLost = false): Promise<string | undefined> {
    if (this.#server !== undefined) return this.#server;
    if (isLost) await this.close();
    if (this.#forwarded === undefined && this.#client !== undefined) {
      const found = await forwardToOperator(this.#client, this.#cluster);
      if (typeof found === 'string') this.#problem = found;
      else this.#forwarded = found;
    }
    return this.#forwarded?.url;
  }

  async close(): Promise<void> {
    const port = this.#forwarded;
    this.#forwarded = undefined;
    await port?.close();
  }
}
