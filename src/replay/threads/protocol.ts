/** What a replay's thread and the one that started it tell each other. */
import type { ReplayProgress, SettingsSet } from '../options.ts';
import type { ReplayRun } from '../result.ts';
import type { TraceEvent, TraceHeader } from '../trace/trace.ts';
import type { WorldModel } from '../world-model/world-model.ts';

/** What a thread is started with. */
export interface ThreadData {
  readonly header: TraceHeader;
  readonly world: WorldModel;
  readonly set: SettingsSet;
}

/** To the thread: the next events of the trace, `isLast` with the last of them; or the order to stop. */
export type ThreadOrder = { readonly events: readonly TraceEvent[]; readonly isLast: boolean } | 'stop';

/** From the thread. After `more` it waits for events; after `run` or `error` it ends. */
export type ThreadReport =
  | 'more'
  | { readonly progress: RunProgress }
  | { readonly run: ReplayRun }
  | { readonly error: unknown };

/** How far one run is, whatever others there are. */
export type RunProgress = Omit<ReplayProgress, 'set' | 'index' | 'sets'>;
