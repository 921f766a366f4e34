/** Times and amounts as the summary, the page and the progress line show them. */

const MINUTE = 60;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** `0.4 s`, `42 s`, `3 min 20 s`, `1 h 5 min`, `2 d 3 h`: the largest unit and the next. */
export function spanText(seconds: number): string {
  if (seconds < 9.95) return `${trimmed(seconds, 1)} s`;
  const whole = Math.round(seconds);
  if (whole < MINUTE) return `${whole} s`;
  for (const [unit, name, next, nextName] of [
    [DAY, 'd', HOUR, 'h'],
    [HOUR, 'h', MINUTE, 'min'],
    [MINUTE, 'min', 1, 's'],
  ] as const) {
    // rounded to the next unit first, so that 59.9 min are an hour
    const rounded = Math.round(whole / next) * next;
    if (rounded < unit) continue;
    const rest = Math.round((rounded % unit) / next);
    return `${Math.floor(rounded / unit)} ${name}${rest === 0 ? '' : ` ${rest} ${nextName}`}`;
  }
  return `${whole} s`;
}

/** Rounded, without zeros at the end: `0.5`, `12`. */
const trimmed = (value: number, digits: number): string => String(Number(value.toFixed(digits)));

/** `1,234`, `12.3`, `0.456`: three figures that count, and thousands apart. */
export function amount(value: number): string {
  const size = Math.abs(value);
  const digits = size >= 100 || Number.isInteger(value) ? 0 : size >= 10 ? 1 : 2;
  return value.toLocaleString('en-US', { minimumFractionDigits: digits, maximumFractionDigits: digits });
}

/** `$1,234.50`; `$0.0034` for less than a cent. */
export function dollars(usd: number): string {
  const size = Math.abs(usd);
  const digits = size > 0 && size < 0.1 ? 4 : 2;
  const text = size.toLocaleString('en-US', { minimumFractionDigits: digits, maximumFractionDigits: digits });
  return `${usd < 0 ? '−' : ''}$${text}`;
}

/** Of a fraction: `12.3 %`. */
export const percent = (fraction: number): string => `${(fraction * 100).toFixed(1)} %`;

/** With its sign: `+12.3 %`, `−4.0 %`, `±0.0 %`. */
export function signedPercent(fraction: number): string {
  const text = `${Math.abs(fraction * 100).toFixed(1)} %`;
  if (text === '0.0 %') return `±${text}`;
  return `${fraction < 0 ? '−' : '+'}${text}`;
}

/** In UTC: `2026-03-02 14:05`. */
export const dateTime = (ms: number): string => new Date(ms).toISOString().slice(0, 16).replace('T', ' ');
