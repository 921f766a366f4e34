/** Helpers that add omitted fields to objects, in place. */
import { type ApiObject, isRecord, type Json, record, records } from '../json.ts';

/** Sets the fields that the target does not have. */
export function missing(target: Json, defaults: Json): void {
  for (const [name, value] of Object.entries(defaults)) if (target[name] === undefined) target[name] = value;
}

/** Returns the object's spec. Creates it if it is missing. */
export function specOf(object: ApiObject): Json {
  if (!isRecord(object.spec)) object.spec = {};
  return record(object.spec);
}

/** Sets missing times of conditions to null, as the real server encodes them. */
export function conditionTimes(object: ApiObject, ...times: readonly string[]): void {
  for (const condition of records(record(object.status).conditions))
    missing(condition, Object.fromEntries(times.map((time) => [time, null])));
}
