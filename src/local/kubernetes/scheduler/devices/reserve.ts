/** Reserves devices for a pod in the scheduler's view, and writes the allocations of its claims before the pod is bound. */
import { randomUUID } from 'node:crypto';
import { POD, type Pod, RESOURCE_CLAIM, RESOURCE_SLICE, type ResourceClaim } from '#api/objects';
import { ownerReference } from '../../../owner-references.ts';
import type { Parts } from '../../../parts.ts';
import { matchesAnyTerm } from '../selectors.ts';
import type { ClusterView, NodeView } from '../view.ts';
import { allocationOf } from './allocation-result.ts';
import { isReservedFor } from './claims-of-pod.ts';
import type { DeviceCluster } from './device-cluster.ts';
import { EXTENDED_CLAIM, type ExtendedRequest, extendedClaim } from './extended-resources.ts';
import { grantsOn, requestsOnNode } from './filter.ts';

/** Returns true if the pod alone uses the claim, and some node does not reach the allocated devices. */
function isInTheWay(claim: ResourceClaim, pod: Pod, { nodes }: ClusterView): boolean {
  const { allocation, reservedFor = [] } = claim.status ?? {};
  const terms = allocation?.nodeSelector?.nodeSelectorTerms;
  const isIdle = reservedFor.length === 0 || (reservedFor.length === 1 && isReservedFor(claim, pod));
  return isIdle && terms !== undefined && nodes.some(({ node }) => !matchesAnyTerm(terms, node));
}

/**
 * Removes the allocation of the first claim that keeps a pod from its nodes, as kube-scheduler does after no node fits. The
 * change of the claim lets the pod be tried again.
 */
export async function releaseIdleClaim(pod: Pod, cluster: ClusterView, { client }: Parts): Promise<void> {
  if ((pod.spec.resourceClaims ?? []).length === 0) return;
  const needs = cluster.devices?.needsOf(pod);
  if (needs === undefined || 'refusal' in needs) return;
  const idle = needs.claims.find((claim) => isInTheWay(claim, pod, cluster));
  if (idle === undefined) return;
  const { resourceVersion } = idle.metadata;
  const patch = { metadata: { resourceVersion }, status: { allocation: null, reservedFor: null } };
  await client.patch(RESOURCE_CLAIM, idle.metadata, patch, { subresource: 'status' });
}

/** Keeps a claim until the claim controller has removed its allocation. */
export const CLAIM_FINALIZER = 'resource.kubernetes.io/delete-protection';

export interface Reservation {
  /** Claims that were not allocated before, with their allocations. */
  readonly claims: readonly ResourceClaim[];
  /** Writes the allocations and reserves the claims for the pod. @throws ApiError if a claim changed meanwhile */
  write(): Promise<void>;
  /** Ends the reservation in the scheduler's view. */
  end(): void;
}

const consumerOf = ({ metadata }: Pod) => ({ resource: 'pods', name: metadata.name, uid: metadata.uid ?? '' });

/** Returns undefined if the pod requests no devices. @throws Error if the node has no devices for the pod */
export function reserveDevices(
  pod: Pod,
  view: NodeView,
  devices: DeviceCluster,
  { client, caches }: Parts,
): Reservation | undefined {
  const needs = devices.needsOf(pod);
  if (needs === undefined) return undefined;
  if ('refusal' in needs) throw new Error(needs.refusal);
  const found = grantsOn(devices, pod, needs, view);
  if (typeof found === 'string') throw new Error(found);
  const sources = {
    slices: caches.of(RESOURCE_SLICE).list(),
    classes: devices.classes,
    nodeName: view.name,
    newShareId: randomUUID,
  };
  const allocated = found.map(
    ({ claim, grants }): ResourceClaim => ({
      ...claim,
      status: { ...claim.status, allocation: allocationOf(claim, grants, sources), reservedFor: [consumerOf(pod)] },
    }),
  );
  const extended = requestsOnNode(needs.extended, view.allocatable);
  const assumed = allocated.map((claim) => withOwnName(claim, pod));
  devices.assume(assumed);

  const write = async (): Promise<void> => {
    for (const claim of allocated)
      if (claim.metadata.uid === undefined) await createExtended(claim);
      else await allocate(claim);
    for (const claim of needs.claims)
      if (claim.status?.allocation !== undefined && !isReservedFor(claim, pod)) await reserve(claim);
  };
  const allocate = async ({ metadata, status }: ResourceClaim): Promise<void> => {
    const { finalizers = [], resourceVersion } = metadata;
    const patch = { metadata: { resourceVersion, finalizers: [...new Set([...finalizers, CLAIM_FINALIZER])] } };
    const kept = await client.patch(RESOURCE_CLAIM, metadata, patch);
    await writeStatus(kept, status);
  };
  const reserve = (claim: ResourceClaim): Promise<void> =>
    writeStatus(claim, { reservedFor: [...(claim.status?.reservedFor ?? []), consumerOf(pod)] });
  const writeStatus = async ({ metadata }: ResourceClaim, status: ResourceClaim['status']): Promise<void> => {
    const patch = { metadata: { resourceVersion: metadata.resourceVersion }, status };
    await client.patch(RESOURCE_CLAIM, metadata, patch, { subresource: 'status' });
  };
  const createExtended = async (claim: ResourceClaim): Promise<void> => {
    const { namespace = 'default' } = pod.metadata;
    const created = await client.create(RESOURCE_CLAIM, {
      ...extendedClaim(pod, extended),
      metadata: {
        ...({ generateName: `${pod.metadata.name}-extended-resources-` } as object as { name: string }),
        namespace,
        annotations: { [EXTENDED_CLAIM]: 'true' },
        ownerReferences: [ownerReference(pod)],
        finalizers: [CLAIM_FINALIZER],
      },
    });
    await writeStatus(created, claim.status);
    const { name } = created.metadata;
    const status = { extendedResourceClaimStatus: { resourceClaimName: name, requestMappings: mappingsOf(extended) } };
    await client.patch(POD, pod.metadata, { metadata: { uid: pod.metadata.uid }, status }, { subresource: 'status' });
  };
  return { claims: allocated, write, end: () => devices.forget(assumed) };
}

/** Returns the claim with a unique name, because the claim for extended resources has no name before it is created. */
const withOwnName = (claim: ResourceClaim, { metadata }: Pod): ResourceClaim =>
  claim.metadata.uid === undefined
    ? { ...claim, metadata: { ...claim.metadata, name: `<extended-resources ${metadata.uid}>` } }
    : claim;

const mappingsOf = (extended: readonly ExtendedRequest[]) =>
  extended.map(({ container, resource, name }) => ({
    containerName: container,
    resourceName: resource,
    requestName: name,
  }));
