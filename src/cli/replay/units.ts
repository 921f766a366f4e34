/** Formats times and amounts for the summary, the page and the progress line. */

const MINUTE = 60;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** Formats a duration in its two largest units: `0.4 s`, `42 s`, `3 min 20 s`, `1 h 5 min`, `2 d 3 h`. */
export function spanText(seconds: number): string {
  if (seconds < 9.95) return `${trimZeros(seconds, 1)} s`;
  const whole = Math.round(seconds);
  if (whole < MINUTE) return `${whole} s`;
  for (const [unit, name, next, nextName] of [
    [DAY, 'd', HOUR, 'h'],
    [HOUR, 'h', MINUTE, 'min'],
    [MINUTE, 'min', 1, 's'],
  ] as const) {
    // rounded to the next smaller unit first, so that 59.9 min becomes 1 h
    const rounded = Math.round(whole / next) * next;
    if (rounded < unit) continue;
    const rest = Math.round((rounded % unit) / next);
    return `${Math.floor(rounded / unit)} ${name}${rest === 0 ? '' : ` ${rest} ${nextName}`}`;
  }
  return `${whole} s`;
}

/** Rounds a number and removes trailing zeros: `0.5`, `12`. */
const trimZeros = (value: number, digits: number): string => String(Number(value.toFixed(digits)));

/** Formats a number with at least three significant digits and thousands separators: `1,234`, `12.3`, `0.456`. */
export function amount(value: number): string {
  const size = Math.abs(value);
  const digits = size >= 100 || Number.isInteger(value) ? 0 : size >= 10 ? 1 : 2;
  return value.toLocaleString('en-US', { minimumFractionDigits: digits, maximumFractionDigits: digits });
}

/** Formats dollars: `$1,234.50`, or `$0.0034` for small amounts. */
export function dollars(usd: number): string {
  const size = Math.abs(usd);
  const digits = size > 0 && size < 0.1 ? 4 : 2;
  const text = size.toLocaleString('en-US', { minimumFractionDigits: digits, maximumFractionDigits: digits });
  return `${usd < 0 ? '−' : ''}$${text}`;
}

/** Formats a fraction: `12.3 %`. */
export const percent = (fraction: number): string => `${(fraction * 100).toFixed(1)} %`;

/** Formats a fraction with its sign: `+12.3 %`, `−4.0 %`, `±0.0 %`. */
export function signedPercent(fraction: number): string {
  const text = `${Math.abs(fraction * 100).toFixed(1)} %`;
  if (text === '0.0 %') return `±${text}`;
  return `${fraction < 0 ? '−' : '+'}${text}`;
}

/** Formats a time in UTC: `2026-03-02 14:05`. */
export const dateTime = (ms: number): string => new Date(ms).toISOString().slice(0, 16).replace('T', ' ');
