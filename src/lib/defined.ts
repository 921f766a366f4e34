type Optional<T> = { [K in keyof T]-?: undefined extends T[K] ? K : never }[keyof T];

/** The same fields, except that a field that may be `undefined` is optional instead. */
type Defined<T> = Omit<T, Optional<T>> & { -readonly [K in Optional<T>]?: Exclude<T[K], undefined> };

/**
 * Returns a copy without fields that are `undefined`. For JSON, and for types with exact optional fields, such a field is not
 * the same as an absent field.
 */
export function defined<T extends object>(fields: T): Defined<T> {
  const found: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(fields)) if (value !== undefined) found[name] = value;
  return found as Defined<T>;
}
