export { MOST_PODS, MOST_SECONDS } from '../trace/events.ts';
export { objectField } from '../trace/fields.ts';
export {
  DEFAULT_START,
  GENERATORS,
  type GeneratorKind,
  type GeneratorOptions,
  generateTrace,
} from '../trace/generators/generate.ts';
export { OPERATOR_NAMESPACE, SCALED_KINDS, TRACE_KINDS } from '../trace/kinds.ts';
export { BACKOFF_LIMIT, readTraceObject } from '../trace/objects.ts';
export { readTrace } from '../trace/read.ts';
export { type LineSource, openLines } from '../trace/source.ts';
export { summaryOf, type TraceSummary } from '../trace/summary.ts';
export type { ObjectRef, Trace, TraceEvent, TraceHeader } from '../trace/trace.ts';
export { writeTrace } from '../trace/write.ts';
