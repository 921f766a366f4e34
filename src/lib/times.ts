/** Times as Kubernetes stores them. */

/** RFC 3339 with whole seconds. */
export const timestamp = (ms: number): string => new Date(ms).toISOString().replace(/\.\d+Z$/, 'Z');

/** Milliseconds since the epoch; `NaN` when the time is absent or cannot be read. */
export const timeOf = (text: string | undefined): number => Date.parse(text ?? '');
