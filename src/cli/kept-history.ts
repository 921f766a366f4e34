/** Reads the history that the operator stores in its cluster. */
import { CONFIG_MAP } from '#api/objects';
import type { KubeReader } from '#kube/client';
import { textOf } from '#kube/reconcilers';
import { messageOf } from '#lib';
import { HISTORY_NAME, newHistory, type OperatorHistory, restoreHistory } from '#observe/history';

/**
 * Reads the operator's stored history. This history is up to five minutes old.
 *
 * @param option option of the command that names the namespace
 * @throws Error with a remedy if the history does not exist
 */
export async function keptHistory(
  client: Pick<KubeReader, 'find'>,
  namespace: string,
  option: string,
): Promise<OperatorHistory> {
  const where = `ConfigMap ${namespace}/${HISTORY_NAME}`;
  const found = await client.find(CONFIG_MAP, { name: HISTORY_NAME, namespace });
  if (found === undefined)
    throw new Error(
      `${where} does not exist; check the namespace of the operator (${option}) and that COST_HISTORY is not false`,
    );
  const history = newHistory();
  try {
    restoreHistory(history, await textOf(found), Date.now());
  } catch (error) {
    throw new Error(`${where} does not contain a valid history: ${messageOf(error)}`, { cause: error });
  }
  return history;
}
