/** Names that only tests and scripts of other areas import. */
export { createOnce, nodeClaimOf } from '../claims.ts';
export { readCost } from '../cost/index.ts';
export { publishEvents } from '../disruption/disruption-events.ts';
export { DisruptionLoop } from '../disruption/loop.ts';
export type { MoveView } from '../disruption/moves.ts';
export { DisruptionQueue } from '../disruption/queue.ts';
export { Snapshots } from '../disruption/snapshots.ts';
export { registration } from '../nodeclaim/registration.ts';
export { OwnWrites } from '../own-writes.ts';
export type { LaunchBudget } from '../provisioning/launch-budget.ts';
export { PodVerdicts } from '../provisioning/pod-verdicts.ts';
export { Provisioner } from '../provisioning/provisioner.ts';
export { isWithheld } from '../provisioning/results.ts';
export { PodBatcher } from '../provisioning/triggers.ts';
export type { WhatIfAnswer } from '../what-if.ts';
