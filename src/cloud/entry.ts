export { CreateFailed, causeOf, InsufficientCapacity, NodeClaimNotFound, NodeClassNotReady } from './errors.ts';
export type { AdjustTypes, CloudProvider, DriftReason, NodeClassKind, RegistrationHook } from './provider.ts';
export type { Interrupted, Provider, ProviderPorts, StartProvider } from './start.ts';
