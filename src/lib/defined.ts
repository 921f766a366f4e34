type Optional<T> = { [K in keyof T]-?: undefined extends T[K] ? K : never }[keyof T];

/** The same fields; those that may be `undefined` may be absent instead. */
type Defined<T> = Omit<T, Optional<T>> & { -readonly [K in Optional<T>]?: Exclude<T[K], undefined> };

/** Leaves out fields whose value is `undefined`: to JSON, and to types with exact optional fields, that is not absence. */
export function defined<T extends object>(fields: T): Defined<T> {
  const found: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(fields)) if (value !== undefined) found[name] = value;
  return found as Defined<T>;
}
