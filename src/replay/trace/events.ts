/** Reads the header and the events of a trace from values that came as JSON. */
import { quoted } from '../../lib/quoted.ts';
import { checkTree, type Fields, fieldOf, known, number, record, text, whole } from './fields.ts';
import { ENDING_KINDS, SCALED_KINDS } from './kinds.ts';
import { MOST_REPLICAS, readObject, readRef } from './objects.ts';
import type { TraceEvent, TraceHeader } from './trace.ts';
import { FieldFault } from './trace-error.ts';

/** Ten years, in seconds: longer than what anybody plays. */
export const MOST_SECONDS = 10 * 366 * 86_400;
/** Pods that one line may make. */
export const MOST_PODS = 10_000;

const VERSION = 'karpenter/v1';
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)$/;
const WHAT = ['apply', 'scale', 'delete'] as const;

/** @throws FieldFault */
export function readHeader(value: unknown): TraceHeader {
  checkTree(value);
  const header = record(value, 'the header');
  const version = fieldOf(header, 'trace');
  if (version === undefined)
    throw new FieldFault('trace', `is missing: the first line is the header, {"trace":"${VERSION}",…}`);
  if (version !== VERSION)
    throw new FieldFault('trace', `is ${quoted(String(version))}; this version reads ${quoted(VERSION)}`);
  known(header, ['trace', 'name', 'start', 'seconds', 'source'], '');
  const start = text(fieldOf(header, 'start'), 'start');
  if (!TIME.test(start) || Number.isNaN(Date.parse(start)))
    throw new FieldFault('start', `is ${quoted(start)}; it must be a time of RFC 3339, such as 2026-01-05T00:00:00Z`);
  const source = fieldOf(header, 'source');
  return {
    trace: VERSION,
    name: text(fieldOf(header, 'name'), 'name'),
    start,
    seconds: number(fieldOf(header, 'seconds'), 'seconds', { from: 1, to: MOST_SECONDS, of: 'seconds' }),
    ...(source === undefined ? {} : { source: text(source, 'source', 1000) }),
  };
}

/**
 * @param notBefore the time of the event before
 * @throws FieldFault
 */
export function readEvent(value: unknown, { seconds }: TraceHeader, notBefore: number): TraceEvent {
  checkTree(value);
  const event = record(value, 'an event');
  if (fieldOf(event, 'trace') !== undefined)
    throw new FieldFault(
      'trace',
      'marks a second header; a file holds one trace, so write the other into a file of its own',
    );
  const at = number(fieldOf(event, 'at'), 'at', { from: 0, to: MOST_SECONDS, of: 'seconds since the start' });
  if (at > seconds)
    throw new FieldFault(
      'at',
      `is ${at}, after the end of the trace; raise "seconds" in the header, which is ${seconds}`,
    );
  if (at < notBefore)
    throw new FieldFault('at', `is ${at}, before the event above it, which is at ${notBefore}; sort the lines by "at"`);
  const whats = WHAT.filter((name) => fieldOf(event, name) !== undefined);
  const [what] = whats;
  if (what === undefined || whats.length > 1) {
    if (what === undefined) known(event, ['at', ...WHAT, 'runsFor', 'count', 'replicas'], '');
    throw new FieldFault(
      '',
      `has ${what === undefined ? 'none' : 'several'} of ${WHAT.join(', ')}; it must have one of them`,
    );
  }
  if (what === 'apply') return readApply(event, at);
  if (what === 'scale') return readScale(event, at);
  known(event, ['at', 'delete'], '');
  return { at, delete: readRef(event.delete, 'delete') };
}

function readApply(event: Fields, at: number): TraceEvent {
  known(event, ['at', 'apply', 'runsFor', 'count'], '');
  const apply = readObject(event.apply, 'apply');
  const [runsFor, count] = [fieldOf(event, 'runsFor'), fieldOf(event, 'count')];
  if (runsFor !== undefined && !ENDING_KINDS.has(apply.kind))
    throw new FieldFault(
      'runsFor',
      `is for Pods and Jobs: those of a ${apply.kind} run until it is deleted; leave it out`,
    );
  if (count !== undefined && apply.kind !== 'Pod')
    throw new FieldFault('count', `is for Pods; say how many a ${apply.kind} has in its spec`);
  return {
    at,
    apply,
    ...(runsFor === undefined
      ? {}
      : { runsFor: number(runsFor, 'runsFor', { from: 0, to: MOST_SECONDS, of: 'seconds' }) }),
    ...(count === undefined ? {} : { count: whole(count, 'count', { from: 1, to: MOST_PODS, of: 'pods' }) }),
  };
}

function readScale(event: Fields, at: number): TraceEvent {
  known(event, ['at', 'scale', 'replicas'], '');
  const scale = readRef(event.scale, 'scale');
  if (!SCALED_KINDS.has(scale.kind))
    throw new FieldFault(
      'scale.kind',
      `${scale.kind} has no replicas to scale; use ${[...SCALED_KINDS].join(', ')}, or apply it again`,
    );
  return {
    at,
    scale,
    replicas: whole(fieldOf(event, 'replicas'), 'replicas', { from: 0, to: MOST_REPLICAS, of: 'pods' }),
  };
}
