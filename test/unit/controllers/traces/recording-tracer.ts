/** Records reported spans. */

import type { SpanStart } from '#observe/testing';
import type { Attributes, Span, Tracer } from '#observe/traces';

export class RecordedSpan implements Span {
  readonly name: string;
  readonly parent: RecordedSpan | undefined;
  readonly startMs: number;
  attributes: Attributes;
  endMs: number | undefined;
  failure: string | undefined;

  constructor(name: string, { atMs, parent, attributes = {} }: SpanStart) {
    this.name = name;
    this.parent = parent as RecordedSpan | undefined;
    this.startMs = atMs;
    this.attributes = attributes;
  }

  set(attributes: Attributes): void {
    if (this.endMs !== undefined) throw new Error(`span "${this.name}" has ended`);
    this.attributes = { ...this.attributes, ...attributes };
  }

  end(atMs: number, failure?: string): void {
    if (this.endMs !== undefined) throw new Error(`span "${this.name}" has ended`);
    this.endMs = atMs;
    this.failure = failure;
  }
}

export class RecordingTracer implements Tracer {
  readonly spans: RecordedSpan[] = [];

  start(name: string, start: SpanStart): RecordedSpan {
    const span = new RecordedSpan(name, start);
    this.spans.push(span);
    return span;
  }

  named(name: string, parent?: RecordedSpan): readonly RecordedSpan[] {
    return this.spans.filter((span) => span.name === name && (parent === undefined || span.parent === parent));
  }

  one(name: string, parent?: RecordedSpan): RecordedSpan {
    const [span, ...others] = this.named(name, parent);
    if (span === undefined || others.length > 0) throw new Error(`${others.length + (span ? 1 : 0)} spans "${name}"`);
    return span;
  }

  get open(): readonly string[] {
    return this.spans.filter(({ endMs }) => endMs === undefined).map(({ name }) => name);
  }
}
