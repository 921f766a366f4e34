/** Check of an account and a cluster that a provider offers to the command line. */

/** Result of one check. */
export interface Finding {
  readonly level: 'ok' | 'warning' | 'error';
  /** Object or permission under test, as `KIND NAME` or as an action of the cloud. */
  readonly subject: string;
  readonly message: string;
  /** Remedy, absent if there is no problem. */
  readonly fix?: string;
  /** True if this check could not run, so that its result is unknown. */
  readonly unasked?: true;
}

export interface DoctorOptions {
  /** Defaults to the name that the installed controller uses. */
  readonly clusterName?: string | undefined;
  /** Defaults to the queue that the installed controller uses. */
  readonly interruptionQueue?: string | undefined;
  readonly kubeconfig?: string | undefined;
  /** Version of this product. */
  readonly version: string;
}

/**
 * Reports every known problem that prevents the operator from launching nodes. Only reads and dry runs.
 * @throws Error if the cluster is unknown or the API server is unreachable
 */
export type Examine = (options: DoctorOptions) => Promise<readonly Finding[]>;
