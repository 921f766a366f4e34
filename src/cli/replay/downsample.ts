/** Reduces the number of points of a series for display. */

export type Downsampling = 'mean' | 'most';

/** Returns the number of rows per point, so that there are at most `points` points. */
export const rowsPerPoint = (rows: number, points: number): number =>
  Math.max(1, Math.ceil(rows / Math.max(1, points)));

/** Returns the mean or the maximum of each group of rows. The last group may be smaller. */
export function downsample(values: readonly number[], rows: number, keep: Downsampling = 'mean'): readonly number[] {
  if (rows <= 1) return values;
  return Array.from({ length: Math.ceil(values.length / rows) }, (_, index) => {
    const own = values.slice(index * rows, (index + 1) * rows);
    return keep === 'most' ? Math.max(...own) : own.reduce((sum, row) => sum + row, 0) / own.length;
  });
}
