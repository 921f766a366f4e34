/** Sizes of instance types: what the part after the dot says of how large an instance is. */

/** vCPUs of named sizes. Those below `medium` have as many as it, but cost and hold less. */
const NAMED: Readonly<Record<string, number>> = {
  nano: 0.125,
  micro: 0.25,
  small: 0.5,
  medium: 1,
  large: 2,
  xlarge: 4,
};

/** In vCPUs of a family without burstable credits; undefined for `metal`, which is as large as the largest other. */
export function unitsOf(size: string): number | undefined {
  const multiple = /^(?:metal-)?(\d+)xl(?:arge)?$/.exec(size);
  return multiple === null ? NAMED[size] : Number(multiple[1]) * 4;
}

/** From small to large; bare metal after the size that is as large. */
export function compareSizes(a: string, b: string): number {
  const [left, right] = [unitsOf(a) ?? Number.POSITIVE_INFINITY, unitsOf(b) ?? Number.POSITIVE_INFINITY];
  if (left !== right) return left < right ? -1 : 1;
  return a.length - b.length || (a < b ? -1 : 1);
}
