/** Names that only tests and scripts of other areas import. */
export { createClients } from '../clients.ts';
export { launchError, recordFleetErrors } from '../fleet/failures.ts';
export { instanceIdOf, instanceIdOfClaim } from '../instances/instance.ts';
export { BRANCH_INTERFACES } from '../instancetypes/branchinterfacetable.ts';
export { capacityTerms } from '../instancetypes/capacity.ts';
export { NODE_CAPACITIES_NAME } from '../instancetypes/capacity-keeper.ts';
export { EARNED_CREDITS } from '../instancetypes/cpu-credit-table.ts';
export { fetchTypes } from '../instancetypes/discovery.ts';
export { parseMessage } from '../interruption/messages.ts';
export { compileFailure, resolveReserved } from '../kubelet/expressions.ts';
export { awsMetrics } from '../metrics.ts';
export { fieldErrors } from '../nodeclass/fields.ts';
export { staticFailure } from '../nodeclass/validation.ts';
export { typesInUse } from '../offerings/metrics.ts';
export { SHORTAGE_TTL_MS, UnavailableOfferings } from '../offerings/unavailable.ts';
export type { AwsProvider } from '../options.ts';
export { CLUSTER_UID_TAG, restrictedTags } from '../tags.ts';
export { renderUserData } from '../userdata/userdata.ts';
