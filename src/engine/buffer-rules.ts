/** Annotations of capacity buffers: a share of the cluster, a schedule, and room that is kept only once. */
import {
  BUFFER_CLUSTER_ANNOTATION,
  BUFFER_DURATION_ANNOTATION,
  BUFFER_REFILL_ANNOTATION,
  BUFFER_SCHEDULE_ANNOTATION,
  BUFFER_TIME_ZONE_ANNOTATION,
  type CapacityBuffer,
  type Pod,
  type PodTemplateSpec,
} from '#api/objects';
import { messageOf, own, timeOf } from '#lib';
import { billedUsdPerHour } from './billed-price.ts';
import { isVirtual, ownerOf, podOfTemplate } from './capacity-buffers.ts';
import { isBudgetActive } from './disruption/budgets/budgets.ts';
import { clockIn } from './disruption/budgets/windows.ts';
import { shareOf } from './disruption/pricing/forecast.ts';
import type { EnginePod } from './input.ts';
import type { Plan, Resources } from './model.ts';
import { readableRequests } from './placement-requests.ts';
import { isActive, isOwnedByDaemonSet, isScheduled, namespaceOf, podKey } from './pods.ts';
import { requestTriedBy } from './provisioning-requests.ts';
import { addResources, amountIn, podRequests } from './resources.ts';

export interface BufferRules {
  /** Share of the requests of all pods in percent. */
  readonly clusterPercentage?: number;
  /** Returns false outside the schedule. */
  readonly isOpenAt: (nowMs: number) => boolean;
  /** True if room that pods have taken is not made again. */
  readonly isOneShot: boolean;
}

const MOST_PERCENT = 1_000;

/** Returns the rules in the annotations of a buffer. @throws Error with the annotation and the remedy */
export function bufferRules({ metadata: { annotations = {} }, spec }: CapacityBuffer): BufferRules {
  const [share, refill, schedule, duration, timeZone] = [
    ...[BUFFER_CLUSTER_ANNOTATION, BUFFER_REFILL_ANNOTATION, BUFFER_SCHEDULE_ANNOTATION],
    ...[BUFFER_DURATION_ANNOTATION, BUFFER_TIME_ZONE_ANNOTATION],
  ].map((name) => own(annotations, name));
  const clusterPercentage = share === undefined ? undefined : percentOf(share);
  if (refill !== undefined && refill !== 'never')
    throw problem(BUFFER_REFILL_ANNOTATION, refill, 'use "never", or remove the annotation');
  const isOneShot = refill === 'never';
  if (isOneShot && (share !== undefined || schedule !== undefined || spec.percentage !== undefined))
    throw problem(BUFFER_REFILL_ANNOTATION, 'never', 'use spec.replicas or spec.limits without a share or a schedule');
  return {
    ...(clusterPercentage !== undefined && { clusterPercentage }),
    isOpenAt: openTimes(schedule, duration, timeZone),
    isOneShot,
  };
}

const problem = (annotation: string, value: string, remedy: string): Error =>
  new Error(`The annotation ${annotation} is "${value}"; ${remedy}`);

function percentOf(text: string): number {
  const percent = /^\d{1,4}$/.test(text) ? Number(text) : 0;
  if (percent >= 1 && percent <= MOST_PERCENT) return percent;
  throw problem(BUFFER_CLUSTER_ANNOTATION, text, `use an integer from 1 to ${MOST_PERCENT}`);
}

/** The schedule is that of disruption budgets, on the clock of the time zone. */
function openTimes(
  schedule: string | undefined,
  duration: string | undefined,
  timeZone = 'UTC',
): BufferRules['isOpenAt'] {
  if (schedule === undefined && duration === undefined) return () => true;
  if (schedule === undefined)
    throw problem(BUFFER_DURATION_ANNOTATION, duration ?? '', `set ${BUFFER_SCHEDULE_ANNOTATION}, or remove it`);
  if (duration === undefined)
    throw problem(
      BUFFER_SCHEDULE_ANNOTATION,
      schedule,
      `set ${BUFFER_DURATION_ANNOTATION} to a duration such as "10h"`,
    );
  const isOpenAt = (nowMs: number): boolean =>
    isBudgetActive({ nodes: '0', schedule, duration }, clockOf(timeZone, nowMs));
  try {
    isOpenAt(0);
  } catch (error) {
    throw problem(
      BUFFER_SCHEDULE_ANNOTATION,
      schedule,
      `with ${BUFFER_DURATION_ANNOTATION} "${duration}" and time zone "${timeZone}", it is not valid: ${messageOf(error)}`,
    );
  }
  return isOpenAt;
}

