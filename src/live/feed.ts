/**
 * The state of the cluster as the live page's clients receive it. Each revision is serialized once, regardless of the number of
 * clients.
 */
import type { LiveChange, LiveNode, LiveState } from './model.ts';
import type { LiveView } from './view.ts';

/** Maximum number of nodes in a change. Further changed nodes follow with the next changes, in turn. */
const MOST_CHANGED = 500;

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
export const message = (event: 'state' | 'change', data: string): string => `event: ${event}\ndata: ${data}\n\n`;
