/** Claims that pods name, and the reasons why the claims of a pod cannot be used. */
import type { ResourceClaim, ResourceClaimTemplate } from '#api/objects';
import type { EnginePod } from '../input.ts';
import { namespaceOf } from '../pods.ts';
import { type ClaimTable, isFull } from './claim-states.ts';

/** Text for a pod while resource claims are ignored. */
export const UNSUPPORTED = 'pod has Dynamic Resource Allocation requirements that are not yet supported by Karpenter';

/** Claim of a pod. */
export interface PodClaim {
  readonly claim: ResourceClaim;
  /** True if the claim was created from a template for this pod. */
  readonly isPrivate: boolean;
}

export function usesDevices({ spec }: EnginePod): boolean {
  const containers = [...spec.containers, ...(spec.initContainers ?? [])];
  return (
    (spec.resourceClaims ?? []).length > 0 || containers.some(({ resources }) => (resources?.claims ?? []).length > 0)
  );
}

/** Returns the claims of a pod, or the reason why a claim cannot be used. */
export function claimsOfPod(pod: EnginePod, table: ClaimTable): readonly PodClaim[] | string {
  const claims: PodClaim[] = [];
  for (const { name, resourceClaimName } of pod.spec.resourceClaims ?? []) {
    const made = pod.status?.resourceClaimStatuses?.find((each) => each.name === name);
    // the claim of the template is not needed
    if (resourceClaimName === undefined && made !== undefined && made.resourceClaimName === undefined) continue;
    const claimName = resourceClaimName ?? made?.resourceClaimName;
    if (claimName === undefined) return `resourceclaim for "${name}" not created yet`;
    const id = `${namespaceOf(pod)}/${claimName}`;
    const claim = table.get(id);
    const isPrivate = resourceClaimName === undefined;
    const fault = claim === undefined ? `resourceclaim "${id}" not found` : faultOf(claim, { id, isPrivate, pod });
    if (fault !== undefined) return fault;
    if (claim !== undefined) claims.push({ claim, isPrivate });
  }
  return claims;
}

function faultOf(
  claim: ResourceClaim,
  { id, isPrivate, pod }: { readonly id: string; readonly isPrivate: boolean; readonly pod: EnginePod },
): string | undefined {
  const { deletionTimestamp, ownerReferences = [] } = claim.metadata;
  const isOwned = ownerReferences.some(({ controller, uid }) => controller === true && uid === pod.metadata.uid);
  if (isPrivate && !isOwned) return `resourceclaim "${id}" was not created for this pod`;
  if (deletionTimestamp !== undefined) return `resourceclaim "${id}" is being deleted`;
  return isFull(claim, pod.metadata.uid) ? 'resourceclaim in use' : undefined;
}

/** Returns the claims that a pod names, or the reason why a claim cannot be used. */
export function namedClaims(pod: EnginePod, table: ClaimTable): readonly PodClaim[] | string {
  const resourceClaims = (pod.spec.resourceClaims ?? []).filter(({ resourceClaimName }) => resourceClaimName);
  return claimsOfPod({ ...pod, spec: { ...pod.spec, resourceClaims } }, table);
}

/** Claims that templates would create, by template. */
const made = new WeakMap<ResourceClaimTemplate, ResourceClaim>();

/**
 * Returns the claims that a virtual pod or the next pod of a DaemonSet would have, or the reason why they cannot be created.
 * Claims that the pod template names count as satisfied.
 */
export function claimsOfVirtualPod(
  pod: EnginePod,
  templates: ReadonlyMap<string, ResourceClaimTemplate>,
): readonly PodClaim[] | string {
  const claims: PodClaim[] = [];
  for (const { resourceClaimTemplateName: name } of pod.spec.resourceClaims ?? []) {
    if (name === undefined) continue;
    const id = `${namespaceOf(pod)}/${name}`;
    const template = templates.get(id);
    if (template === undefined) return `resourceclaimtemplate "${id}" not found`;
    const { apiVersion, metadata, spec } = template;
    const claim = made.get(template) ?? { apiVersion, kind: 'ResourceClaim', metadata, spec: spec.spec };
    made.set(template, claim);
    claims.push({ claim, isPrivate: true });
  }
  return claims;
}
