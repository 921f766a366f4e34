export { ClusterState } from './cluster.ts';
export { DEVICE_TEMPLATES_LABEL, type Declarations, readDeclarations } from './devices/declared.ts';
export { deviceLists } from './devices/device-stores.ts';
export { TEMPLATE_MEMORY_NAME, TemplateMemory } from './devices/memory.ts';
export { DeviceSources, type SourceCount } from './devices/sources.ts';
export { isEphemeralTaint, providerIdOf } from './node.ts';
export { PAUSED_RETRY_MS } from './pause-state.ts';
export { type HoldCode, type HoldOf, type PodHold, PodHolds, wallTimeOf } from './pod-holds.ts';
export { likenessOf } from './pod-likeness.ts';
export type { PodTiming } from './pod-timings.ts';
export {
  ATTACHMENTS_BY_NODE,
  CLAIMS_BY_NODE_CLASS,
  CLAIMS_BY_NODE_POOL,
  openBuffers,
  PODS_BY_DAEMON_SET,
  PODS_BY_NODE,
  type Stores,
} from './stores.ts';
export type { OverdueClaim } from './unlaunched.ts';
export { isUntried, replicatorOf, UnschedulableReplicators, untriedReplicas } from './untried-replicas.ts';
