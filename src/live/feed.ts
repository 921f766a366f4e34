/**
 * The state of the cluster as the live page's clients receive it. Each revision is serialized once, regardless of the number of
 * clients.
 */
import type { LiveChange, LiveNode, LiveState } from './model.ts';
import type { LiveView } from './view.ts';

export class LiveFeed {
  readonly #view: LiveView;
  /** JSON of each node at this revision, by name. */
  #rows: ReadonlyMap<string, string> = new Map();
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
    const rows = new Map(present.map((node) => [node.name, JSON.stringify(node)]));
    const nodes: readonly LiveNode[] = present.filter(({ name }) => rows.get(name) !== this.#rows.get(name));
    const gone = [...this.#rows.keys()].filter((name) => !rows.has(name));
    const pods = view.pending();
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
export const message = (event: 'state' | 'change', data: string): string => `event: ${event}\ndata: ${data}\n\n`;
