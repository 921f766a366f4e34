/** Metrics of traces. They exist only if a collector is configured. */
import { counter } from './declaration.ts';

export const TRACES_SPANS = counter({
  name: 'karpenter_traces_spans_total',
  help: 'Spans by result: `exported`, `failed` at the collector, `queue_full`, or `over_limit` of pods of a solve',
  labels: ['result'],
});
