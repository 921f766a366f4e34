/** Counts and measures the calls of SDK clients. */
import {
  AWS_SDK_GO_REQUEST,
  AWS_SDK_GO_REQUEST_ATTEMPT,
  AWS_SDK_GO_REQUEST_ATTEMPT_DURATION_SECONDS,
  AWS_SDK_GO_REQUEST_DURATION_SECONDS,
  AWS_SDK_GO_REQUEST_RETRY_COUNT,
} from '../observe/metrics/aws.ts';
import type { Metrics } from '../observe/metrics.ts';
import { codeOf } from './errors.ts';

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

/** Returns the middleware that measures each call of a client, including retries. */
function ofCalls(metrics: Metrics): Middleware {
  const requests = metrics.counter(AWS_SDK_GO_REQUEST);
  const seconds = metrics.histogram(AWS_SDK_GO_REQUEST_DURATION_SECONDS);
  const retries = metrics.histogram(AWS_SDK_GO_REQUEST_RETRY_COUNT);
  return (next, context) => {
    const call = callOf(context);
    return async (args) => {
      const started = performance.now();
      const record = (code: string, attempts: number): void => {
        const labels = { ...call, code };
        requests.inc(labels);
        retries.observe(labels, attempts - 1);
        seconds.observe(labels, (performance.now() - started) / 1000);
      };
      try {
        const answer = await next(args);
        record('', attemptsOf(answer.output));
        return answer;
      } catch (error) {
        record(codeOf(error), attemptsOf(error));
        throw error;
      }
    };
  };
}

/** Returns the middleware that measures each attempt and its result. */
function ofAttempts(metrics: Metrics): Middleware {
  const attempts = metrics.counter(AWS_SDK_GO_REQUEST_ATTEMPT);
  const seconds = metrics.histogram(AWS_SDK_GO_REQUEST_ATTEMPT_DURATION_SECONDS);
  return (next, context) => {
    const call = callOf(context);
    return async (args) => {
      const started = performance.now();
      const record = (code: string): void => {
        const labels = { ...call, code };
        attempts.inc(labels);
        seconds.observe(labels, (performance.now() - started) / 1000);
      };
      try {
        const answer = await next(args);
        record('');
        return answer;
      } catch (error) {
        record(codeOf(error));
        throw error;
      }
    };
  };
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
