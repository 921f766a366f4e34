/** Columns of the tables that `kubectl get` shows. */
import { type ApiObject, at, text } from '../json.ts';

export interface Column {
  readonly name: string;
  /** OpenAPI type; `date` cells are shown as ages. */
  readonly type: string;
  readonly format?: string;
  readonly description?: string;
  /** 0 is always shown, higher ones with `-o wide`. */
  readonly priority?: number;
  /** The cell of an object. @param nowMs for ages */
  value(object: ApiObject, nowMs: number): unknown;
}

const UNITS = { s: 1, m: 60, h: 3600, d: 86_400, y: 31_536_000 } as const;

/** Two units of time joined, the smaller one left out when it is zero: `2d3h`. */
function pair(seconds: number, large: keyof typeof UNITS, small: keyof typeof UNITS): string {
  const whole = Math.floor(seconds / UNITS[large]);
  const rest = Math.floor((seconds - whole * UNITS[large]) / UNITS[small]);
  return rest === 0 ? `${whole}${large}` : `${whole}${large}${rest}${small}`;
}

/** A length of time as kubectl prints it, with less detail the longer it is. */
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

/** The age of an RFC 3339 time, or `<unknown>`. */
export function age(time: unknown, nowMs: number): string {
  const ms = typeof time === 'string' ? Date.parse(time) : Number.NaN;
  return Number.isNaN(ms) ? '<unknown>' : humanDuration(nowMs - ms);
}

/** A column from a function. */
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

/** `<none>` for what is empty. */
export const orNone = (value: unknown): string =>
  value === undefined || value === null || value === '' ? '<none>' : String(value);

/** The text at a path. */
export const field = (name: string, ...path: readonly string[]): Column =>
  column(name, (object) => text(at(object, ...path)));

/** What is at a path, `<none>` when nothing is. */
export const optional = (name: string, ...path: readonly string[]): Column =>
  column(name, (object) => orNone(at(object, ...path)));
