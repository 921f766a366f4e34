/** Connects a command to a live cluster. */
import { type Command, Option } from 'commander';
import type { HttpKubeReader } from '#kube/connection';
import { realClock } from '#lib/clock';

export interface ClusterFlags {
  readonly kubeconfig?: string;
  readonly context?: string;
}

/** Adds the options that select the cluster. */
export const withCluster = (command: Command): Command =>
  command
    .addOption(new Option('--kubeconfig <file>', 'default: same as kubectl').env('KUBECONFIG'))
    .option('--context <name>', 'context of the kubeconfig (default: the current context)');

/**
 * Opens a connection for the duration of `read`.
 *
 * @throws Error if the kubeconfig cannot be used
 */
export async function reading<T>(
  { kubeconfig, context }: ClusterFlags,
  userAgent: string,
  read: (client: HttpKubeReader) => Promise<T>,
): Promise<T> {
  // loading the Kubernetes library uses a second of CPU time, and help and files do not need it
  const { connectReader } = await import('#kube/connection');
  const client = connectReader({ clock: realClock(), userAgent, kubeconfig, context });
  try {
    return await read(client);
  } finally {
    client.close();
  }
}
