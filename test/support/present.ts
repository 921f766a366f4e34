/**
 * What a test cannot go on without. Absent, it would be looked up by an empty name or id, and the test would fail elsewhere.
 * @throws Error when it is absent
 */
export function present<T>(value: T | undefined): T {
  if (value === undefined) throw new Error('Expected a value, got undefined');
  return value;
}
