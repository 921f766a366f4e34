/**
 * Sends spans to a collector over OTLP, with OpenTelemetry's SDK. Spans are sent in the background from a bounded queue, and
 * never block or fail the traced work. This module is loaded only if traces are enabled.
 */
import { ROOT_CONTEXT, type Span as SdkSpan, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api';
import { type ExportResult, ExportResultCode } from '@opentelemetry/core';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import { defaultResource, resourceFromAttributes } from '@opentelemetry/resources';
import {
  BatchSpanProcessor,
  ParentBasedSampler,
  type ReadableSpan,
  type SpanExporter,
  type SpanProcessor,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace';
import type { Logger } from '../logger.ts';
import { TRACES_SPANS } from '../metrics/traces.ts';
import type { Metrics } from '../metrics.ts';
import type { TracingSettings } from './settings.ts';
import type { Attributes, Span, SpanStart, Tracer } from './tracer.ts';

/** Maximum wait for the last spans at the end of the process, in milliseconds. */
const LAST_EXPORT_MS = 3_000;
const BATCH = 512;
const LONGEST_FAILURE = 300;

/** Type of the exporter for `gzip` and `none`. */
type Compression = NonNullable<NonNullable<ConstructorParameters<typeof OTLPTraceExporter>[0]>['compression']>;

export interface OtlpOptions {
  readonly settings: TracingSettings;
  /** Attributes of the service. Attributes of the user take precedence. */
  readonly attributes: Attributes;
  readonly version: string;
  readonly log: Logger;
  readonly metrics: Metrics;
}

export interface OtlpTracer extends Tracer {
  /** Sends the remaining spans, within three seconds. */
  close(): Promise<void>;
}

export function openTracer(options: OtlpOptions): OtlpTracer {
  const { settings, attributes, version } = options;
  const queue = new SpanQueue(options);
  const provider = new TracerProvider({
    resource: defaultResource().merge(
      resourceFromAttributes({
        'service.name': 'karpenter',
        'service.version': version,
        ...attributes,
        ...settings.resourceAttributes,
        ...(settings.serviceName === undefined ? {} : { 'service.name': settings.serviceName }),
      }),
    ),
    sampler: new ParentBasedSampler({ root: new TraceIdRatioBasedSampler(settings.ratio) }),
    spanProcessors: [queue],
  });
  const sdk = provider.getTracer('karpenter', version);
  return {
    // passes times as dates, because the SDK interprets small numbers as times since the start of the process
    start(name, { atMs, parent, isRequest, attributes: given = {} }: SpanStart) {
      const context = parent instanceof OtlpSpan ? trace.setSpan(ROOT_CONTEXT, parent.sdk) : ROOT_CONTEXT;
      const kind = isRequest ? SpanKind.CLIENT : SpanKind.INTERNAL;
      return new OtlpSpan(sdk.startSpan(name, { startTime: new Date(atMs), kind, attributes: given }, context), atMs);
    },
    async close() {
      const over = new Promise<void>((resolve) => setTimeout(resolve, LAST_EXPORT_MS).unref());
      await Promise.race([provider.shutdown().catch(() => {}), over]);
    },
  };
}

class OtlpSpan implements Span {
  readonly sdk: SdkSpan;
  readonly #fromMs: number;

  constructor(sdk: SdkSpan, fromMs: number) {
    this.sdk = sdk;
    this.#fromMs = fromMs;
  }

  set(attributes: Attributes): void {
    this.sdk.setAttributes(attributes);
  }

  end(atMs: number, failure?: string): void {
    if (failure !== undefined)
      this.sdk.setStatus({ code: SpanStatusCode.ERROR, message: failure.slice(0, LONGEST_FAILURE) });
    // the machine's clock may have been set back in the meantime
    this.sdk.end(new Date(Math.max(this.#fromMs, atMs)));
  }
}

/**
 * Wraps the SDK's queue and its exporter, and adds missing reports: the number of dropped spans, and the reasons of failed
 * exports.
 */
class SpanQueue implements SpanProcessor {
  readonly #options: OtlpOptions;
  readonly #processor: BatchSpanProcessor;
  readonly #exporter: SpanExporter;
  #waiting = 0;

  constructor(options: OtlpOptions) {
    const { url, headers, timeoutMs, compression, queueSize, delayMs } = options.settings;
    this.#options = options;
    // the exporter reads other settings from the environment, such as certificate files
    const timeoutMillis = timeoutMs;
    this.#exporter = new OTLPTraceExporter({
      url,
      headers: { ...headers() },
      timeoutMillis,
      compression: compression as Compression,
    });
    this.#processor = new BatchSpanProcessor({
      exporter: {
        export: (spans, done) => this.#export(spans, done),
        shutdown: () => this.#exporter.shutdown(),
      },
      maxQueueSize: queueSize,
      maxExportBatchSize: Math.min(BATCH, queueSize),
      scheduledDelayMillis: delayMs,
      // the exporter has its own timeout, which reports a reason
      exportTimeoutMillis: 2 * timeoutMs,
    });
    for (const result of ['exported', 'failed', 'queue_full', 'over_limit']) this.#count(result, 0);
  }

  onStart(): void {}

  onEnd(span: ReadableSpan): void {
    if (this.#waiting >= this.#options.settings.queueSize) {
      this.#count('queue_full', 1);
      return;
    }
    this.#waiting += 1;
    this.#processor.onEnd(span);
  }

  forceFlush(): Promise<void> {
    return this.#processor.forceFlush();
  }

  shutdown(): Promise<void> {
    return this.#processor.shutdown();
  }

  #export(spans: ReadableSpan[], done: (result: ExportResult) => void): void {
    this.#exporter.export(spans, (result) => {
      this.#waiting -= spans.length;
      const isSent = result.code === ExportResultCode.SUCCESS;
      this.#count(isSent ? 'exported' : 'failed', spans.length);
      if (!isSent) this.#report(result.error, spans.length);
      // reports success, because this queue would throw a failure without a handler
      done({ code: ExportResultCode.SUCCESS });
    });
  }

  /**
   * Reports a failed export. Includes only the status of the response, because the text of a collector may repeat secret headers.
   */
  #report(error: Error | undefined, spans: number): void {
    const { log, settings } = this.#options;
    const { origin, pathname } = new URL(settings.url);
    const status = error !== undefined && 'code' in error && typeof error.code === 'number' ? `${error.code} ` : '';
    const reason = `${status}${error?.message || error?.name || 'no reason given'}`;
    log.error('failed exporting traces', {
      error: reason.slice(0, LONGEST_FAILURE),
      endpoint: origin + pathname,
      spans,
    });
  }

  #count(result: string, count: number): void {
    this.#options.metrics.counter(TRACES_SPANS).inc({ result }, count);
  }
}
