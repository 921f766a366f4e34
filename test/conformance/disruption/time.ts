/** Time of the scenarios. */

/** A Wednesday. */
export const NOW = '2026-06-03T10:30:00Z';
const NOW_MS = Date.parse(NOW);
const MINUTE = 60_000;
/** Returns the time some minutes earlier. */
export const ago = (minutes: number): string => new Date(NOW_MS - minutes * MINUTE).toISOString().replace('.000', '');
