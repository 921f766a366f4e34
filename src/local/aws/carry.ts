/** Result of one call to a handler, after rate limits and faults, without the wire format. */
import { type Disturbance, throttlingError } from './faults.ts';
import type { Account } from './state/account.ts';
import { AwsError } from './wire/error.ts';
import { type AwsCall, type AwsService, operationOf } from './wire/service.ts';
import type { OperationShape } from './wire/shape.ts';

interface Carried {
  /** Output in the SDK's types. It has no meaning if the response is lost. */
  readonly output: unknown;
  readonly broken: Disturbance['broken'];
}

/** @throws AwsError the service's error response */
export type Carry = (service: AwsService, action: string, input: object, call: AwsCall) => Promise<Carried>;

export function carrier(account: Account): Carry {
  const admits = account.options.rateLimiter?.(account.clock) ?? (() => true);

  return async (service, action, input, call) => {
    const failed = account.calls.record(service.name, action, input, account.clock.now());
    try {
      if (service.name === 'ec2' && !admits(action, input as Readonly<Record<string, unknown>>))
        throw throttlingError(service.name);
      const { delayMs, error, broken } = account.faults.onCall(service.name, action);
      if (delayMs > 0) await account.clock.sleep(delayMs, call.signal);
      if (error) throw error;
      if (broken !== undefined) failed(broken);
      if (broken === 'unheard') return { output: {}, broken };
      if (broken === 'empty') return { output: nothingListed(await operationOf(service, action)), broken };
      return { output: await service.handlers[action]?.(input, call), broken };
    } catch (error) {
      const known = asAwsError(error);
      failed(known.code);
      throw known;
    }
  };
}

/** Converts other errors of a handler to an internal error of the local AWS. */
export const asAwsError = (error: unknown): AwsError =>
  error instanceof AwsError ? error : new AwsError('InternalError', internal(error), 500);

const nothingListed = ({ output }: OperationShape): Record<string, unknown> =>
  output.kind === 'structure'
    ? Object.fromEntries(output.members.filter(({ shape }) => shape.kind === 'list').map(({ name }) => [name, []]))
    : {};

const internal = (error: unknown): string => (error instanceof Error ? (error.stack ?? error.message) : String(error));
