/**
 * Returns a value that a test requires. Without this check, the test would look it up by an empty name or ID and fail
 * elsewhere.
 * @throws Error if the value is undefined
 */
export function present<T>(value: T | undefined): T {
  if (value === undefined) throw new Error('Expected a value, got undefined');
  return value;
}
