/** Counts and measures the calls of SDK clients. */
import type { Metrics } from '#observe/metrics';
import { codeOf } from './errors.ts';
import {
  AWS_SDK_GO_REQUEST,
  AWS_SDK_GO_REQUEST_ATTEMPT,
  AWS_SDK_GO_REQUEST_ATTEMPT_DURATION_SECONDS,
  AWS_SDK_GO_REQUEST_DURATION_SECONDS,
  AWS_SDK_GO_REQUEST_RETRY_COUNT,
} from './metric-declarations.ts';

type Next = (args: never) => Promise<{ readonly output: object }>;
type Middleware = (next: Next, context: { readonly clientName?: string; readonly commandName?: string }) => Next;

interface At<Step, Priority> {
  readonly step: Step;
  readonly priority: Priority;
  readonly name: string;
}

/** The part of an SDK client that the middleware needs. */
interface Instrumented {
  readonly middlewareStack: {
    add(middleware: Middleware, options: At<'initialize', 'high'>): void;
    add(middleware: Middleware, options: At<'finalizeRequest', 'low'>): void;
  };
}

interface Call {
  readonly service: string;
  readonly action: string;
}

const callOf = ({ clientName = '', commandName = '' }: Parameters<Middleware>[1]): Call => ({
  service: clientName.replace(/Client$/, ''),
  action: commandName.replace(/Command$/, ''),
});

function attemptsOf(answer: unknown): number {
  if (typeof answer !== 'object' || answer === null || !('$metadata' in answer)) return 1;
  const { attempts } = answer.$metadata as { readonly attempts?: number };
  return attempts ?? 1;
}

type Labels = Call & { readonly code: string };

/** Returns the middleware that measures each run of the next step and its result. */
const measuring =
  (record: (labels: Labels, seconds: number, attempts: number) => void): Middleware =>
  (next, context) => {
    const call = callOf(context);
    return async (args) => {
      const started = performance.now();
      const ended = (code: string, answer: unknown): void =>
        record({ ...call, code }, (performance.now() - started) / 1000, attemptsOf(answer));
      try {
        const answer = await next(args);
        ended('', answer.output);
        return answer;
      } catch (error) {
        ended(codeOf(error), error);
        throw error;
      }
    };
  };

/** Returns the middleware that measures each call of a client, including retries. */
function ofCalls(metrics: Metrics): Middleware {
  const requests = metrics.counter(AWS_SDK_GO_REQUEST);
  const durations = metrics.histogram(AWS_SDK_GO_REQUEST_DURATION_SECONDS);
  const retries = metrics.histogram(AWS_SDK_GO_REQUEST_RETRY_COUNT);
  return measuring((labels, seconds, attempts) => {
    requests.inc(labels);
    retries.observe(labels, attempts - 1);
    durations.observe(labels, seconds);
  });
}

/** Returns the middleware that measures each attempt and its result. */
function ofAttempts(metrics: Metrics): Middleware {
  const attempts = metrics.counter(AWS_SDK_GO_REQUEST_ATTEMPT);
  const durations = metrics.histogram(AWS_SDK_GO_REQUEST_ATTEMPT_DURATION_SECONDS);
  return measuring((labels, seconds) => {
    attempts.inc(labels);
    durations.observe(labels, seconds);
  });
}

/** Instruments every client of a list. */
export function instrument(clients: readonly Instrumented[], metrics: Metrics): void {
  const [calls, attempts] = [ofCalls(metrics), ofAttempts(metrics)];
  for (const { middlewareStack } of clients) {
    middlewareStack.add(calls, { step: 'initialize', name: 'instrument', priority: 'high' });
    // Runs within the SDK's retries, which are in the same step but have a higher priority.
    middlewareStack.add(attempts, { step: 'finalizeRequest', name: 'instrumentAttempts', priority: 'low' });
  }
}
