export type { DoctorOptions, Examine, Finding } from './doctor.ts';
export { CreateFailed, causeOf, InsufficientCapacity, NodeClaimNotFound, NodeClassNotReady } from './errors.ts';
export type { AdjustTypes, CloudProvider, DriftReason, NodeClassKind, RegistrationHook } from './provider.ts';
export type { ConfiguredProvider, ConfigureProvider, Interrupted, Provider, ProviderPorts } from './start.ts';
