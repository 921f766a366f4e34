/** Reads the objects of a live cluster that determine costs, and the history that its operator keeps. */
import { CONFIG_MAP } from '../../api/kinds.ts';
import type { KubeReader } from '../../kube/client.ts';
import { textOf } from '../../kube/config-map-document.ts';
import type { HttpKubeReader } from '../../kube/http.ts';
import { HISTORY_NAME, newHistory, type OperatorHistory, restoreHistory } from '../../observe/history/document.ts';
import { clusterManifests } from '../cluster-manifests.ts';
import type { Manifest } from '../objects/read.ts';
import { READ_KINDS } from '../snapshot/kinds.ts';

/** Kinds that determine the costs of nodes and their users. */
const KINDS: ReadonlySet<string> = new Set(['NodePool', 'EC2NodeClass', 'NodeOverlay', 'NodeClaim', 'Node', 'Pod']);

/** @throws Error if the cluster cannot be reached, its nodes cannot be read, or it has objects of older versions */
export async function costManifests(
  client: Pick<HttpKubeReader, 'list' | 'raw'>,
): Promise<{ readonly manifests: readonly Manifest[]; readonly unknown: readonly string[] }> {
  const kinds = READ_KINDS.filter(({ versions: [{ kind }] }) => KINDS.has(kind));
  const { manifests, notRead } = await clusterManifests(client, kinds);
  const refused = notRead.filter(({ kind }) => KINDS.has(kind));
  const needed = refused.find(({ kind }) => kind === 'Node' || kind === 'NodePool');
  if (needed !== undefined)
    throw new Error(`${needed.kind}s cannot be read: ${needed.why}; use a kubeconfig with the permission to list them`);
  return { manifests, unknown: refused.map(({ kind, why, effect }) => `${kind}s cannot be read (${why}): ${effect}`) };
}

/**
 * Reads the operator's stored history. This history is up to five minutes old.
 *
 * @throws Error with a remedy if the history does not exist
 */
export async function keptHistory(client: Pick<KubeReader, 'find'>, namespace: string): Promise<OperatorHistory> {
  const where = `ConfigMap ${namespace}/${HISTORY_NAME}`;
  const found = await client.find(CONFIG_MAP, { name: HISTORY_NAME, namespace });
  if (found === undefined)
    throw new Error(
      `${where} does not exist; check the namespace of the operator (--namespace) and that COST_HISTORY is not false`,
    );
  const history = newHistory();
  try {
    restoreHistory(history, await textOf(found));
  } catch (error) {
    throw new Error(
      `${where} does not contain a valid history: ${error instanceof Error ? error.message : String(error)}`,
      {
        cause: error,
      },
    );
  }
  return history;
}
