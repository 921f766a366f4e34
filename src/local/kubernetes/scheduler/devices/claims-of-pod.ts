/** Resource claims that a pod needs before it can run. */
import { controllerOf, type DeviceRequestDetails, type Pod, type ResourceClaim } from '#api/objects';

/** Maximum number of pods that can use a claim, as in the API. */
const MOST_RESERVATIONS = 256;

const nameOf = ({ metadata }: Pod | ResourceClaim): string => `${metadata.namespace ?? 'default'}/${metadata.name}`;

/** Reason why a pod with claims cannot be scheduled on any node. */
export interface ClaimRefusal {
  readonly refusal: string;
}

const refuse = (refusal: string): ClaimRefusal => ({ refusal });

/**
 * Returns the claims of a pod, or the reason why one of them does not exist yet. Until then, kube-scheduler does not try the pod,
 * and therefore does not report the pod.
 */
export function claimsOfPod(
  pod: Pod,
  find: (name: string) => ResourceClaim | undefined,
): readonly ResourceClaim[] | ClaimRefusal {
  const claims: ResourceClaim[] = [];
  for (const { name, resourceClaimName } of pod.spec.resourceClaims ?? []) {
    const created = pod.status?.resourceClaimStatuses?.find((each) => each.name === name);
    if (resourceClaimName === undefined && created !== undefined && created.resourceClaimName === undefined) continue;
    const claimName = resourceClaimName ?? created?.resourceClaimName;
    if (claimName === undefined) return refuse(`pod "${nameOf(pod)}": ResourceClaim not created yet`);
    const claim = find(claimName);
    if (claim === undefined) return refuse(`resourceclaim.resource.k8s.io "${claimName}" not found`);
    if (claim.metadata.deletionTimestamp) return refuse(`resourceclaim "${claimName}" is being deleted`);
    if (resourceClaimName === undefined && controllerOf(claim)?.uid !== pod.metadata.uid)
      return refuse(`ResourceClaim ${nameOf(claim)} was not created for pod ${nameOf(pod)} (pod is not owner)`);
    claims.push(claim);
  }
  return claims;
}

export const isReservedFor = ({ status }: ResourceClaim, { metadata }: Pod): boolean =>
  status?.reservedFor?.some(({ uid }) => uid === metadata.uid) ?? false;

/** Returns the requests of a claim by the name that results of an allocation contain. */
export function requestsOf({ spec }: ResourceClaim): ReadonlyMap<string, DeviceRequestDetails> {
  const requests = new Map<string, DeviceRequestDetails>();
  for (const { name, exactly, firstAvailable = [] } of spec?.devices?.requests ?? []) {
    if (exactly !== undefined) requests.set(name, exactly);
    for (const each of firstAvailable) requests.set(`${name}/${each.name}`, each);
  }
  return requests;
}

/** Returns the reason why the claims fit on no node now. */
export function claimFault(
  pod: Pod,
  claims: readonly ResourceClaim[],
  world: { hasClass(name: string): boolean; isPending(claim: ResourceClaim): boolean },
): ClaimRefusal | undefined {
  for (const claim of claims) {
    const { allocation, reservedFor = [] } = claim.status ?? {};
    if (allocation !== undefined) {
      if (reservedFor.length >= MOST_RESERVATIONS && !isReservedFor(claim, pod)) return refuse('resourceclaim in use');
      continue;
    }
    if (world.isPending(claim)) return refuse(`resource claim ${nameOf(claim)} is in the process of being allocated`);
    for (const [request, { deviceClassName }] of requestsOf(claim))
      if (!world.hasClass(deviceClassName))
        return refuse(`request ${request}: device class ${deviceClassName} does not exist`);
  }
  return undefined;
}
