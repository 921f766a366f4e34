/** What the operator complained about in a replay: its errors, counted by message. Nothing else is kept of its log. */
import type { LogFields, Logger } from '../../observe/logger.ts';
import type { ReplayRun } from '../result.ts';

/** Messages that are told. */
const MOST_MESSAGES = 50;
/** Messages that are counted; further ones are not told apart. */
const MOST_COUNTED = 1_000;
const OTHERS = 'other errors';

export class Complaints {
  readonly #counts = new Map<string, { count: number; readonly example: string }>();

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
      error: (message, fields = {}) => this.#count(message, { ...bound, ...fields }),
      with: (fields) => this.#with({ ...bound, ...fields }),
    };
  }

  #count(message: string, fields: LogFields): void {
    const isOther = !this.#counts.has(message) && this.#counts.size >= MOST_COUNTED;
    const name = isOther ? OTHERS : message;
    const known = this.#counts.get(name);
    if (known === undefined) this.#counts.set(name, { count: 1, example: exampleOf(fields) });
    else known.count += 1;
  }
}

/** Who it was about and what went wrong, in a line. */
function exampleOf({ error, controller: _controller, reconcileID: _id, ...about }: LogFields): string {
  const cause = error instanceof Error ? error.message : error === undefined ? '' : String(error);
  const names = Object.entries(about).map(([name, value]) => `${name}=${nameOf(value)}`);
  return [...names, cause].filter((part) => part !== '').join(' ');
}

function nameOf(value: unknown): string {
  if (typeof value !== 'object' || value === null) return String(value);
  const { namespace, name } = value as { readonly namespace?: string; readonly name?: string };
  return name === undefined ? JSON.stringify(value) : namespace ? `${namespace}/${name}` : name;
}
