/** Codes with which services say that they are busy. */
const CODES: ReadonlySet<string> = new Set([
  'RequestLimitExceeded',
  'Throttling',
  'ThrottlingException',
  'TooManyRequestsException',
]);

export const isThrottle = (code: string): boolean => CODES.has(code);
