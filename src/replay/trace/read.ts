/** Reads traces of JSON lines and checks each line. */

import { FieldFault, InputError, messageOf, parseJson } from '#lib';
import { readEvent, readHeader } from './events.ts';
import type { Line } from './lines.ts';
import { type LineSource, openLines } from './source.ts';
import type { Trace, TraceEvent, TraceHeader } from './trace.ts';

/**
 * Opens a trace and reads its header. The events are read each time that they are iterated.
 *
 * @param path a file, plain or compressed with gzip, or `-` for standard input
 * @throws InputError with the file, line, field and remedy, also while the events are iterated
 */
export async function readTrace(path: string): Promise<Trace> {
  const source = await openLines(path);
  for await (const { text, number, isWhole } of source.lines()) {
    const line = { text: number === 1 ? text.replace(/^\uFEFF/, '') : text, number, isWhole };
    if (isBlank(line)) continue;
    const header = parseLine(source, line, readHeader, foreignRemedy(line.text));
    return { header, events: () => eventsOf(source, header, number) };
  }
  throw new InputError(source.name, 'is empty; a trace begins with its header, {"trace":"karpenter/v1",…}');
}

const isBlank = ({ text }: Line): boolean => text.trim() === '';

async function* eventsOf(source: LineSource, header: TraceHeader, headerLine: number): AsyncGenerator<TraceEvent> {
  let at = 0;
  for await (const line of source.lines()) {
    if (line.number <= headerLine || isBlank(line)) continue;
    const event = parseLine(source, line, (value) => readEvent(value, header, at));
    at = event.at;
    yield event;
  }
}

/** @param remedy remedy if the line is not valid JSON */
function parseLine<T>(
  { name }: LineSource,
  { text, number, isWhole }: Line,
  read: (value: unknown) => T,
  remedy?: string,
): T {
  const where = `${name}, line ${number}`;
  try {
    return read(parseJson(text));
  } catch (error) {
    if (error instanceof FieldFault) throw new InputError(where, remedy ?? error.message, { cause: error });
    const breaksOff = isWhole
      ? 'write one JSON object per line'
      : 'the line is incomplete; delete it, or write the trace again';
    throw new InputError(where, remedy ?? `${messageOf(error)}; ${breaksOff}`, { cause: error });
  }
}

/** Returns the remedy for a file that is not a trace, based on its first line. */
function foreignRemedy(text: string): string | undefined {
  if (/"apiVersion"\s*:\s*"audit\.k8s\.io\//.test(text))
    return 'this is a Kubernetes audit log; convert it with `karpenter trace from-audit`';
  if (/"apiVersion"\s*:/.test(text) && !/"trace"\s*:/.test(text))
    return 'this is a Kubernetes object, not a trace; a trace begins with its header, {"trace":"karpenter/v1",…}';
  if (/^[\w ."-]+,[\w ,."-]+$/.test(text.trim()))
    return 'this looks like CSV; convert it with `karpenter trace from-csv`';
  return undefined;
}
