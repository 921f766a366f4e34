/** AWS response without its required form. It must not be interpreted as missing or deleted objects. */
import { type Check, problemOf } from './checks.ts';

/** Maximum length of a parser's or server's message in an error. */
const MAX_TEXT = 200;
const MAX_SERVICE_TEXT = 2_000;

const shorten = (text: string, most: number): string =>
  text.length <= most ? text : `${text.slice(0, most)}… (${text.length} characters)`;

/** Service and operation of a call. */
export interface Call {
  readonly service: string;
  readonly operation: string;
}

export class UnusableAnswer extends Error {
  override readonly name = 'UnusableAnswer';

  /** @param problem a predicate about the response, such as `Images is missing`, without contents of the response */
  constructor({ service, operation }: Call, problem: string) {
    super(`the response of ${service} to ${operation} is invalid: ${shorten(problem, MAX_TEXT)}`);
  }
}

const isService = (error: Error): boolean => '$fault' in error;

/**
 * Returns an error for a body that cannot be parsed. It contains no part of the body, because the body may be secret.
 */
export function unreadable(call: Call, error: Error): UnusableAnswer {
  const isXml = error.message.startsWith('@aws-sdk XML parse error: ');
  const [line = ''] = error.message.split('\n');
  return new UnusableAnswer(
    call,
    isXml ? line.replace('@aws-sdk XML parse error: ', 'invalid XML, ') : 'it cannot be parsed',
  );
}

/** Returns true if the SDK received a response but failed to parse it. */
export const isParseError = (error: unknown): error is Error =>
  error instanceof Error && '$response' in error && !isService(error) && !(error instanceof UnusableAnswer);

/** Returns true if the service rejected the call with a message of its own. */
const isRefusal = (error: Error): boolean => '$fault' in error && error.$fault === 'client' && !isThrottle(error.name);

/**
 * Returns the error to throw for a failed call. The error names the call and limits the text of servers and parsers.
 * The SDK throws the same error object to every call that waits for credentials, so that error must not be modified.
 */
export function nameFailure(error: unknown, { service, operation }: Call): unknown {
  if (!(error instanceof Error)) return error;
  const call = { $service: service, $operation: operation };
  if (error instanceof UnusableAnswer) return Object.assign(error, call);
  const text = isRefusal(error)
    ? shorten(error.message, MAX_SERVICE_TEXT)
    : `calling ${operation}, ${shorten(error.message, MAX_TEXT)}`;
  return Object.assign(withMessage(error, text), call);
}

/** Copies an error with its class and properties. */
function withMessage(error: Error, message: string): Error {
  const properties = Object.getOwnPropertyDescriptors(error);
  return Object.create(Object.getPrototypeOf(error), {
    ...properties,
    message: { value: message, writable: true, configurable: true, enumerable: false },
  }) as Error;
}

/** Error codes of throttled requests. */
const CODES: ReadonlySet<string> = new Set([
  'RequestLimitExceeded',
  'Throttling',
  'ThrottlingException',
  'TooManyRequestsException',
]);

export const isThrottle = (code: string): boolean => CODES.has(code);

/** Called with the unusable items, at most once per page. */
export type ReportUnusable = (error: UnusableAnswer, items: readonly unknown[]) => void;

/** Returns the usable items of a response. An unusable item is left out, because items do not depend on each other. */
export function usableItems<T>(call: Call, items: readonly T[], check: Check, report: ReportUnusable): readonly T[] {
  const problems: string[] = [];
  const unusable: T[] = [];
  const usable = items.filter((item, at) => {
    const problem = problemOf(check, item, `item ${at}`);
    if (problem === undefined) return true;
    problems.push(problem);
    unusable.push(item);
    return false;
  });
  const [first] = problems;
  if (first !== undefined)
    report(
      new UnusableAnswer(call, problems.length === 1 ? first : `${first}, and ${problems.length - 1} more`),
      unusable,
    );
  return usable;
}
