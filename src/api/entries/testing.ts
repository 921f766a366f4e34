/** Names that only tests and scripts of other areas import. */
export type { CustomResourceDefinition } from '../crds.ts';
export type { NodeClaimRequirement } from '../nodeclaim.ts';
export type { NodeOverlaySpec } from '../nodeoverlay.ts';
export type { NodePolicySpec } from '../nodepolicy.ts';
export type { NodePoolSpec } from '../nodepool.ts';
export { priceBookSchemaText } from '../price-book/price-book.ts';
export { valuesOf } from '../schema/openapi.ts';
export type { ResourceDeclaration } from '../schema/resource.ts';
