/** A text of a value that equal values share, as the Common Expression Language has them equal. */
export function canonical(value: unknown): string {
  if (typeof value === 'bigint' || typeof value === 'number') return `n${value}`;
  if (typeof value === 'string') return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(canonical).join()}]`;
  if (value instanceof Date) return `t${value.getTime()}`;
  if (value instanceof Map || isPlain(value)) {
    const entries = value instanceof Map ? [...value] : Object.entries(value);
    return `{${entries
      .map(([key, each]) => `${canonical(key)}:${canonical(each)}`)
      .sort()
      .join()}}`;
  }
  return `${value === null ? '' : (value as object).constructor.name} ${String(value)}`;
}

const isPlain = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype;