function clockOf(timeZone: string, nowMs: number): number {
  try {
    return clockIn(timeZone, nowMs);
  } catch {
    throw new Error(`the time zone is unknown, expected for example Europe/Berlin`);
  }
}

const isShared = (name: string): boolean => name === 'cpu' || name === 'memory' || name.includes('/');

/** Returns the resources of a pod of the template that count for its room. */
const chunkOf = (template: PodTemplateSpec): readonly (readonly [name: string, amount: number])[] => {
  const requests = podRequests(podOfTemplate(template, { name: '' }));
  return Object.keys(requests).flatMap((name) => {
    const amount = isShared(name) ? amountIn(requests, name) : 0;
    return amount > 0 ? [[name, amount] as const] : [];
  });
};

const totalOf = (pods: readonly EnginePod[]): Resources => addResources(...pods.map(readableRequests));

/** Returns the number of pods of the template that request a share of the requests of all running pods. */
export function clusterShare(percentage: number, template: PodTemplateSpec, pods: readonly EnginePod[]): number {
  const total = totalOf(pods.filter((pod) => isScheduled(pod) && isActive(pod) && !isOwnedByDaemonSet(pod)));
  const counts = chunkOf(template).map(([name, amount]) =>
    Math.ceil((amountIn(total, name) * percentage) / 100 / amount - 1e-9),
  );
  return Math.max(0, ...counts);
}

/** Returns the keys of the pods that use the room of a buffer: bound pods with the labels of its template, created after it. */
export function consumersOf(
  { metadata }: CapacityBuffer,
  template: PodTemplateSpec,
  pods: readonly EnginePod[],
): readonly EnginePod[] {
  const labels = Object.entries(template.metadata?.labels ?? {});
  if (labels.length === 0)
    throw problem(
      BUFFER_REFILL_ANNOTATION,
      'never',
      'add labels to the pod template, which the pods that use the room have',
    );
  const { namespace = 'default' } = metadata;
  const sinceMs = timeOf(metadata.creationTimestamp) || 0;
  return pods.filter(
    (pod) =>
      isScheduled(pod) &&
      namespaceOf(pod) === namespace &&
      timeOf(pod.metadata.creationTimestamp) >= sinceMs &&
      labels.every(([key, value]) => own(pod.metadata.labels ?? {}, key) === value),
  );
}

/** Returns the number of pods of the template with room that the consumers have taken. */
export function countTaken(consumers: readonly EnginePod[], template: PodTemplateSpec): number {
  const total = totalOf(consumers);
  const counts = chunkOf(template).map(([name, amount]) => Math.floor(amountIn(total, name) / amount + 1e-9));
  return counts.length === 0 ? consumers.length : Math.min(...counts);
}

/**
 * Returns the price of the room of each buffer in USD per hour, by `namespace/name`: its share of the nodes of a plan, by the
 * requests of the pods on new nodes, and by the allocatable resources of existing nodes.
 */
export function bufferPrices(
  { claims, placements }: Pick<Plan, 'claims' | 'placements'>,
  pods: readonly Pod[],
  existing: ReadonlyMap<string, { readonly allocatable: Resources; readonly usdPerHour: number }>,
): ReadonlyMap<string, number> {
  const byKey = new Map(pods.map((pod) => [podKey(pod), pod]));
  const prices = new Map<string, number>();
  const add = (key: string, usdPerHour: (pod: Pod) => number): void => {
    const pod = byKey.get(key);
    const owner = pod && isVirtual(pod) && requestTriedBy(pod) === undefined ? ownerOf(pod) : undefined;
    if (pod !== undefined && owner !== undefined)
      prices.set(owner, (prices.get(owner) ?? 0) + Math.max(0, usdPerHour(pod)));
  };
  for (const { pods: keys, ...claim } of claims) {
    const shares = keys.map((key) => shareIn(byKey.get(key), claim.requests));
    const total = shares.reduce((sum, share) => sum + share, 0);
    for (const key of keys) add(key, (pod) => (billedUsdPerHour(claim) * shareIn(pod, claim.requests)) / total);
  }
  for (const { providerId, pods: keys } of placements) {
    const node = existing.get(providerId);
    if (node !== undefined) for (const key of keys) add(key, (pod) => shareIn(pod, node.allocatable) * node.usdPerHour);
  }
  return prices;
}

const shareIn = (pod: Pod | undefined, resources: Resources): number =>
  pod === undefined ? 0 : shareOf(pod, resources);
