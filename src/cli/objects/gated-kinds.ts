/** Kinds that the operator reads only if the feature gate of the same name is open. */
import {
  apiVersionOf,
  type CapacityBuffer,
  GANG_KINDS,
  type GangObject,
  type Kind,
  type KubeObject,
  type NodeOverlay,
  POD_TEMPLATE,
  type Pod,
  PROVISIONING_REQUEST,
  type ProvisioningRequest,
} from '#api/objects';
import { type GangGroup, groupsOf, isScheduled, type PoolInput } from '#engine/model';
import {
  type BufferProblem,
  evaluateOverlays,
  isActiveBuffer,
  isHandled,
  isProblem,
  overlaid,
  phaseOf,
  requestKey,
  requestPods,
  requestUsedBy,
  virtualPods,
} from '#engine/solve';
import { messageOf } from '#lib';
import { bufferSize, findTarget } from '#planner';
import { CORE_GATES } from '#process/settings';
import type { Manifest } from './read.ts';
import { validateStored } from './stored.ts';

/** Feature gates with a known state. All other gates may be open or closed. */
export type KnownGates = Readonly<Record<string, boolean>>;

/** Gate of all kinds that declare gangs. */
const POD_GROUP = 'PodGroup';
const KINDS: readonly string[] = ['NodeOverlay', 'CapacityBuffer', 'CapacityQuota', 'ProvisioningRequest', POD_GROUP];

const isOnByDefault = (kind: string): boolean =>
  Object.values(CORE_GATES).some(({ name, fallback }) => name === kind && fallback);

/** Removes objects of kinds with a closed feature gate. If the gate is unknown and off by default, adds a note. */
export function behindGates(
  manifests: readonly Manifest[],
  gates: KnownGates = {},
): { readonly open: readonly Manifest[]; readonly notes: readonly string[] } {
  const gateOf = (object: KubeObject): string => (gangKindOf(object) === undefined ? object.kind : POD_GROUP);
  const found = KINDS.filter((kind) => manifests.some(({ object }) => gateOf(object) === kind));
  const closed = found.filter((kind) => gates[kind] === false);
  return {
    open: manifests.filter(({ object }) => !closed.includes(gateOf(object))),
    notes: found
      .filter((kind) => gates[kind] === undefined && !isOnByDefault(kind))
      .map(
        (kind) =>
          `${kind}s are included, but the operator uses them only with the feature gate ${kind}, which is disabled by ` +
          `default; add --feature-gates ${kind}=true or ${kind}=false, as in the settings of the operator`,
      ),
  };
}

/** Applies NodeOverlays of manifests to the instance types of NodePools. */
interface Overlaid {
  readonly pools: readonly PoolInput[];
  /** Notes on overlays that are not applied, with the reason. */
  readonly notes: readonly string[];
}

/** @throws InputError with the overlay and the field */
export function underOverlays(pools: readonly PoolInput[], manifests: readonly Manifest[]): Overlaid {
  const found = manifests.filter(({ object }) => object.kind === 'NodeOverlay');
  if (found.length === 0) return { pools, notes: [] };
  const overlays = found.map((manifest) => ({ where: manifest.where, overlay: validateStored<NodeOverlay>(manifest) }));
  const { accepted, evaluated, problems } = evaluateOverlays(
    overlays.map(({ overlay }) => overlay),
    pools,
  );
  return {
    pools: pools.map((pool) => ({
      ...pool,
      instanceTypes: evaluated.has(pool.nodePool) ? overlaid(pool, accepted) : [],
    })),
    notes: overlays.flatMap(({ where, overlay }) => {
      const problem = problems.get(overlay.metadata.name);
      return problem === undefined ? [] : [`${where}: not applied: ${problem.message}`];
    }),
  };
}

/** Virtual pods of capacity buffers or ProvisioningRequests in manifests. */
interface Buffered {
  readonly pods: readonly Pod[];
  /** Notes on objects whose capacity cannot be reserved. */
  readonly notes: readonly string[];
}

/**
 * Reads CapacityBuffers from manifests and creates the virtual pods that reserve their capacity.
 * @throws InputError with the buffer and the field
 */
