/** Resource claims: creates claims from templates, and frees and deletes claims whose pods have ended. */
import {
  type ClaimConsumer,
  controllerOf,
  POD,
  type Pod,
  RESOURCE_CLAIM,
  RESOURCE_CLAIM_TEMPLATE,
  type ResourceClaim,
  type ResourceClaimTemplate,
} from '#api/objects';
import { keyOf, refOf } from '#kube/client';
import type { Cache } from '../../cache.ts';
import { isAnyConflict, isGone, type ObjectClient } from '../../client.ts';
import { controllerUid, ownerReference } from '../../owner-references.ts';
import { eventReporter, type Parts, type Report } from '../../parts.ts';
import { isOver } from '../scheduler/cluster.ts';
import { CLAIM_FINALIZER } from '../scheduler/devices/reserve.ts';
import { type Loop, startLoop } from './loop.ts';

/** Annotation of a claim with the name of the entry in the pod's `resourceClaims`. */
const POD_CLAIM_NAME = 'resource.kubernetes.io/pod-claim-name';
/** Names have at most 63 characters; the API server adds a suffix. */
const LONGEST_PREFIX = 57;

export async function startResourceClaims(parts: Parts): Promise<void> {
  await new ResourceClaims(parts).start();
}

/** Returns true if a pod does not need its claims any more. */
const isDone = (pod: Pod): boolean =>
  isOver(pod) || (pod.metadata.deletionTimestamp !== undefined && !pod.spec.nodeName);

const templatesOf = ({ spec }: Pod) =>
  (spec.resourceClaims ?? []).filter(({ resourceClaimTemplateName }) => resourceClaimTemplateName !== undefined);

class ResourceClaims {
  readonly #client: ObjectClient;
  readonly #claims: Cache<ResourceClaim>;
  readonly #templates: Cache<ResourceClaimTemplate>;
  readonly #pods: Cache<Pod>;
  readonly #report: Report;
  readonly #ofPods: Loop;
  readonly #ofClaims: Loop;

  constructor(parts: Parts) {
    this.#client = parts.client;
    this.#claims = parts.caches.of(RESOURCE_CLAIM);
    this.#templates = parts.caches.of(RESOURCE_CLAIM_TEMPLATE);
    this.#pods = parts.caches.of(POD);
    this.#report = eventReporter('resource_claim', parts);
    this.#ofPods = startLoop({ ...parts, name: 'pods with claims', reconcile: (key) => this.#createClaims(key) });
    this.#ofClaims = startLoop({ ...parts, name: 'resource claims', reconcile: (key) => this.#release(key) });
  }

