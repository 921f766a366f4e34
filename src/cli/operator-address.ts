/** Keeps a connection to the operator of a cluster for commands that read its data again and again. */
import type { HttpKubeReader } from '#kube/connection';
import type { ForwardedPort } from '#kube/port-forward';
import { askOperator, DEFAULT_SERVER } from './operator.ts';
import { isNamed } from './operator-or-cluster.ts';
import { forwardToOperator, type OperatorFlags } from './operator-pod.ts';
import { writeNotes } from './scenario.ts';

/** Limits of the request that finds an operator on this machine. */
const PROBE = { bytes: 65_536, ms: 3_000 };

/**
 * Address of the operator's metrics port: the given one, or a port that is forwarded to the leader. If the cluster of the
 * environment has no operator, it is the default address, for example of an operator on this machine.
 */
export class OperatorAddress {
  readonly #client: HttpKubeReader | undefined;
  readonly #cluster: OperatorFlags;
  readonly #server: string | undefined;
  /** Reason why the operator was not found. */
  #problem = '';
  #forwarded: ForwardedPort | undefined;
  /** Default address, after an operator was found there. */
  #default: string | undefined;

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
      if (typeof found !== 'string') this.#forwarded = found;
      else {
        this.#problem = found;
        this.#default ??= await this.#operatorHere(found);
      }
    }
    return this.#forwarded?.url ?? this.#default;
  }

  /** @param why reason why the cluster of the kubeconfig has no operator */
  async #operatorHere(why: string): Promise<string | undefined> {
    if (isNamed(this.#cluster)) return undefined;
    const isServed = await askOperator(DEFAULT_SERVER, '/debug/pause', PROBE).then(
      () => true,
      () => false,
    );
    if (!isServed) return undefined;
    writeNotes([`no operator was found with the kubeconfig (${why}), so the result is that of ${DEFAULT_SERVER}`]);
    return DEFAULT_SERVER;
  }

  async close(): Promise<void> {
    const port = this.#forwarded;
    this.#forwarded = undefined;
    await port?.close();
  }
}
