/** A cluster on a laptop: a Kubernetes API server with its controllers, AWS endpoints, and kubelets for the instances. */
import type { LocalAws } from './aws/server.ts';
import type { KubeApi } from './client.ts';
import type { Clock } from './clock.ts';
import type { KubeletOptions } from './kubernetes/kubelets/options.ts';
import type { LocalApiServer } from './kubernetes/server.ts';

export interface WorldOptions {
  /** How many seconds of the world pass in one real second. Default 1. */
  readonly timeScale?: number;
  /** Used instead of a scaled real clock. */
  readonly clock?: Clock;
  readonly kubePort?: number;
  readonly awsPort?: number;
  readonly region?: string;
  /** Default `local`. */
  readonly clusterName?: string;
  /** Nodes that are there from the start and belong to nobody, for the operator's own pods. Default 0. */
  readonly systemNodes?: number;
  /** Delays of the machines, in the world's time. */
  readonly kubelets?: Partial<KubeletOptions>;
  /** Where the world's parts report what went wrong; silent by default. */
  readonly log?: (message: string) => void;
}

export interface World {
  readonly clock: Clock;
  readonly clusterName: string;
  readonly kube: {
    readonly url: string;
    /** The text of a kubeconfig for this cluster. */
    kubeconfig(): string;
    readonly client: KubeApi;
    readonly server: LocalApiServer;
  };
  readonly aws: LocalAws;
  /**
   * Environment of an operator for this world: KUBECONFIG (a file that `stop` removes), AWS_*, CLUSTER_NAME,
   * CLUSTER_ENDPOINT, INTERRUPTION_QUEUE, SYSTEM_NAMESPACE.
   */
  env(): Record<string, string>;
  /** Ends everything; resolves when the ports are free. */
  stop(): Promise<void>;
}

export declare function startWorld(options?: WorldOptions): Promise<World>;
