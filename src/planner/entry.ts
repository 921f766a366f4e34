export { bufferSize, findTarget } from './capacity-buffers.ts';
export { type CeilingSources, ceilingReader, ceilingSources } from './ceilings.ts';
export { type JudgedClaim, judgeClaim } from './claim-conditions.ts';
export {
  type DisruptionInput,
  disruptionInput,
  launchSnapshot,
  type PlannerInput,
  type SimulationInput,
  simulationSnapshot,
} from './inputs.ts';
export {
  activeInputs,
  activePools,
  governedPools,
  idleNodePools,
  idlePools,
  managedPools,
  type NodeClassOf,
  someAwaitReadiness,
} from './node-pools.ts';
export { explainClaim } from './nodeclaim-explanation.ts';
export { nominateNode, placedPods, recordClaim } from './nominations.ts';
export { type DecisionSettings, launchOptions } from './options.ts';
export { blockersOf, methodsFor, type PassSettings, passOf } from './passes.ts';
export { launchText, placedVerdict } from './pod-verdicts.ts';
export { pendingPods, type Workload, workloadOf } from './pods.ts';
export { type Catalogue, nodeExtras, type PoolProblem, poolInputs } from './pool-inputs.ts';
export { repairSettingsOf } from './repair-settings.ts';
export { rolloutIn } from './rollouts.ts';
export { takeSnapshot } from './snapshot.ts';
export { launchableTypes, spotTermsOf } from './spot.ts';
