/** An answer of AWS that cannot be what it should be. It says nothing about the objects of the request: neither "none" nor "gone". */

import { isThrottle } from './throttles.ts';

/** Longest text of a parser or server that an error repeats. */
const MAX_TEXT = 200;
const MAX_SERVICE_TEXT = 2_000;

const shortened = (text: string, most: number): string =>
  text.length <= most ? text : `${text.slice(0, most)}… (${text.length} characters)`;

/** Which call of which service. */
export interface Call {
  readonly service: string;
  readonly operation: string;
}

export class UnusableAnswer extends Error {
  override readonly name = 'UnusableAnswer';

  /** @param problem a predicate about the answer, such as `Images is missing`, without what the answer holds */
  constructor({ service, operation }: Call, problem: string) {
    super(`the answer of ${service} to ${operation} cannot be used: ${shortened(problem, MAX_TEXT)}`);
  }
}

const isService = (error: Error): boolean => '$fault' in error;

/** Why a body is no answer of the protocol, without its parts: they may be what somebody keeps secret. */
export function unreadable(call: Call, error: Error): UnusableAnswer {
  const isXml = error.message.startsWith('@aws-sdk XML parse error: ');
  const [line = ''] = error.message.split('\n');
  return new UnusableAnswer(
    call,
    isXml ? line.replace('@aws-sdk XML parse error: ', 'no XML, ') : 'it cannot be parsed',
  );
}

/** Whether the SDK has failed to read an answer, rather than to get one. */
export const isParseError = (error: unknown): error is Error =>
  error instanceof Error && '$response' in error && !isService(error) && !(error instanceof UnusableAnswer);

/** Whether the service has said in words of its own what is wrong with the call. */
const isRefusal = (error: Error): boolean => '$fault' in error && error.$fault === 'client' && !isThrottle(error.name);

/**
 * Returns the error to throw for a failed call: it names the call, and the text of servers and parsers is bounded. The SDK
 * throws one and the same error to every call that waits for credentials, so that such an error must stay as it is.
 */
export function nameFailure(error: unknown, { service, operation }: Call): unknown {
  if (!(error instanceof Error)) return error;
  const call = { $service: service, $operation: operation };
  if (error instanceof UnusableAnswer) return Object.assign(error, call);
  const text = isRefusal(error)
    ? shortened(error.message, MAX_SERVICE_TEXT)
    : `calling ${operation}, ${shortened(error.message, MAX_TEXT)}`;
  return Object.assign(withMessage(error, text), call);
}

/** Copies an error with its class and its properties. */
function withMessage(error: Error, message: string): Error {
  const properties = Object.getOwnPropertyDescriptors(error);
  return Object.create(Object.getPrototypeOf(error), {
    ...properties,
    message: { value: message, writable: true, configurable: true, enumerable: false },
  }) as Error;
}
