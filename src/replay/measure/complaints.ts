/**
 * What the operator complained about in a replay: its errors, counted by message, and once for each object that they are
 * about, such as a pod without a node, which is tried again and again. Nothing else is kept of its log.
 */
import type { LogFields, Logger } from '../../observe/logger.ts';
import type { ReplayRun } from '../result.ts';

/** Messages that are told. */
const MOST_MESSAGES = 50;
/** Messages that are counted; further ones are not told apart. */
const MOST_COUNTED = 1_000;
const OTHERS = 'other errors';
/** Objects that are remembered for each message; further ones count each time. */
const MOST_OBJECTS = 20_000;

interface Complaint {
  count: number;
  readonly example: string;
  readonly about: Set<string>;
}

export class Complaints {
  readonly #counts = new Map<string, Complaint>();

  get logger(): Logger {
    return this.#with({});
  }

  /** The most frequent first. */
  get told(): ReplayRun['complaints'] {
    return [...this.#counts]
      .map(([message, { count, example }]) => ({ message, count, example }))
      .sort((a, b) => b.count - a.count || (a.message < b.message ? -1 : 1))
      .slice(0, MOST_MESSAGES);
  }

  #with(bound: LogFields): Logger {
    return {
      debug: () => {},
      info: () => {},
      warn: () => {},
      error: (message, fields = {}) => this.#count(message, { ...bound, ...fields }),
      with: (fields) => this.#with({ ...bound, ...fields }),
    };
  }

  #count(message: string, fields: LogFields): void {
    const isOther = !this.#counts.has(message) && this.#counts.size >= MOST_COUNTED;
    const name = isOther ? OTHERS : message;
    const known = this.#counts.get(name) ?? { count: 0, example: exampleOf(fields), about: new Set() };
    this.#counts.set(name, known);
    const about = aboutOf(fields);
    if (about !== '' && known.about.has(about)) return;
    known.count += 1;
    if (about !== '' && known.about.size < MOST_OBJECTS) known.about.add(about);
  }
}

/** Who it was about and what went wrong, in a line. */
function exampleOf(fields: LogFields): string {
  const { error } = fields;
  const cause = error instanceof Error ? error.message : error === undefined ? '' : String(error);
  return [aboutOf(fields), cause].filter((part) => part !== '').join(' ');
}

const aboutOf = ({ error: _error, controller: _controller, reconcileID: _id, ...about }: LogFields): string =>
  Object.entries(about)
    .map(([name, value]) => `${name}=${nameOf(value)}`)
    .join(' ');

function nameOf(value: unknown): string {
  if (typeof value !== 'object' || value === null) return String(value);
  const { namespace, name } = value as { readonly namespace?: string; readonly name?: string };
  return name === undefined ? JSON.stringify(value) : namespace ? `${namespace}/${name}` : name;
}
