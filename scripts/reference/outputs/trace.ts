/** Schema of the summary of a trace. */
import { Type } from 'typebox';
import { count, text, texts, time } from './parts.ts';

const level = (description: string) =>
  Type.Object(
    { most: Type.Number({ description: 'At most' }), average: Type.Number({ description: 'Over the trace' }) },
    { description },
  );

export const TRACE_SUMMARY = Type.Object(
  {
    name: text('What the trace is called'),
    start: time('When it begins'),
    seconds: Type.Number({ description: 'From its start to its end' }),
    source: Type.Optional(text('Where it comes from')),
    events: count('Lines without the header'),
    objects: Type.Record(Type.String(), Type.Integer({ minimum: 0 }), {
      description: 'Objects that are applied, by kind',
    }),
    podStarts: count('Pods that start, those of DaemonSets left out'),
    pods: level('Pods that run'),
    cpu: level('Cores that running pods request'),
    memoryGib: level('Memory that running pods request, GiB'),
    gpus: level('GPUs and accelerators that running pods request'),
    warnings: texts('What a replay passes over; ten at most'),
  },
  { description: 'A trace, as if each pod started at once and ended when the trace says so' },
);
