/** Tracing interface for instrumented code. `otlp.ts` sends the spans with OpenTelemetry's SDK. */

export type Attributes = Readonly<Record<string, string | number | boolean | undefined>>;

/** An operation with a duration. Times are milliseconds since the epoch. */
export interface Span {
  set(attributes: Attributes): void;
  /** @param failure description of the failure, in one line; undefined after success */
  end(atMs: number, failure?: string): void;
}

export interface SpanStart {
  readonly atMs: number;
  /** If undefined, this span starts a trace. */
  readonly parent?: Span | undefined;
  /** True for a request to a service. Default false. */
  readonly isRequest?: boolean | undefined;
  readonly attributes?: Attributes | undefined;
}

export interface Tracer {
  start(name: string, options: SpanStart): Span;
}

/** A completed span. */
export interface FinishedSpan extends Omit<SpanStart, 'atMs' | 'parent'> {
  readonly name: string;
  readonly fromMs: number;
  readonly toMs: number;
  readonly failure?: string | undefined;
}

/** Receives the steps for a NodeClaim, from code that has only its UID. */
export interface StepTraces {
  step(claimUid: string, step: FinishedSpan): void;
}
