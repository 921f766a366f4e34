/** A trace as the verb plays it: cut where it is to end, and what it begins with. */
import type { Trace, TraceEvent } from '../../replay/trace/trace.ts';
import type { Beginning } from './objects.ts';

/** The part of a trace up to `seconds`; the trace itself where it ends sooner. */
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

/** NodePools and NodeClasses that are there as soon as the trace begins. */
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
