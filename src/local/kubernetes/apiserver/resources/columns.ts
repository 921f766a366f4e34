/** Columns of the tables that `kubectl get` prints. */
import { humanDuration } from '#lib';
import { type ApiObject, at, text } from '../json.ts';

export interface PrintedColumn {
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

/** Returns the age of an RFC 3339 time, or `<unknown>`. */
export function age(time: unknown, nowMs: number): string {
  const ms = typeof time === 'string' ? Date.parse(time) : Number.NaN;
  return Number.isNaN(ms) ? '<unknown>' : humanDuration(nowMs - ms);
}

/** Returns a column whose cells are computed by a function. */
export function column(
  name: string,
  value: PrintedColumn['value'],
  options: Partial<Omit<PrintedColumn, 'name' | 'value'>> = {},
): PrintedColumn {
  return { name, type: 'string', ...options, value };
}

export const wide = (name: string, value: PrintedColumn['value']): PrintedColumn =>
  column(name, value, { priority: 1 });

export const NAME: PrintedColumn = column('Name', ({ metadata }) => text(metadata.name), { format: 'name' });
export const AGE: PrintedColumn = column('Age', ({ metadata }, nowMs) => age(metadata.creationTimestamp, nowMs));

/** Returns `<none>` for an empty value. */
export const orNone = (value: unknown): string =>
  value === undefined || value === null || value === '' ? '<none>' : String(value);

/** Returns a column with the text at a path. */
export const field = (name: string, ...path: readonly string[]): PrintedColumn =>
  column(name, (object) => text(at(object, ...path)));

/** Returns a column with the value at a path, or `<none>` if it is missing. */
export const optionalColumn = (name: string, ...path: readonly string[]): PrintedColumn =>
  column(name, (object) => orNone(at(object, ...path)));
