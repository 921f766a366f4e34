/** Events are one resource with two faces: core/v1 and events.k8s.io/v1. They are stored as core events. */
import type { ApiObject } from './json.ts';

const NEW_TO_CORE: readonly (readonly [string, string])[] = [
  ['regarding', 'involvedObject'],
  ['note', 'message'],
  ['reportingController', 'reportingComponent'],
  ['deprecatedSource', 'source'],
  ['deprecatedCount', 'count'],
  ['deprecatedFirstTimestamp', 'firstTimestamp'],
  ['deprecatedLastTimestamp', 'lastTimestamp'],
];

function renamed(object: ApiObject, apiVersion: string, names: readonly (readonly [string, string])[]): ApiObject {
  const out: ApiObject = { ...object, apiVersion };
  for (const [from, to] of names) {
    if (!Object.hasOwn(out, from)) continue;
    out[to] = out[from];
    delete out[from];
  }
  return out;
}

export const coreEvent = (object: ApiObject): ApiObject => renamed(object, 'v1', NEW_TO_CORE);
export const newEvent = (object: ApiObject): ApiObject =>
  renamed(
    object,
    'events.k8s.io/v1',
    NEW_TO_CORE.map(([from, to]) => [to, from] as const),
  );
