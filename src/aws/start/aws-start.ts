/**
 * Start of the provider, until the first successful discovery. Calls have a shorter timeout than later, and are
 * retried while AWS is unreachable. During this time the replica is not ready, and it becomes ready without a restart.
 *
 *   waiting ──discovery succeeds──▶ over
 *   waiting ──signal aborts──▶ interrupted
 */
import { describeError } from '../errors.ts';

/** Timeout of one attempt. */
const ANSWER_MS = 10_000;

type Next = (args: never) => Promise<{ readonly output: object }>;
interface Context {
  readonly clientName?: string;
  readonly commandName?: string;
}

interface Request {
  readonly protocol: string;
  readonly hostname: string;
  readonly port?: number;
}

/** The part of an SDK client that a start watches. */
interface Watched {
  readonly middlewareStack: {
    add(
      middleware: (next: Next, context: Context) => Next,
      options: { readonly step: 'initialize'; readonly name: string },
    ): void;
    add(
      middleware: (next: Next, context: Context) => Next,
      options: { readonly step: 'finalizeRequest'; readonly name: string; readonly priority: 'low' },
    ): void;
  };
  destroy(): void;
}

/** Unfinished calls of one operation. */
interface Waiting {
  calls: number;
  endpoint?: string;
  /** Error of the last failed attempt. */
  failure?: string;
}

export class AwsStart {
  readonly signal: AbortSignal;
  readonly #calls = new Map<string, Waiting>();
  #region: string | undefined;
  #isOver = false;

  /** @param signal interrupts the start */
  constructor(signal: AbortSignal) {
    this.signal = signal;
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  /** Timeout of an attempt in milliseconds, or undefined after the start. */
  get answerMs(): number | undefined {
    return this.#isOver ? undefined : ANSWER_MS;
  }

  end(): void {
    this.#isOver = true;
    this.#calls.clear();
  }

  /** Records the calls of clients, and closes their connections if the start is interrupted. */
  watch(region: string, clients: readonly Watched[]): void {
    this.#region = region;
    for (const { middlewareStack } of clients) {
      middlewareStack.add(this.#recordCall, { step: 'initialize', name: 'startCalls' });
      middlewareStack.add(this.#recordAttempt, { step: 'finalizeRequest', name: 'startAttempts', priority: 'low' });
    }
    const destroy = (): void => {
      if (!this.#isOver) for (const client of clients) client.destroy();
    };
    this.signal.addEventListener('abort', destroy, { once: true });
  }

  /** Describes each operation without a response. Returns an empty list after the start. */
  waitingFor(): readonly string[] {
    if (this.#isOver) return [];
    if (this.#region === undefined)
      return ['the AWS region, from the environment, the shared config or instance metadata'];
    const calls = [...this.#calls].map(([name, { endpoint, failure }]) => {
      const what = endpoint === undefined ? `credentials for ${name}` : `${name} at ${endpoint}`;
      const last = failure === undefined ? '' : `, the last attempt failed: ${failure}`;
      return `${what} in region ${this.#region}${last}`;
    });
    return calls.length > 0 ? calls : ['the AWS provider'];
  }

  readonly #recordCall = (next: Next, context: Context): Next => {
    const name = nameOf(context);
    return async (args) => {
      if (this.#isOver) return next(args);
      const waiting = this.#calls.get(name) ?? { calls: 0 };
      this.#calls.set(name, waiting);
      waiting.calls += 1;
      try {
        return await next(args);
      } finally {
        waiting.calls -= 1;
        if (waiting.calls === 0) this.#calls.delete(name);
      }
    };
  };

  readonly #recordAttempt = (next: Next, context: Context): Next => {
    const name = nameOf(context);
    return async (args) => {
      const waiting = this.#calls.get(name);
      if (waiting === undefined) return next(args);
      waiting.endpoint = endpointOf((args as { readonly request: Request }).request);
      try {
        return await next(args);
      } catch (error) {
        waiting.failure = describeError(error).slice(0, MOST_TEXT);
        throw error;
      }
    };
  };
}

const MOST_TEXT = 300;

const nameOf = ({ clientName = '', commandName = '' }: Context): string =>
  `${clientName.replace(/Client$/, '')} ${commandName.replace(/Command$/, '')}`;

const endpointOf = ({ protocol, hostname, port }: Request): string =>
  `${protocol}//${hostname}${port === undefined ? '' : `:${port}`}`;
