/** Messages between the thread of a run and the thread that starts it. */
import type { ReplayProgress, SettingsSet } from '../options.ts';
import type { ReplayRun } from '../result.ts';
import type { TraceEvent, TraceHeader } from '../trace/trace.ts';
import type { WorldModel } from '../world-model/world-model.ts';

/** Initial data of a thread. */
export interface ThreadData {
  readonly header: TraceHeader;
  readonly world: WorldModel;
  readonly set: SettingsSet;
  readonly life?: number | undefined;
}

/** Message to the thread: the next events of the trace, or the order to stop. `isLast` marks the last events. */
export type ThreadOrder = { readonly events: readonly TraceEvent[]; readonly isLast: boolean } | 'stop';

/** Message from the thread. After `more` the thread waits for events; after `run` or `error` it ends. */
export type ThreadReport =
  | 'more'
  | { readonly progress: RunProgress }
  | { readonly run: ReplayRun }
  | { readonly error: unknown };

/** Progress of one run, without its position among the runs. */
export type RunProgress = Omit<ReplayProgress, 'set' | 'life' | 'index' | 'runs'>;
