/** Reads data of the operator of a live cluster, or returns the reason why this is impossible. */
import type { HttpKubeReader } from '#kube/connection';
import { messageOf } from '#lib';
import { reading } from './cluster.ts';
import { askOperator, DEFAULT_SERVER, restraintOf } from './operator.ts';
import { forwardToOperator, type OperatorFlags, SeveralOperators } from './operator-pod.ts';
import { writeNotes } from './scenario.ts';

export interface LeaderFlags extends OperatorFlags {
  /** URL of the operator's metrics port. Undefined for the operator in the cluster of the kubeconfig. */
  readonly server?: string;
}

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

/**
 * Reads from the given operator, or from the leader in the cluster of the kubeconfig. If this cluster has no operator and the
 * user has not named it, reads from the default address, for example that of an operator on this machine.
 *
 * @param ask reads from the base URL of the operator
 * @throws Error with the reasons of all attempts
 */
export async function fromLeader<T>(
  { server, ...flags }: LeaderFlags,
  ask: (server: string) => Promise<T>,
): Promise<T> {
  if (server !== undefined) return ask(server);
  let isFound = false;
  const why = await reading(flags, 'karpenter', async (client) => {
    const forwarded = await forwardToOperator(client, flags);
    if (typeof forwarded === 'string') return forwarded;
    isFound = true;
    try {
      return { answer: await ask(forwarded.url) };
    } finally {
      await forwarded.close();
    }
  }).catch((error: unknown) => {
    // another operator must not answer instead
    if (isFound || error instanceof SeveralOperators) throw error;
    return messageOf(error);
  });
  if (typeof why !== 'string') return why.answer;
  if (isNamed(flags))
    throw new Error(`no operator was found in the cluster (${why}); use --server with its metrics port`);
  try {
    const answer = await ask(DEFAULT_SERVER);
    writeNotes([`no operator was found with the kubeconfig (${why}), so the result is that of ${DEFAULT_SERVER}`]);
    return answer;
  } catch (error) {
    const problem = `no operator was found with the kubeconfig (${why}), and ${messageOf(error)}`;
    throw new Error(problem, { cause: error });
  }
}

/** Reads a path as {@link fromLeader}, and notes a pause of the operator, or that it observes. */
export const askLeader = <T>(flags: LeaderFlags, path: string): Promise<T> =>
  fromLeader(flags, async (server) => {
    const answer = await askOperator<T>(server, path);
    const { paused, observed } = await restraintOf(server);
    if (paused !== undefined) writeNotes([`${paused}; end it with karpenter resume`]);
    if (observed !== undefined) writeNotes([observed]);
    return answer;
  });

/** Returns true if options name the cluster, and not only the environment. */
export const isNamed = ({ kubeconfig, context }: OperatorFlags): boolean =>
  context !== undefined || kubeconfig !== process.env.KUBECONFIG;
