export { canLaunch } from '../instancetypes/compatibility.ts';
export { cpuCreditsOf } from '../instancetypes/cpu-credits.ts';
export { typeRequirements } from '../instancetypes/labels.ts';
export { typeTerms } from '../instancetypes/type-terms.ts';
export { baseOfferings } from '../offerings/offerings.ts';
export type { OutOffering, PoolOfferings } from '../offerings/report.ts';
export { nodeCharges } from '../pricing/node-charges.ts';
export type { SpotPoolView } from '../spot-risk/spot-risk.ts';
export type { Zone } from '../subnets/zones.ts';