async function bufferPods(manifests: readonly Manifest[], all: readonly Pod[], nowMs: number): Promise<Buffered> {
  const pods: Pod[] = [];
  const notes: string[] = [];
  for (const manifest of manifests.filter(({ object }) => object.kind === 'CapacityBuffer')) {
    const read = validateStored<CapacityBuffer>(manifest);
    const { name, namespace = 'default', uid = name } = read.metadata;
    const buffer = { ...read, metadata: { ...read.metadata, namespace, uid } };
    if (!isActiveBuffer(buffer)) continue;
    const target = await findTarget(buffer, async (kind, ref) => findIn(manifests, kind, ref));
    const size = isProblem(target)
      ? target
      : bufferSize(buffer, target, { nowMs, reserved: pods.length, pods: () => all });
    if (isProblem(target) || isProblem(size)) {
      const { message } = isProblem(target) ? target : (size as BufferProblem);
      notes.push(`${manifest.where}: no capacity is reserved: ${message}`);
    } else pods.push(...virtualPods(buffer, target.template, size.replicas, nowMs));
  }
  return { pods, notes };
}

/** Returns the kind of an object that declares gangs, or undefined. */
export const gangKindOf = ({ kind, apiVersion }: KubeObject): Kind | undefined =>
  GANG_KINDS.find((each) => each.kind === kind && apiVersionOf(each) === apiVersion);

/** Returns the gangs that PodGroups and Workloads declare, by id. */
export const gangGroupsIn = (manifests: readonly Manifest[]): ReadonlyMap<string, GangGroup> =>
  new Map(
    manifests.flatMap(({ object }) => {
      const kind = gangKindOf(object);
      return kind === undefined ? [] : groupsOf(kind, object as GangObject);
    }),
  );

/**
 * Reads ProvisioningRequests from manifests.
 * @throws InputError with the request and the field
 */
export const requestsIn = (manifests: readonly Manifest[]): readonly ProvisioningRequest[] =>
  manifests
    .filter(({ object }) => object.kind === PROVISIONING_REQUEST.kind)
    .map((manifest) => {
      const read = validateStored<ProvisioningRequest>(manifest);
      const { name, namespace = 'default', uid = name } = read.metadata;
      return { ...read, metadata: { ...read.metadata, namespace, uid } };
    });

/** Reads CapacityBuffers and ProvisioningRequests from manifests. @throws InputError with the object and the field */
export async function reservedRoom(
  manifests: readonly Manifest[],
  pods: readonly Pod[],
  nowMs: number,
): Promise<Buffered & { readonly requests: readonly ProvisioningRequest[] }> {
  const buffered = await bufferPods(manifests, pods, nowMs);
  const requests = requestsIn(manifests);
  const requested = podsOfRequests(requests, manifests, pods);
  return {
    requests,
    pods: [...buffered.pods, ...requested.pods],
    notes: [...buffered.notes, ...requested.notes],
  };
}

/** Creates the virtual pods of requests that wait for capacity, or whose capacity is held. */
function podsOfRequests(
  requests: readonly ProvisioningRequest[],
  manifests: readonly Manifest[],
  pods: readonly Pod[],
): Buffered {
  const found: Pod[] = [];
  const notes: string[] = [];
  for (const request of requests.filter((each) => isHandled(each) && phaseOf(each) !== 'ended')) {
    const { namespace, name } = request.metadata;
    const where = `ProvisioningRequest ${requestKey(request)}`;
    const sets = request.spec.podSets.flatMap(({ podTemplateRef, count }) => {
      const template = findIn(manifests, POD_TEMPLATE, { name: podTemplateRef.name, namespace })?.template;
      if (template === undefined) notes.push(`${where}: PodTemplate "${namespace}/${podTemplateRef.name}" not found`);
      return template === undefined ? [] : [{ template, count }];
    });
    if (sets.length < request.spec.podSets.length) continue;
    const isBooked = phaseOf(request) === 'booked';
    const uses = (pod: Pod): boolean =>
      isScheduled(pod) && pod.metadata.namespace === namespace && requestUsedBy(pod) === name;
    try {
      found.push(...requestPods(request, sets, isBooked ? pods.filter(uses) : undefined));
    } catch (error) {
      notes.push(`${where}: ${messageOf(error)}`);
    }
  }
  return { pods: found, notes };
}

function findIn<T extends KubeObject>(
  manifests: readonly Manifest[],
  { kind }: Kind<T>,
  { name, namespace }: { readonly name: string; readonly namespace: string | undefined },
): T | undefined {
  const found = manifests.find(
    ({ object: { kind: of, metadata } }) =>
      of === kind && metadata.name === name && (metadata.namespace ?? 'default') === namespace,
  );
  return found?.object as T | undefined;
}
