/** Names that only tests and scripts of other areas import. */
export { type EventDeclaration, MINUTE } from '../events/declaration.ts';
export type { LogKind } from '../history/log-lines.ts';
export { seriesBudget } from '../metric-views.ts';
export {
  DURATION_BUCKETS,
  FEW_DURATION_BUCKETS,
  type MetricDeclaration,
  summary,
} from '../metrics/declaration.ts';
export { NODE_LABELS } from '../metrics/nodes.ts';
export { TRACING_VARIABLES } from '../traces/settings.ts';
export type { SpanStart } from '../traces/tracer.ts';
