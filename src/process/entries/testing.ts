/** Names that only tests and scripts of other areas import. */
export type { FeatureGate } from '../feature-gates.ts';
export { memoryBudget } from '../memory-budget.ts';
export { allowedPods } from '../memory-capacity.ts';
export { MemoryPressure } from '../memory-pressure.ts';
export { environmentName, type Option } from '../options.ts';
export { inSteps } from '../rendered-answer.ts';
export { VARIABLES } from '../settings.ts';
