/** Columns of the tables that `kubectl get` prints. */
import { type ApiObject, at, text } from '../json.ts';

export interface Column {
  readonly name: string;
  /** OpenAPI type. Cells of type `date` are displayed as ages. */
  readonly type: string;
  readonly format?: string;
  readonly description?: string;
  /** Columns with priority 0 are always displayed, other columns with `-o wide`. */
  readonly priority?: number;
  /**
   * Returns the cell of an object.
   * @param nowMs current time, for ages
   */
  value(object: ApiObject, nowMs: number): unknown;
}

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

/** Returns the age of an RFC 3339 time, or `<unknown>`. */
export function age(time: unknown, nowMs: number): string {
  const ms = typeof time === 'string' ? Date.parse(time) : Number.NaN;
  return Number.isNaN(ms) ? '<unknown>' : humanDuration(nowMs - ms);
}

/** Returns a column whose cells are computed by a function. */
export function column(
  name: string,
  value: Column['value'],
  options: Partial<Omit<Column, 'name' | 'value'>> = {},
): Column {
  return { name, type: 'string', ...options, value };
}

export const wide = (name: string, value: Column['value']): Column => column(name, value, { priority: 1 });

export const NAME: Column = column('Name', ({ metadata }) => text(metadata.name), { format: 'name' });
export const AGE: Column = column('Age', ({ metadata }, nowMs) => age(metadata.creationTimestamp, nowMs));

/** Returns `<none>` for an empty value. */
export const orNone = (value: unknown): string =>
  value === undefined || value === null || value === '' ? '<none>' : String(value);

/** Returns a column with the text at a path. */
export const field = (name: string, ...path: readonly string[]): Column =>
  column(name, (object) => text(at(object, ...path)));

/** Returns a column with the value at a path, or `<none>` if it is missing. */
export const optional = (name: string, ...path: readonly string[]): Column =>
  column(name, (object) => orNone(at(object, ...path)));
