export type { Blocker, NodeBlockers } from '../blockers/blocker.ts';
export { type BlockerContext, blockersIn } from '../blockers/report.ts';
export { pendingAttachments } from '../drain/attachments.ts';
export { canEndSooner, deadlineOf, grantedSeconds, needsForceDelete, readDeadline } from '../drain/deadline.ts';
export { type SurgeDeployment, type SurgeStep, surgeRequest, surgeStep } from '../drain/surge.ts';
