export { CreateFailed, causeOf, InsufficientCapacity, NodeClaimNotFound, NodeClassNotReady } from './errors.ts';
export type { AdjustTypes, CloudProvider, DriftReason, RegistrationHook } from './provider.ts';
