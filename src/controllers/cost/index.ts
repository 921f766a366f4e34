/** Measures the cost of the nodes and keeps its history across restarts. */
import { ConfigMapDocument } from '../../kube/config-map-document.ts';
import { DocumentKeeper } from '../../kube/document-keeper.ts';
import type { Controller } from '../../kube/reconciler.ts';
import {
  HISTORY_NAME,
  historyTexts,
  newHistory,
  type OperatorHistory,
  restoreHistory,
} from '../../observe/history/document.ts';
import type { Deps } from '../deps.ts';
import { CostLoop } from './cost-loop.ts';

/** History, and the controller that saves it across restarts. The controller is undefined if no namespace is known. */
export interface KeptHistory extends OperatorHistory {
  readonly keeper?: DocumentKeeper;
}

/** Returns undefined if the settings disable the history. */
export function openHistory(
  { settings, client, log }: Pick<Deps, 'settings' | 'client' | 'log'>,
  namespace: string | undefined,
): KeptHistory | undefined {
  if (!settings.costHistory) return undefined;
  const history = newHistory();
  if (!namespace) return history;
  const document = new ConfigMapDocument({ client, log, namespace, name: HISTORY_NAME });
  return { ...history, keeper: historyKeeper(history, document) };
}

export const historyKeeper = (history: OperatorHistory, document: ConfigMapDocument): DocumentKeeper =>
  new DocumentKeeper(
    'cost.history',
    {
      get changes() {
        return history.decisions.changes + history.hours.changes;
      },
      texts: () => historyTexts(history),
      restore: (text) => restoreHistory(history, text),
    },
    document,
  );

export function costControllers(deps: Deps, history: KeptHistory | undefined): readonly Controller[] {
  if (history === undefined && deps.settings.disableClusterStateObservability) return [];
  return [new CostLoop(deps, history?.hours), ...(history?.keeper === undefined ? [] : [history.keeper])];
}
