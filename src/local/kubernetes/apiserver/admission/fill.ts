/** Filling in of what clients leave out, in place. */
import { type ApiObject, isRecord, type Json, record, records } from '../json.ts';

/** Sets the fields that the target lacks. */
export function missing(target: Json, defaults: Json): void {
  for (const [name, value] of Object.entries(defaults)) if (target[name] === undefined) target[name] = value;
}

/** The object's spec, made when it has none. */
export function specOf(object: ApiObject): Json {
  if (!isRecord(object.spec)) object.spec = {};
  return record(object.spec);
}

/** Times of conditions are written even when nobody set them. */
export function conditionTimes(object: ApiObject, ...times: readonly string[]): void {
  for (const condition of records(record(object.status).conditions))
    missing(condition, Object.fromEntries(times.map((time) => [time, null])));
}
