/** Fewer points of a series, for eyes: each stands for a stretch of time. */

export type Downsampling = 'mean' | 'most';

/** How many rows a point stands for, so that there are at most `points`. */
export const rowsPerPoint = (rows: number, points: number): number =>
  Math.max(1, Math.ceil(rows / Math.max(1, points)));

/** The mean, or the most, of every so many rows; the last point may stand for fewer. */
export function downsample(values: readonly number[], rows: number, keep: Downsampling = 'mean'): readonly number[] {
  if (rows <= 1) return values;
  return Array.from({ length: Math.ceil(values.length / rows) }, (_, index) => {
    const own = values.slice(index * rows, (index + 1) * rows);
    return keep === 'most' ? Math.max(...own) : own.reduce((sum, row) => sum + row, 0) / own.length;
  });
}
