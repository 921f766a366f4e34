export type { PricesOf } from '../costs.ts';
export type { LiveDecision, LiveNode, LiveState, PendingGroup, PendingPod } from '../model.ts';
export { pendingGroups } from '../pending.ts';
export { LiveView } from '../view.ts';
