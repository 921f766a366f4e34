export type { PricesOf } from '../costs.ts';
export type { LiveDecision, LiveNode, LiveState, PendingGroup, PendingPod } from '../model.ts';
export { pendingGroups } from '../pending.ts';
export {
  believedUse,
  objectsOf,
  podMetrics,
  type UseReport,
  UseSamples,
  usesFromMetricsApi,
  usesIfServed,
} from '../pod-use.ts';
export type { WhatIfResponse } from '../responses.ts';
export { LiveView } from '../view.ts';
