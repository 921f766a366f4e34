/** The live page: a browser view of the operator's current decisions and costs. */
import type { EventNote } from '#observe/events';
import { NodeLives } from './lives.ts';
import { type LivePageOptions, serveLivePage } from './server.ts';
import { type LiveSources, LiveView } from './view.ts';

export type LiveOptions = LiveSources &
  Omit<LivePageOptions, 'view' | 'lives'> & {
    /** Ends the price updates. Use `close` to stop the server. */
    readonly signal: AbortSignal;
  };

export interface LivePage {
  readonly url: string;
  /** Receives the events that the operator publishes. */
  readonly note: (...notes: readonly EventNote[]) => void;
  close(): Promise<void>;
}

/** Opens the live page. @throws Error with the name of the setting if the port is not available */
export async function openLive(options: LiveOptions): Promise<LivePage> {
  const view = new LiveView(options);
  const lives = new NodeLives(options.cluster, options.clock, options.history);
  const { url, close } = await serveLivePage({ ...options, view, lives });
  void view.run(options.signal);
  return { url, note: (...notes) => view.note(...notes), close };
}
