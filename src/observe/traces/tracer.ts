/** Spans as those see them who report what they do. `otlp.ts` sends them with OpenTelemetry's SDK. */

export type Attributes = Readonly<Record<string, string | number | boolean | undefined>>;

/** Something that took a while. Times are milliseconds since the epoch. */
export interface Span {
  set(attributes: Attributes): void;
  /** @param failure what went wrong, in one line; undefined when nothing did */
  end(atMs: number, failure?: string): void;
}

export interface SpanStart {
  readonly atMs: number;
  /** Undefined: it begins a trace. */
  readonly parent?: Span | undefined;
  /** Whether it is a request to a service. Default false. */
  readonly isRequest?: boolean | undefined;
  readonly attributes?: Attributes | undefined;
}

export interface Tracer {
  start(name: string, options: SpanStart): Span;
}

/** A span that is over. */
export interface FinishedSpan extends Omit<SpanStart, 'atMs' | 'parent'> {
  readonly name: string;
  readonly fromMs: number;
  readonly toMs: number;
  readonly failure?: string | undefined;
}

/** Takes what was done for a NodeClaim, from those who know of it nothing but its UID. */
export interface StepTraces {
  step(claimUid: string, step: FinishedSpan): void;
}
