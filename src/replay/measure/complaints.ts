/**
 * Errors that the operator logs during a replay, counted by message. A message counts once for each object, because the
 * operator tries again and again, for example to schedule a pod. The rest of the log is discarded.
 */
import type { LogFields, Logger } from '../../observe/logger.ts';
import type { ReplayRun } from '../result.ts';

/** Maximum number of messages in the result. */
const MOST_MESSAGES = 50;
/** Maximum number of messages with a count of their own. Further messages share one count. */
const MOST_COUNTED = 1_000;
const OTHERS = 'other errors';
/** Maximum number of distinct objects for each message. Further objects count each time. */
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

  /** Messages in descending order of their count. */
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

/** Returns the object and the cause of an error in one line. */
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
