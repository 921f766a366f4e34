/** Opens what sends traces, where somebody wants them. */
import type { OtlpOptions, OtlpTracer } from './otlp.ts';
import type { TracingSettings } from './settings.ts';

/** Loads OpenTelemetry's SDK for those alone who use it. */
export async function openTracing(
  settings: TracingSettings | undefined,
  options: Omit<OtlpOptions, 'settings'>,
): Promise<OtlpTracer | undefined> {
  if (settings === undefined) return undefined;
  const { openTracer } = await import('./otlp.ts');
  return openTracer({ ...options, settings });
}
