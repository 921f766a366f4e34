/** Schema of the summary of a trace. */
import { Type } from 'typebox';
import { count, text, texts, time } from './parts.ts';

const level = (description: string) =>
  Type.Object(
    { most: Type.Number({ description: 'Maximum' }), average: Type.Number({ description: 'Average over the trace' }) },
    { description },
  );

export const TRACE_SUMMARY = Type.Object(
  {
    name: text('Name of the trace'),
    start: time('Start of the trace'),
    seconds: Type.Number({ description: 'Length of the trace' }),
    source: Type.Optional(text('Origin of the trace')),
    events: count('Lines without the header'),
    objects: Type.Record(Type.String(), Type.Integer({ minimum: 0 }), {
      description: 'Applied objects by kind',
    }),
    podStarts: count('Started pods, not counting DaemonSet pods'),
    pods: level('Running pods'),
    cpu: level('CPU cores that running pods request'),
    memoryGib: level('Memory that running pods request, in GiB'),
    gpus: level('GPUs and accelerators that running pods request'),
    warnings: texts('Lines that a replay ignores; at most ten'),
  },
  { description: 'Summary of a trace, as if each pod started immediately' },
);
