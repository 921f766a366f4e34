/** Durations in the short form of kubectl. */

const UNITS = { s: 1, m: 60, h: 3600, d: 86_400, y: 31_536_000 } as const;

/** Formats two units of time, without the smaller unit if it is zero: `2d3h`. */
function pair(seconds: number, large: keyof typeof UNITS, small: keyof typeof UNITS): string {
  const whole = Math.floor(seconds / UNITS[large]);
  const rest = Math.floor((seconds - whole * UNITS[large]) / UNITS[small]);
  return rest === 0 ? `${whole}${large}` : `${whole}${large}${rest}${small}`;
}

/** Formats a duration as kubectl does: longer durations have less detail. */
export function humanDuration(ms: number): string {
  const seconds = Math.floor(ms / 1000);
  if (seconds < -1) return '<invalid>';
  if (seconds < 0) return '0s';
  if (seconds < 120) return `${seconds}s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 10) return pair(seconds, 'm', 's');
  const hours = Math.floor(minutes / 60);
  if (hours < 3) return `${minutes}m`;
  if (hours < 8) return pair(seconds, 'h', 'm');
  if (hours < 48) return `${hours}h`;
  const days = Math.floor(hours / 24);
  if (days < 8) return pair(seconds, 'd', 'h');
  if (days < 730) return `${days}d`;
  return days < 2920 ? pair(seconds, 'y', 'd') : `${Math.floor(days / 365)}y`;
}
