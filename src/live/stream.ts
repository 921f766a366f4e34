/** Server-sent events to those who look: the whole state first, then what changes. */
import type { ServerResponse } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import type { Logger } from '../observe/logger.ts';
import type { LiveChange, LiveState } from './model.ts';
import type { LiveView } from './view.ts';

/** Between two looks for changes. They may take a twentieth of the thread. */
const LOOK_MS = 1_000;
const SHARE = 20;
/** Proxies end connections on which nothing comes. */
const SILENCE_MS = 15_000;
const MOST_WATCHERS = 20;
/** Who does not read what is sent is disconnected, and comes back for the whole state. */
const MOST_UNREAD_BYTES = 4 * 2 ** 20;

export class LiveStream {
  readonly #view: LiveView;
  readonly #log: Logger;
  readonly #watchers = new Set<ServerResponse>();
  #isLooking = false;

  constructor(view: LiveView, log: Logger) {
    this.#view = view;
    this.#log = log;
  }

  get watchers(): number {
    return this.#watchers.size;
  }

  /** Answers false when there are as many as it serves. */
  watch(response: ServerResponse): boolean {
    if (this.#watchers.size >= MOST_WATCHERS) return false;
    response.once('close', () => this.#watchers.delete(response));
    response.writeHead(200, { 'content-type': 'text/event-stream', 'x-content-type-options': 'nosniff' });
    response.write(message('state', this.#view.state()));
    this.#watchers.add(response);
    if (!this.#isLooking) void this.#lookOut();
    return true;
  }

  /** An error costs those who watch their connection, and the operator nothing: they come back for the whole state. */
  async #lookOut(): Promise<void> {
    this.#isLooking = true;
    try {
      await this.#look();
    } catch (error) {
      this.#log.error('failed refreshing the live page, trying again', { error });
      for (const watcher of this.#watchers) watcher.destroy();
      this.#watchers.clear();
    }
    this.#isLooking = false;
  }

  /** While anybody watches. */
  async #look(): Promise<void> {
    const next = this.#view.changes(this.#view.state());
    let toldMs = performance.now();
    for (let tookMs = 0; this.#watchers.size > 0; ) {
      await pause(Math.max(LOOK_MS, tookMs * SHARE));
      const startedMs = performance.now();
      const change = next();
      tookMs = performance.now() - startedMs;
      const isNews = isChange(change);
      if (!isNews && startedMs - toldMs < SILENCE_MS) continue;
      toldMs = startedMs;
      this.#send(message('change', change));
    }
  }

  #send(text: string): void {
    for (const watcher of this.#watchers) {
      if (watcher.writableLength > MOST_UNREAD_BYTES) watcher.destroy();
      else watcher.write(text);
    }
  }
}

const message = (event: 'state' | 'change', data: LiveState | LiveChange): string =>
  `event: ${event}\ndata: ${JSON.stringify(data)}\n\n`;

/** The time alone is no news. */
function isChange({ nodes, gone, pending, decisions, costs }: LiveChange): boolean {
  return nodes.length + gone.length + decisions.length + costs.length > 0 || pending !== undefined;
}
