/** Counts and times the calls that SDK clients make, and says on failures which call it was. */
import {
  AWS_SDK_GO_REQUEST,
  AWS_SDK_GO_REQUEST_ATTEMPT,
  AWS_SDK_GO_REQUEST_DURATION_SECONDS,
  AWS_SDK_GO_REQUEST_RETRY_COUNT,
} from '../observe/metrics/aws.ts';
import type { Metrics } from '../observe/metrics.ts';
import { codeOf } from './errors.ts';

/** What the middleware needs of any SDK client. */
interface Instrumented {
  readonly middlewareStack: {
    add(
      middleware: (
        next: (args: never) => Promise<{ readonly output: object }>,
        context: { readonly clientName?: string; readonly commandName?: string },
      ) => (args: never) => Promise<{ readonly output: object }>,
      options: { readonly step: 'initialize'; readonly name: string; readonly priority: 'high' },
    ): void;
  };
}

function attemptsOf(answer: unknown): number {
  if (typeof answer !== 'object' || answer === null || !('$metadata' in answer)) return 1;
  const { attempts } = answer.$metadata as { readonly attempts?: number };
  return attempts ?? 1;
}

/** Instruments every client of a list. */
export function instrument(clients: readonly Instrumented[], metrics: Metrics): void {
  const requests = metrics.counter(AWS_SDK_GO_REQUEST);
  const attempts = metrics.counter(AWS_SDK_GO_REQUEST_ATTEMPT);
  const seconds = metrics.histogram(AWS_SDK_GO_REQUEST_DURATION_SECONDS);
  const retries = metrics.histogram(AWS_SDK_GO_REQUEST_RETRY_COUNT);
  for (const client of clients)
    client.middlewareStack.add(
      (next, { clientName = '', commandName = '' }) => {
        const call = { service: clientName.replace(/Client$/, ''), action: commandName.replace(/Command$/, '') };
        return async (args) => {
          const started = performance.now();
          const record = (code: string, tries: number): void => {
            const labels = { ...call, code };
            requests.inc(labels);
            attempts.inc(labels, tries);
            retries.observe(labels, tries - 1);
            seconds.observe(labels, (performance.now() - started) / 1000);
          };
          try {
            const answer = await next(args);
            record('', attemptsOf(answer.output));
            return answer;
          } catch (error) {
            record(codeOf(error), attemptsOf(error));
            if (error instanceof Error) Object.assign(error, { $service: call.service, $operation: call.action });
            throw error;
          }
        };
      },
      { step: 'initialize', name: 'instrument', priority: 'high' },
    );
}
