export { withBoundedConcurrency } from './bounded-concurrency.ts';
export { ByText } from './by-text.ts';
export { connected } from './connected.ts';
export { defined } from './defined.ts';
export { EarliestFirst } from './earliest-first.ts';
export { messageOf } from './error-message.ts';
export { Field, FieldFault, type Wording } from './field.ts';
export {
  finish,
  hashBytes,
  hashFlag,
  hashInt32,
  hashInt64,
  hashList,
  hashMap,
  hashStruct,
  hashText,
  ifNotZero,
  ifSet,
  pair,
} from './fnv.ts';
export { humanDuration } from './human-duration.ts';
export { InputError } from './input-error.ts';
export { type Integer, larger, MAX_INT64, parseInteger, plus, smaller } from './integers.ts';
export { interleave } from './interleave.ts';
export { internShared, internString, internStrings } from './interned-strings.ts';
export { canonicalJson, cloneJson, isObject, type JsonObject, sameJson } from './json-object.ts';
export { nearestName, sortByCloseness } from './nearest-name.ts';
export { own, put } from './own.ts';
export { parseJson } from './parse-json.ts';
export { picked } from './picked.ts';
export { quoted } from './quoted.ts';
export { rejections } from './rejections.ts';
export { remembering } from './remembering.ts';
export { sameItems } from './same-items.ts';
export { shellWords } from './shell-words.ts';
export { timeOf, timestamp } from './times.ts';
export { tryRun } from './try-run.ts';
export { VERSION } from './version.ts';
