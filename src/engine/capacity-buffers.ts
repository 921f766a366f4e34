/** Capacity buffers: the number of virtual pods, their specs, and the result of their placement. */
import {
  CAPACITY_BUFFER_FAKE_POD_ANNOTATION,
  CAPACITY_BUFFER_NAME_ANNOTATION,
  CAPACITY_BUFFER_NAMESPACE_ANNOTATION,
  type CapacityBuffer,
  type CapacityBufferSpec,
  CONSUME_REQUEST_ANNOTATIONS,
  type ConditionUpdate,
  isTrue,
  type Pod,
  type PodTemplateSpec,
} from '#api/objects';
import { own, timestamp } from '#lib';
import { type Cause, type CauseCode, causeText } from './causes/cause.ts';
import type { EnginePod } from './input.ts';
import type { Plan, PodRefusal } from './model.ts';
import { podKey } from './pods.ts';
import { amountIn, defaultRequests, podRequests, resourcesOf } from './resources.ts';

export const ACTIVE_CAPACITY = 'buffer.x-k8s.io/active-capacity';
export const READY_FOR_PROVISIONING = 'ReadyForProvisioning';
const PROVISIONING = 'Provisioning';
/** Reason of `Provisioning=False` if no NodePool can ever launch a node for a pod of the buffer. */
export const INFEASIBLE = 'Infeasible';
const PERMANENT: ReadonlySet<CauseCode> = new Set([
  ...(['no-such-nodepool', 'requirements', 'undefined-label', 'unknown-instance-type', 'not-offered'] as const),
  ...(['too-large', 'volume-limit', 'taint'] as const),
]);

/** Returns true for a cause that does not end without a change of the pods or of a NodePool. */
export const isPermanent = ({ code }: Cause): boolean => PERMANENT.has(code);

/** Maximum number of virtual pods of one buffer, because each pod is an object in memory. */
export const MOST_VIRTUAL_PODS = 10_000;
/** Maximum number of virtual pods of all buffers. */
const MOST_VIRTUAL_PODS_IN_ALL = 20_000;

/** Lower than the priority of any real pod. */
const PRIORITY = -(2 ** 31);

/** Returns true if this product handles the buffer. Other products handle other strategies. */
export const isActiveBuffer = ({ spec }: CapacityBuffer): boolean =>
  (spec.provisioningStrategy ?? ACTIVE_CAPACITY) === ACTIVE_CAPACITY;

/** Returns `namespace/name` of a buffer. */
export const bufferKey = ({ metadata }: Pick<CapacityBuffer, 'metadata'>): string =>
  `${metadata.namespace ?? 'default'}/${metadata.name}`;

/**
 * Returns the number of virtual pods: the larger of `replicas` and `percentage` (rounded up, at least one) of the workload's
 * `current` replicas and the share of the cluster, within `limits`. If neither is set, returns the number that `limits` allow.
 * @throws Error if a quantity is not valid, or if the number of pods is too high
 */
export function desiredReplicas(
  spec: CapacityBufferSpec,
  template: PodTemplateSpec,
  current?: number,
  ofCluster?: number,
): number {
  const replicas = wantedReplicas(spec, template, { current, ofCluster });
  if (replicas <= MOST_VIRTUAL_PODS) return replicas;
  throw new RangeError(
    `Cannot reserve capacity for ${replicas} pods: at most ${MOST_VIRTUAL_PODS} are allowed; ` +
      'decrease spec.replicas, spec.percentage or spec.limits',
  );
}

function wantedReplicas(
  spec: CapacityBufferSpec,
  template: PodTemplateSpec,
  { current, ofCluster }: { readonly current: number | undefined; readonly ofCluster: number | undefined },
): number {
  const { replicas, percentage = 0 } = spec;
  const share = current !== undefined && current > 0 && percentage > 0 ? Math.ceil((current * percentage) / 100) : 0;
  const hasCandidate =
    replicas !== undefined || ofCluster !== undefined || (spec.percentage !== undefined && (current ?? 0) > 0);
  const desired = Math.max(replicas ?? 0, share, ofCluster ?? 0);
  const allowed = allowedByLimits(spec, template);
  if (allowed === undefined) return desired;
  return hasCandidate ? Math.min(desired, allowed) : allowed;
}

