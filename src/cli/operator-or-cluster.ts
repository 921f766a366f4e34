/** Reads data of the operator of a live cluster, or returns the reason why this is impossible. */
import type { HttpKubeReader } from '../kube/http.ts';
import { messageOf } from '../lib/error-message.ts';
import { forwardToOperator, type OperatorFlags } from './operator-pod.ts';

/** Reason why the result is computed from the objects of the cluster. */
export const notAsked = (why: string): string =>
  `the operator cannot be reached (${why}), so the result is computed from the objects of the cluster; use --server with the metrics port of an operator`;

/**
 * @param ask reads from the base URL of the operator
 * @throws Error if the cluster has several operators
 */
export async function fromOperator<T>(
  client: HttpKubeReader,
  flags: OperatorFlags,
  ask: (server: string) => Promise<T>,
): Promise<{ readonly answer: T } | { readonly why: string }> {
  const forwarded = await forwardToOperator(client, flags);
  if (typeof forwarded === 'string') return { why: forwarded };
  try {
    return { answer: await ask(forwarded.url) };
  } catch (error) {
    return { why: messageOf(error) };
  } finally {
    await forwarded.close();
  }
}