  async start(): Promise<void> {
    this.#pods.subscribe((now, before) => {
      const pod = now ?? before;
      if (pod === undefined) return;
      if (now !== undefined && !isDone(now) && templatesOf(now).length > 0) this.#ofPods.add(keyOf(now.metadata));
      if (now === undefined || isDone(now)) for (const key of this.#keysOf(pod)) this.#ofClaims.add(key);
    });
    this.#claims.subscribe((now, before) => {
      if (now) this.#ofClaims.add(keyOf(now.metadata));
      const owner = before && controllerOf(before);
      // a claim of a template is created again if it was deleted before its pod used it
      if (!now && owner?.kind === 'Pod')
        this.#ofPods.add(keyOf({ name: owner.name, namespace: before?.metadata.namespace }));
    });
    this.#templates.subscribe((now) => {
      for (const pod of now === undefined ? [] : this.#pods.list())
        if (templatesOf(pod).some(({ resourceClaimTemplateName }) => resourceClaimTemplateName === now?.metadata.name))
          this.#ofPods.add(keyOf(pod.metadata));
    });
    await Promise.all([this.#claims.synced, this.#templates.synced, this.#pods.synced]);
    for (const claim of this.#claims.list()) this.#ofClaims.add(keyOf(claim.metadata));
  }

  /** Returns the claims that a pod names or owns. */
  #keysOf({ metadata, spec, status }: Pod): ReadonlySet<string> {
    const { namespace, uid = '' } = metadata;
    const entries = [...(spec.resourceClaims ?? []), ...(status?.resourceClaimStatuses ?? [])];
    const names = entries.flatMap(({ resourceClaimName }) => resourceClaimName ?? []);
    const owned = this.#claims.by(controllerUid, uid);
    return new Set([
      ...names.map((name) => keyOf({ name, namespace })),
      ...owned.map((claim) => keyOf(claim.metadata)),
    ]);
  }

  async #createClaims(key: string): Promise<void> {
    const pod = this.#pods.get(refOf(key));
    if (pod === undefined || isDone(pod) || pod.metadata.deletionTimestamp !== undefined) return;
    const known = pod.status?.resourceClaimStatuses ?? [];
    const missing = templatesOf(pod).filter(({ name }) => !known.some((each) => each.name === name));
    if (missing.length === 0) return;
    const created: { readonly name: string; readonly resourceClaimName: string }[] = [];
    for (const { name, resourceClaimTemplateName = '' } of missing) {
      const claim = this.#claimOf(pod, name) ?? (await this.#create(pod, name, resourceClaimTemplateName));
      if (claim !== undefined) created.push({ name, resourceClaimName: claim.metadata.name });
    }
    if (created.length === 0) return;
    const patch = { metadata: { uid: pod.metadata.uid }, status: { resourceClaimStatuses: [...known, ...created] } };
    try {
      await this.#client.patch(POD, pod.metadata, patch, { subresource: 'status' });
    } catch (error) {
      if (!isGone(error) && !isAnyConflict(error)) throw error;
    }
  }

  #claimOf({ metadata }: Pod, entry: string): ResourceClaim | undefined {
    return this.#claims
      .by(controllerUid, metadata.uid ?? '')
      .find((claim) => claim.metadata.annotations?.[POD_CLAIM_NAME] === entry && !claim.metadata.deletionTimestamp);
  }

  /** Returns undefined if the template does not exist yet. */
  async #create(pod: Pod, entry: string, templateName: string): Promise<ResourceClaim | undefined> {
    const { namespace = 'default' } = pod.metadata;
    const template = this.#templates.get({ name: templateName, namespace });
    if (template === undefined) {
      const message = `PodResourceClaim ${entry}: resource claim template "${templateName}": resourceclaimtemplate.resource.k8s.io "${templateName}" not found`;
      this.#report(pod, 'Warning', 'FailedResourceClaimCreation', message);
      return undefined;
    }
    const { metadata: { labels, annotations } = {}, spec } = template.spec;
    const metadata = {
      generateName: `${`${pod.metadata.name}-${entry}`.slice(0, LONGEST_PREFIX)}-`,
      namespace,
      ...(labels && { labels }),
      annotations: { ...annotations, [POD_CLAIM_NAME]: entry },
      ownerReferences: [ownerReference(pod)],
    };
    const claim = { apiVersion: 'resource.k8s.io/v1', kind: 'ResourceClaim', metadata, spec };
    const created = await this.#client.create(RESOURCE_CLAIM, claim as unknown as ResourceClaim);
    this.#claims.wrote(created);
    return created;
  }

  /** Removes the consumers that have ended, and then the allocation. Deletes claims of ended pods. */
  async #release(key: string): Promise<void> {
    const claim = this.#claims.get(refOf(key));
    if (claim === undefined) return;
    try {
      await this.#releaseConsumers(claim);
    } catch (error) {
      if (isAnyConflict(error)) this.#ofClaims.add(key);
      else if (!isGone(error)) throw error;
    }
  }

  async #releaseConsumers(claim: ResourceClaim): Promise<void> {
    const { metadata, status = {} } = claim;
    const { reservedFor = [], allocation } = status;
    const left = reservedFor.filter((consumer) => this.#isActive(claim, consumer));
    const isDeleting = metadata.deletionTimestamp !== undefined;
    // an allocation ends when its last consumer ends, or when a claim without consumers is deleted
    const ends = left.length === 0 && allocation !== undefined && (reservedFor.length > 0 || isDeleting);
    if (left.length < reservedFor.length || ends) {
      const change = { reservedFor: left.length > 0 ? left : null, ...(ends && { allocation: null }) };
      const patch = { metadata: { resourceVersion: metadata.resourceVersion }, status: change };
      const written = await this.#client.patch(RESOURCE_CLAIM, metadata, patch, { subresource: 'status' });
      this.#claims.wrote(written);
      if (ends) await this.#unprotect(written);
    } else if (isDeleting && allocation === undefined) await this.#unprotect(claim);
    if (!isDeleting && this.#hasDoneOwner(claim))
      await this.#client.delete(RESOURCE_CLAIM, metadata, { uid: metadata.uid });
  }

  #isActive(
    { metadata: { namespace } }: ResourceClaim,
    { apiGroup = '', resource, name, uid }: ClaimConsumer,
  ): boolean {
    if (apiGroup !== '' || resource !== 'pods') return true;
    const pod = this.#pods.get({ name, namespace });
    return pod?.metadata.uid === uid && !isDone(pod);
  }

  #hasDoneOwner(claim: ResourceClaim): boolean {
    const owner = controllerOf(claim);
    if (owner?.kind !== 'Pod') return false;
    const pod = this.#pods.get({ name: owner.name, namespace: claim.metadata.namespace });
    return pod?.metadata.uid === owner.uid && isDone(pod);
  }

  async #unprotect({ metadata }: ResourceClaim): Promise<void> {
    const { finalizers = [], resourceVersion } = metadata;
    if (!finalizers.includes(CLAIM_FINALIZER)) return;
    const patch = { metadata: { resourceVersion, finalizers: finalizers.filter((each) => each !== CLAIM_FINALIZER) } };
    await this.#client.patch(RESOURCE_CLAIM, metadata, patch);
  }
}
