/** The live page: what the operator decides and what it costs, in a browser, as it happens. */
import type { EventNote } from '../observe/events/declaration.ts';
import { type LivePageOptions, serveLivePage } from './server.ts';
import { type LiveSources, LiveView } from './view.ts';

export type LiveOptions = LiveSources &
  Omit<LivePageOptions, 'view'> & {
    /** Ends its looking for prices; the server is closed by `close`. */
    readonly signal: AbortSignal;
  };

export interface LivePage {
  readonly url: string;
  /** Takes in events that the operator publishes. */
  readonly note: (...notes: readonly EventNote[]) => void;
  close(): Promise<void>;
}

/** @throws Error that names the setting when the port cannot be taken */
export async function openLive(options: LiveOptions): Promise<LivePage> {
  const view = new LiveView(options);
  const { url, close } = await serveLivePage({ ...options, view });
  void view.run(options.signal);
  return { url, note: (...notes) => view.note(...notes), close };
}
