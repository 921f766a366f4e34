/** Sizes of instance types, from the part of the name after the dot. */

/** vCPUs of named sizes. Sizes below `medium` have as many vCPUs as `medium`, but lower prices and less memory. */
const NAMED: Readonly<Record<string, number>> = {
  nano: 0.125,
  micro: 0.25,
  small: 0.5,
  medium: 1,
  large: 2,
  xlarge: 4,
};

/**
 * Returns the size in vCPUs of a family without burstable credits. Returns undefined for `metal`. This size is as large
 * as the largest other size.
 */
export function unitsOf(size: string): number | undefined {
  const multiple = /^(?:metal-)?(\d+)xl(?:arge)?$/.exec(size);
  return multiple === null ? NAMED[size] : Number(multiple[1]) * 4;
}

/** Compares sizes, smallest first. Bare metal comes after the size that is equally large. */
export function compareSizes(a: string, b: string): number {
  const [left, right] = [unitsOf(a) ?? Number.POSITIVE_INFINITY, unitsOf(b) ?? Number.POSITIVE_INFINITY];
  if (left !== right) return left < right ? -1 : 1;
  return a.length - b.length || (a < b ? -1 : 1);
}
