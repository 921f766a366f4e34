/** The scheduler's view of devices and claims, with the allocations whose writes are in progress. */

import {
  DEVICE_CLASS,
  type DeviceClass,
  type Node,
  type Pod,
  RESOURCE_CLAIM,
  RESOURCE_SLICE,
  type ResourceClaim,
} from '#api/objects';
import {
  type ClaimState,
  ClaimTable,
  type ClaimVariation,
  DeviceAllocator,
  NO_HOST_DEVICES,
  PublishedPools,
  SearchBudget,
  type SearchGrant,
} from '#engine/devices';
import { Requirements } from '#engine/model';
import { keyOf } from '#kube/client';
import type { Caches } from '../../../cache.ts';
import { matchesAnyTerm } from '../selectors.ts';
import { type ClaimRefusal, claimFault, claimsOfPod } from './claims-of-pod.ts';
import { classesByResource, type ExtendedRequest, extendedRequests } from './extended-resources.ts';

/** Kinds whose changes may let a pod with claims fit. */
export const DEVICE_KINDS = [RESOURCE_CLAIM, RESOURCE_SLICE, DEVICE_CLASS] as const;

/** Devices for a claim that is not allocated. */
export interface ClaimGrants {
  readonly claim: ResourceClaim;
  readonly grants: readonly SearchGrant[];
}

/** Devices that a pod requests. */
export interface PodDevices {
  readonly claims: readonly ResourceClaim[];
  readonly extended: readonly ExtendedRequest[];
}

const TYPE = { name: 'node', templates: [] };

export class DeviceCluster {
  readonly #caches: Caches;
  #pools: PublishedPools | undefined;
  #classes: ReadonlyMap<string, DeviceClass> | undefined;
  #byResource: ReadonlyMap<string, string> | undefined;
  #table: ClaimTable | undefined;
  #variation: ClaimVariation | undefined;
  /** Claims with allocations that are not written yet, by key. */
  readonly #assumed = new Map<string, ResourceClaim>();

  /** @param onChange called before the view changes */
  constructor(caches: Caches, onChange: () => void) {
    this.#caches = caches;
    for (const kind of DEVICE_KINDS)
      caches.of<ResourceClaim>(kind as typeof RESOURCE_CLAIM).subscribe(() => {
        onChange();
        this.#table = undefined;
        if (kind === RESOURCE_CLAIM) return;
        this.#pools = undefined;
        this.#classes = undefined;
        this.#byResource = undefined;
      });
  }

  /** Returns the device class that provides an extended resource. */
  classOf(resource: string): string | undefined {
    this.#byResource ??= classesByResource(this.#caches.of(DEVICE_CLASS).list());
    return this.#byResource.get(resource);
  }

  get classes(): ReadonlyMap<string, DeviceClass> {
    this.#classes ??= new Map(
      this.#caches
        .of(DEVICE_CLASS)
        .list()
        .map((each) => [each.metadata.name, each]),
    );
    return this.#classes;
  }

  /** Reports whether a claim of a pod does not exist yet, so that kube-scheduler does not try the pod. */
  isParked(pod: Pod): boolean {
    if ((pod.spec.resourceClaims ?? []).length === 0) return false;
    return 'refusal' in this.#claimsOf(pod);
  }

  #claimsOf(pod: Pod): ReturnType<typeof claimsOfPod> {
    const namespace = pod.metadata.namespace ?? 'default';
    return claimsOfPod(pod, (name) => this.#caches.of(RESOURCE_CLAIM).get({ name, namespace }));
  }

  /** Returns the devices that a pod requests, the reason why it fits on no node, or undefined if it requests no devices. */
  needsOf(pod: Pod): PodDevices | ClaimRefusal | undefined {
    this.classOf('');
    const extended = extendedRequests(pod, this.#byResource ?? new Map());
    if ((pod.spec.resourceClaims ?? []).length + extended.length === 0) return undefined;
    const claims = this.#claimsOf(pod);
    if ('refusal' in claims) return claims;
    const fault = claimFault(pod, claims, {
      hasClass: (name) => this.classes.has(name),
      isPending: (claim) => this.#assumed.has(keyOf(claim.metadata)),
    });
    return fault ?? { claims, extended };
  }

  /** Returns devices for claims on a node, or the reason why the node has none, in kube-scheduler's words. */
  allocate(claims: readonly ResourceClaim[], node: Node): readonly ClaimGrants[] | string {
    const open: ResourceClaim[] = [];
    for (const claim of claims) {
      const { allocation } = claim.status ?? {};
      const terms = allocation?.nodeSelector?.nodeSelectorTerms;
      if (allocation === undefined) open.push(claim);
      else if (terms !== undefined && !matchesAnyTerm(terms, node)) return 'resourceclaim not available on the node';
    }
    if (open.length === 0) return [];
    const { table, variation, pools } = this.#state();
    const states = open.map(
      (claim): ClaimState => ({
        id: keyOf(claim.metadata),
        isPrivate: true,
        allocated: undefined,
        compiled: table.compiled(claim),
      }),
    );
    const found = new DeviceAllocator({ pools, use: variation.use }).allocate(
      states,
      {
        host: node,
        place: { nodeName: node.metadata.name, requirements: Requirements.fromLabels(node.metadata.labels) },
        types: [TYPE],
        devices: NO_HOST_DEVICES,
      },
      new SearchBudget(),
    );
    if ('text' in found) return found.text.startsWith('no instance type') ? 'cannot allocate all claims' : found.text;
    const granted = found.devices.byType.get(TYPE.name)?.claims ?? [];
    return open.map((claim, at) => ({ claim, grants: granted[at]?.grants ?? [] }));
  }

  /** Counts claims as allocated until the API server contains the allocation. */
  assume(claims: readonly ResourceClaim[]): void {
    for (const claim of claims) this.#assumed.set(keyOf(claim.metadata), claim);
    this.#table = undefined;
  }

  /** Ends the assumption for claims, because they were written or the binding failed. */
  forget(claims: readonly ResourceClaim[]): void {
    for (const claim of claims) this.#assumed.delete(keyOf(claim.metadata));
    this.#table = undefined;
  }

  #state(): { readonly table: ClaimTable; readonly variation: ClaimVariation; readonly pools: PublishedPools } {
    // DeviceTaintRules are served since Kubernetes 1.37
    this.#pools ??= new PublishedPools(this.#caches.of(RESOURCE_SLICE).list(), []);
    if (this.#table === undefined || this.#variation === undefined) {
      const stored = this.#caches.of(RESOURCE_CLAIM).list();
      const others = stored.filter(({ metadata }) => !this.#assumed.has(keyOf(metadata)));
      const claims = [...others, ...this.#assumed.values()];
      this.#table = new ClaimTable(claims, [...this.classes.values()], { pools: this.#pools });
      this.#variation = this.#table.whileMoving(new Set());
    }
    return { table: this.#table, variation: this.#variation, pools: this.#pools };
  }
}
