/** Sends the state of the cluster to the open pages as server-sent events: first the whole state, then changes. */
import type { ServerResponse } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import type { Logger } from '#observe/logger';
import type { LiveChange, LiveNode, LiveState } from './model.ts';
import { pendingGroups } from './pending.ts';
import type { LiveView } from './view.ts';

/** Minimum time between two checks for changes. Checks may use a twentieth of the thread's time. */
const LOOK_MS = 1_000;
const SHARE = 20;
/** Maximum time without data, because proxies close silent connections. */
const SILENCE_MS = 15_000;
const MOST_WATCHERS = 20;
/** Maximum number of causes of pending pods, and of names of pods for each. The groups count all pods. */
const MOST_GROUPS = 100;
const MOST_NAMED = 60;
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

/** Maximum number of nodes in a change. Further changed nodes follow with the next changes, in turn. */
const MOST_CHANGED = 500;

/** State of the cluster for the live page's clients. Each revision is serialized once, regardless of their number. */
export class LiveFeed {
  readonly #view: LiveView;
  /** JSON of each node at this revision, by name. */
  #rows: ReadonlyMap<string, string> = new Map();
  /** Position of the first changed node that the last change left out. */
  #next = 0;
  #pending = '';
  #summary = '';
  #lastDecision = 0;
  #lastSampleMs = 0;
  #state: Buffer | undefined;

  constructor(view: LiveView) {
    this.#view = view;
    this.advance();
  }

  /** Returns the message with the whole state of this revision. The buffer is shared and must not be changed. */
  state(): Buffer {
    this.#state ??= Buffer.from(this.#serialize());
    return this.#state;
  }

  /** Advances to the current revision and returns the differences from the previous revision. */
  advance(): LiveChange {
    const view = this.#view;
    const present = view.nodes();
    const { rows, nodes } = this.#advanceNodes(present);
    const gone = [...this.#rows.keys()].filter((name) => !rows.has(name));
    const pods = pendingGroups(view.pending(), MOST_NAMED).slice(0, MOST_GROUPS);
    const pending = JSON.stringify(pods);
    const change: LiveChange = {
      summary: view.summary(),
      nodes,
      gone,
      ...(pending === this.#pending ? {} : { pending: pods }),
      decisions: view.decisions.since(this.#lastDecision),
      costs: view.costs.filter(([atMs]) => atMs > this.#lastSampleMs),
    };
    this.#rows = rows;
    this.#pending = pending;
    this.#summary = JSON.stringify(change.summary);
    this.#lastDecision = view.decisions.lastId;
    this.#lastSampleMs = change.costs.at(-1)?.[0] ?? this.#lastSampleMs;
    this.#state = undefined;
    return change;
  }

  /** Returns the nodes of the next change, and the rows of all nodes after this change. */
  #advanceNodes(present: readonly LiveNode[]): {
    readonly rows: ReadonlyMap<string, string>;
    readonly nodes: readonly LiveNode[];
  } {
    const texts = present.map((node) => JSON.stringify(node));
    const changed = present.flatMap(({ name }, at) => (texts[at] === this.#rows.get(name) ? [] : [at]));
    const later = changed.findIndex((at) => at >= this.#next);
    const inTurn = later <= 0 ? changed : [...changed.slice(later), ...changed.slice(0, later)];
    // the first state has all nodes
    const most = this.#rows.size === 0 ? changed.length : MOST_CHANGED;
    const sent = new Set(inTurn.slice(0, most));
    this.#next = inTurn[most] ?? 0;
    const rows = new Map(
      present.flatMap(({ name }, at): readonly [string, string][] => {
        const text = sent.has(at) ? texts[at] : this.#rows.get(name);
        return text === undefined ? [] : [[name, text]];
      }),
    );
    return { rows, nodes: present.filter((_, at) => sent.has(at)) };
  }

  #serialize(): string {
    const { decisions, costs } = this.#view;
    const texts: Readonly<Record<keyof LiveState, string>> = {
      summary: this.#summary,
      nodes: `[${[...this.#rows.values()].join(',')}]`,
      pending: this.#pending,
      // later entries are part of the next change
      decisions: JSON.stringify(decisions.list().filter(({ id }) => id <= this.#lastDecision)),
      costs: JSON.stringify(costs.filter(([atMs]) => atMs <= this.#lastSampleMs)),
    };
    const fields = Object.entries(texts).map(([name, text]) => `"${name}":${text}`);
    return message('state', `{${fields.join(',')}}`);
  }
}

/** Formats a server-sent event. */
const message = (event: 'state' | 'change', data: string): string => `event: ${event}\ndata: ${data}\n\n`;
