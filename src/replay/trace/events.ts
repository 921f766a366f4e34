/** Reads the header and the events of a trace from parsed JSON values. */
import { type Field, quoted } from '#lib';
import { checkNames, lineObject, numberOf, textOf, wholeOf } from './fields.ts';
import { ENDING_KINDS, SCALED_KINDS } from './kinds.ts';
import { MOST_REPLICAS, readRef, readTraceObject } from './objects.ts';
import type { TraceEvent, TraceHeader } from './trace.ts';

/** Maximum duration of a trace: ten years, in seconds. */
export const MOST_SECONDS = 10 * 366 * 86_400;
/** Maximum number of pods that one line may create. */
export const MOST_PODS = 10_000;

const VERSION = 'karpenter/v1';
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)$/;
const WHAT = ['apply', 'scale', 'delete'] as const;

/** @throws FieldFault */
export function readHeader(value: unknown): TraceHeader {
  const header = lineObject(value, 'the header');
  const version = header.at('trace');
  if (version.isMissing) version.fail(`is missing: the first line is the header, {"trace":"${VERSION}",…}`);
  if (version.value !== VERSION)
    version.fail(`is ${quoted(String(version.value))}; this version reads ${quoted(VERSION)}`);
  checkNames(header, ['trace', 'name', 'start', 'seconds', 'source']);
  const start = textOf(header.at('start'));
  if (!TIME.test(start) || Number.isNaN(Date.parse(start)))
    header.at('start').fail(`is ${quoted(start)}; it must be a time of RFC 3339, such as 2026-01-05T00:00:00Z`);
  const source = header.at('source').given;
  return {
    trace: VERSION,
    name: textOf(header.at('name')),
    start,
    seconds: numberOf(header.at('seconds'), { from: 1, to: MOST_SECONDS, of: 'seconds' }),
    ...(source && { source: textOf(source, 1000) }),
  };
}

/**
 * @param notBefore time of the previous event
 * @throws FieldFault
 */
export function readEvent(value: unknown, { seconds }: TraceHeader, notBefore: number): TraceEvent {
  const event = lineObject(value, 'an event');
  if (!event.at('trace').isMissing)
    event
      .at('trace')
      .fail('marks a second header, but a file must contain one trace; write the second trace to a separate file');
  const at = numberOf(event.at('at'), { from: 0, to: MOST_SECONDS, of: 'seconds since the start' });
  if (at > seconds)
    event.at('at').fail(`is ${at}, after the end of the trace; raise "seconds" in the header, which is ${seconds}`);
  if (at < notBefore)
    event.at('at').fail(`is ${at}, before the event above it, which is at ${notBefore}; sort the lines by "at"`);
  const whats = WHAT.filter((name) => !event.at(name).isMissing);
  const [what] = whats;
  if (what === undefined || whats.length > 1) {
    if (what === undefined) checkNames(event, ['at', ...WHAT, 'runsFor', 'count', 'replicas']);
    return event.fail(`has ${what === undefined ? 'none' : 'several'} of ${WHAT.join(', ')}; it must have one of them`);
  }
  if (what === 'apply') return readApply(event, at);
  if (what === 'scale') return readScale(event, at);
  checkNames(event, ['at', 'delete']);
  return { at, delete: readRef(event.at('delete')) };
}

function readApply(event: Field, at: number): TraceEvent {
  checkNames(event, ['at', 'apply', 'runsFor', 'count']);
  const apply = readTraceObject(event.at('apply'));
  const [runsFor, count] = [event.at('runsFor').given, event.at('count').given];
  if (!ENDING_KINDS.has(apply.kind))
    runsFor?.fail(
      `is supported for Pods and Jobs only, because pods of a ${apply.kind} run until it is deleted; remove it`,
    );
  if (apply.kind !== 'Pod')
    count?.fail(`is supported for Pods only; set the number of pods in the spec of the ${apply.kind}`);
  return {
    at,
    apply,
    ...(runsFor && { runsFor: numberOf(runsFor, { from: 0, to: MOST_SECONDS, of: 'seconds' }) }),
    ...(count && { count: wholeOf(count, { from: 1, to: MOST_PODS, of: 'pods' }) }),
  };
}

function readScale(event: Field, at: number): TraceEvent {
  checkNames(event, ['at', 'scale', 'replicas']);
  const scale = readRef(event.at('scale'));
  if (!SCALED_KINDS.has(scale.kind))
    event
      .at('scale')
      .at('kind')
      .fail(`${scale.kind} cannot be scaled; use ${[...SCALED_KINDS].join(', ')}, or apply it again`);
  return { at, scale, replicas: wholeOf(event.at('replicas'), { from: 0, to: MOST_REPLICAS, of: 'pods' }) };
}
