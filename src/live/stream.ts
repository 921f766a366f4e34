/** Sends server-sent events to the open pages: first the whole state, then changes. */
import type { ServerResponse } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import type { Logger } from '../observe/logger.ts';
import { LiveFeed, message } from './feed.ts';
import type { LiveChange } from './model.ts';
import type { LiveView } from './view.ts';

/** Minimum time between two checks for changes. Checks may use a twentieth of the thread's time. */
const LOOK_MS = 1_000;
const SHARE = 20;
/** Maximum time without data, because proxies close silent connections. */
const SILENCE_MS = 15_000;
const MOST_WATCHERS = 20;
/** Limits the cost of reconnects. Further clients between two checks wait for the next check. */
const MOST_AT_ONCE = 4;
/**
 * Maximum number of unread bytes of changes. A client beyond this limit is disconnected, reconnects, and receives the whole
 * state.
 */
const MOST_UNREAD_BYTES = 4 * 2 ** 20;

export class LiveStream {
  readonly #view: LiveView;
  readonly #log: Logger;
  readonly #watchers = new Set<ServerResponse>();
  /** Clients that have not received the state yet. */
  readonly #waiting = new Set<ServerResponse>();
  /** Kept from the first client until a check finds no clients. */
  #feed: LiveFeed | undefined;
  #isLooking = false;
  #atOnce = 0;
  #sentMs = 0;
  #stateBytes = 0;

  constructor(view: LiveView, log: Logger) {
    this.#view = view;
    this.#log = log;
  }

  get watchers(): number {
    return this.#watchers.size + this.#waiting.size;
  }

  /** Adds a client. Returns false if the maximum number of clients is already connected. */
  watch(response: ServerResponse): boolean {
    if (this.watchers >= MOST_WATCHERS) return false;
    response.once('close', () => {
      this.#watchers.delete(response);
      this.#waiting.delete(response);
    });
    response.writeHead(200, { 'content-type': 'text/event-stream', 'x-content-type-options': 'nosniff' });
    response.flushHeaders();
    this.#waiting.add(response);
    if (!this.#isLooking) void this.#lookOut();
    else this.#admit();
    return true;
  }

  /** Checks for changes while clients are connected. An error disconnects the clients, which then reconnect. */
  async #lookOut(): Promise<void> {
    this.#isLooking = true;
    while (this.watchers > 0) {
      const startedMs = performance.now();
      try {
        this.#look(startedMs);
      } catch (error) {
        this.#log.error('failed refreshing the live page, trying again', { error });
        this.#disconnect();
      }
      // the timer does not keep a process alive after its servers are closed
      await pause(Math.max(LOOK_MS, (performance.now() - startedMs) * SHARE), undefined, { ref: false });
    }
    this.#feed = undefined;
    this.#isLooking = false;
  }

  #look(nowMs: number): void {
    if (this.#feed === undefined) this.#feed = new LiveFeed(this.#view);
    else {
      const change = this.#feed.advance();
      if (isChange(change) || nowMs - this.#sentMs >= SILENCE_MS) this.#send(change, nowMs);
    }
    this.#atOnce = Number.POSITIVE_INFINITY;
    this.#admit();
    this.#atOnce = MOST_AT_ONCE;
  }

  #send(change: LiveChange, nowMs: number): void {
    this.#sentMs = nowMs;
    const text = Buffer.from(message('change', JSON.stringify(change)));
    for (const watcher of this.#watchers) {
      if (watcher.writableLength > MOST_UNREAD_BYTES + this.#stateBytes) watcher.destroy();
      else watcher.write(text);
    }
  }

  /** Sends the state to as many waiting clients as currently permitted. */
  #admit(): void {
    for (const response of this.#waiting) {
      if (this.#feed === undefined || this.#atOnce <= 0) return;
      this.#atOnce -= 1;
      const state = this.#feed.state();
      this.#stateBytes = state.length;
      this.#waiting.delete(response);
      this.#watchers.add(response);
      response.write(state);
    }
  }

  #disconnect(): void {
    for (const response of [...this.#watchers, ...this.#waiting]) response.destroy();
    this.#watchers.clear();
    this.#waiting.clear();
    this.#feed = undefined;
  }
}

/** Returns true if more than the time has changed. */
function isChange({ nodes, gone, pending, decisions, costs }: LiveChange): boolean {
  return nodes.length + gone.length + decisions.length + costs.length > 0 || pending !== undefined;
}
