/** Reads a trace: cuts it at its end, and finds its initial objects. */
import type { Trace, TraceEvent } from '../../replay/trace/trace.ts';
import type { Beginning } from './objects.ts';

/** Returns the first `seconds` of a trace. Returns a shorter trace unchanged. */
export function until(trace: Trace, seconds: number | undefined): Trace {
  if (seconds === undefined || seconds >= trace.header.seconds) return trace;
  return {
    header: { ...trace.header, seconds },
    async *events() {
      for await (const event of trace.events()) {
        if (event.at >= seconds) return;
        yield event;
      }
    },
  };
}

const nameIn = (event: TraceEvent, kind: string): readonly string[] =>
  'apply' in event && event.apply.kind === kind ? [event.apply.metadata.name] : [];

/** Returns the NodePools and NodeClasses at the start of the trace. */
export async function beginningOf(trace: Trace): Promise<Beginning> {
  const nodePools = new Set<string>();
  const nodeClasses = new Set<string>();
  for await (const event of trace.events()) {
    if (event.at > 0) break;
    for (const name of nameIn(event, 'NodePool')) nodePools.add(name);
    for (const name of nameIn(event, 'EC2NodeClass')) nodeClasses.add(name);
  }
  return { nodePools, nodeClasses };
}