/** Returns undefined if the pods request no limited resource. */
function allowedByLimits({ limits }: CapacityBufferSpec, template: PodTemplateSpec): number | undefined {
  const requests = podRequests(podOfTemplate(template, { name: '' }));
  const counts = Object.entries(resourcesOf(limits)).flatMap(([name, limit]) => {
    const request = name === 'pods' ? 0 : amountIn(requests, name);
    return request > 0 ? [Math.floor(limit / request)] : [];
  });
  return counts.length === 0 ? undefined : Math.min(...counts);
}

export const podOfTemplate = ({ metadata, spec }: PodTemplateSpec, own: Pod['metadata']): Pod => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { ...(metadata?.labels && { labels: metadata.labels }), ...own },
  spec: defaultRequests(spec),
});

/** Returns the spec of virtual pods of a template, without a node and without claims of volumes. */
export function placeholderSpec(template: PodTemplateSpec): Pod['spec'] {
  const { nodeName: _, volumes = [], ...spec } = defaultRequests(template.spec);
  const kept = volumes.filter(({ persistentVolumeClaim, ephemeral }) => !persistentVolumeClaim && !ephemeral);
  return { ...spec, volumes: kept };
}

/** Returns the virtual pods of a buffer. They take part in scheduling and are never sent to the API server. */
export function virtualPods(
  buffer: Pick<CapacityBuffer, 'metadata'>,
  template: PodTemplateSpec,
  replicas: number,
  nowMs: number,
): readonly Pod[] {
  const { name, uid = '', namespace = 'default' } = buffer.metadata;
  const annotations = {
    [CAPACITY_BUFFER_FAKE_POD_ANNOTATION]: 'true',
    [CAPACITY_BUFFER_NAME_ANNOTATION]: name,
    [CAPACITY_BUFFER_NAMESPACE_ANNOTATION]: namespace,
  };
  // one object, so that the solver can see without a comparison that the pods are equal
  const shared: Pod['spec'] = { ...placeholderSpec(template), priority: PRIORITY };
  return Array.from({ length: replicas }, (_, index) => {
    const own = {
      name: `capacity-buffer-${name}-${index + 1}`,
      namespace,
      uid: `${uid}-${index + 1}`,
      annotations,
      creationTimestamp: timestamp(nowMs),
    };
    return {
      ...podOfTemplate(template, own),
      spec: shared,
      status: { conditions: [{ type: 'PodScheduled', status: 'False', reason: 'Unschedulable' }] },
    };
  });
}

/** Returns true if this number of virtual pods may be added to other virtual pods. */
export const hasRoomBeside = (others: number, added: number): boolean => others + added <= MOST_VIRTUAL_PODS_IN_ALL;

/**
 * Checks that a buffer may have this number of pods in addition to the pods of the remaining buffers.
 * @throws RangeError if the total is too high
 */
export function expectRoomBeside(others: number, replicas: number): void {
  if (hasRoomBeside(others, replicas)) return;
  throw new RangeError(
    `Cannot reserve capacity for ${replicas} pods in addition to ${others} pods of other capacity buffers: at most ` +
      `${MOST_VIRTUAL_PODS_IN_ALL} are allowed in total; decrease spec.replicas, spec.percentage or spec.limits of any capacity buffer`,
  );
}

/** Returns true if a pod is a virtual pod of a buffer. */
export const isVirtual = ({ metadata }: EnginePod): boolean =>
  metadata.annotations?.[CAPACITY_BUFFER_FAKE_POD_ANNOTATION] === 'true';

/** Returns the owner of a virtual pod: `namespace/name` of the buffer, or the id of the gang of a ProvisioningRequest. */
export const ownerOf = ({ metadata }: Pod): string => {
  const request = own(metadata.annotations ?? {}, CONSUME_REQUEST_ANNOTATIONS[0]);
  return request === undefined ? bufferOf(metadata) : `ProvisioningRequest ${metadata.namespace}/${request}`;
};

