/** Converts times from and to the format of Kubernetes. */

/** Formats a time in milliseconds since the epoch as RFC 3339 with whole seconds. */
export const timestamp = (ms: number): string => new Date(ms).toISOString().replace(/\.\d+Z$/, 'Z');

/** Returns the milliseconds since the epoch, or `NaN` if the time is absent or cannot be parsed. */
export const timeOf = (text: string | undefined): number => Date.parse(text ?? '');
