/** What the nodes cost: measured, and remembered over restarts. */
import { ConfigMapDocument } from '../../kube/config-map-document.ts';
import type { Controller } from '../../kube/reconciler.ts';
import { HISTORY_NAME, type History, newHistory } from '../../observe/history/document.ts';
import type { Deps } from '../deps.ts';
import { CostLoop } from './cost-loop.ts';
import { HistoryKeeper } from './history-keeper.ts';

/** A history, and who keeps it over restarts; nobody where no namespace is known. */
export interface KeptHistory extends History {
  readonly keeper?: HistoryKeeper;
}

/** None where the settings want none. */
export function openHistory(
  { settings, client, log }: Pick<Deps, 'settings' | 'client' | 'log'>,
  namespace: string | undefined,
): KeptHistory | undefined {
  if (!settings.costHistory) return undefined;
  const history = newHistory();
  if (!namespace) return history;
  const document = new ConfigMapDocument({ client, log, namespace, name: HISTORY_NAME });
  return { ...history, keeper: new HistoryKeeper(history, document) };
}

export function costControllers(deps: Deps, history: KeptHistory | undefined): readonly Controller[] {
  if (history === undefined && deps.settings.disableClusterStateObservability) return [];
  return [new CostLoop(deps, history?.hours), ...(history?.keeper === undefined ? [] : [history.keeper])];
}

/** How long the end of the process may wait for the API server. */
const LAST_WRITE_MS = 5_000;

/** Writes what is new of a history when everything else has stopped: a stop in good order loses nothing. */
export async function leaveHistory(
  history: KeptHistory | undefined,
  { clock, log }: Pick<Deps, 'clock' | 'log'>,
): Promise<void> {
  const written = history?.keeper
    ?.write()
    .catch((error: unknown) => log.debug('failed writing the history', { error }));
  if (written !== undefined) await Promise.race([written, clock.sleep(LAST_WRITE_MS)]);
}