const bufferOf = (metadata: Pod['metadata']): string =>
  `${metadata.annotations?.[CAPACITY_BUFFER_NAMESPACE_ANNOTATION]}/${metadata.annotations?.[CAPACITY_BUFFER_NAME_ANNOTATION]}`;

/** Result of a plan for the virtual pods of one buffer. */
export interface BufferOutcome {
  /** Number of pods with room on initialized nodes. */
  readonly existing: number;
  /** Number of pods with room on nodes that are not initialized yet. */
  readonly joining: number;
  readonly bought: number;
  readonly failed: number;
  /** Refusal of the first pod without room. */
  readonly refusal?: PodRefusal;
}

type CountField = Exclude<keyof BufferOutcome, 'refusal'>;
const NO_PODS: BufferOutcome = { existing: 0, joining: 0, bought: 0, failed: 0 };

interface BufferOutcomes {
  /** By buffer, or by id of the gang of a ProvisioningRequest. */
  readonly byBuffer: ReadonlyMap<string, BufferOutcome>;
  /** Number of virtual pods on each existing node, by provider id. */
  readonly byNode: ReadonlyMap<string, number>;
}

/** @param isInitialized returns false for a node that has joined or will join, but cannot run pods yet */
export function bufferOutcomes(
  plan: Plan | undefined,
  virtual: readonly Pod[],
  isInitialized: (providerId: string) => boolean = () => true,
): BufferOutcomes {
  const buffers = new Map(virtual.map((pod) => [podKey(pod), ownerOf(pod)]));
  const byBuffer = new Map<string, BufferOutcome>();
  const byNode = new Map<string, number>();
  const count = (key: string, field: CountField): boolean => {
    const buffer = buffers.get(key);
    if (buffer === undefined) return false;
    const before = byBuffer.get(buffer) ?? NO_PODS;
    byBuffer.set(buffer, { ...before, [field]: before[field] + 1 });
    return true;
  };
  for (const { providerId, pods } of plan?.placements ?? []) {
    const field = isInitialized(providerId) ? 'existing' : 'joining';
    const kept = pods.filter((key) => count(key, field)).length;
    if (kept > 0) byNode.set(providerId, kept);
  }
  for (const { pods } of plan?.claims ?? []) for (const key of pods) count(key, 'bought');
  for (const [key, refusal] of plan?.refusals ?? []) {
    if (!count(key, 'failed')) continue;
    const buffer = buffers.get(key) ?? '';
    byBuffer.set(buffer, { refusal, ...(byBuffer.get(buffer) ?? NO_PODS) });
  }
  return { byBuffer, byNode };
}

/** Returns the update of the buffer's Provisioning condition after a solve, or undefined if there is no update. */
export function provisioningCondition(
  buffer: CapacityBuffer,
  outcome: BufferOutcome | undefined,
): ConditionUpdate | undefined {
  const not = (reason: string, message: string): ConditionUpdate => ({
    type: PROVISIONING,
    status: 'False',
    reason,
    message,
  });
  if (!isTrue(buffer, READY_FOR_PROVISIONING)) {
    return not('NotReadyForProvisioning', 'Buffer is not ReadyForProvisioning');
  }
  const desired = buffer.status?.replicas ?? 0;
  if (desired === 0) return not('BufferEmpty', 'Buffer has zero desired replicas');
  if (outcome === undefined) return undefined;
  const { existing, joining, bought, failed, refusal } = outcome;
  if (bought + failed + joining > 0) {
    const cause = refusal?.code === 'no-fit' ? refusal.cause : undefined;
    if (cause !== undefined && isPermanent(cause)) return not(INFEASIBLE, causeText(cause));
    const counts = `${bought}/${desired} virtual pods required new capacity, ${failed} failed`;
    const waits = joining === 0 ? '' : `, ${joining} wait for nodes that are not initialized`;
    const why = refusal === undefined ? '' : `: ${cause === undefined ? refusal.text : causeText(cause)}`;
    return not('RequiresNewCapacity', `${counts}${waits}${why}`);
  }
  if (existing < desired) return undefined;
  const message = `All ${existing} virtual pods fit on existing capacity`;
  return { type: PROVISIONING, status: 'True', reason: 'FitsExistingCapacity', message };
}
