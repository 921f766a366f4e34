/** Error codes of throttled requests. */
const CODES: ReadonlySet<string> = new Set([
  'RequestLimitExceeded',
  'Throttling',
  'ThrottlingException',
  'TooManyRequestsException',
]);

export const isThrottle = (code: string): boolean => CODES.has(code);
