export { parseTracing, type TracingSettings } from '../traces/settings.ts';
export type { Attributes, FinishedSpan, Span, StepTraces, Tracer } from '../traces/tracer.ts';
