/** ProvisioningRequests: classes, parameters, phases, the pods that hold their room, and their conditions. */
import {
  CAPACITY_BUFFER_FAKE_POD_ANNOTATION,
  CONSUME_REQUEST_ANNOTATIONS,
  type ConditionUpdate,
  GANG_MIN_ANNOTATION,
  getCondition,
  isTrue,
  type Pod,
  type PodTemplateSpec,
  type ProvisioningRequest,
  REQUEST_BOOKED_ANNOTATION,
  REQUEST_CLASS_ANNOTATION,
} from '#api/objects';
import { parseDuration } from '#api/values';
import { own, quoted, timeOf, timestamp, tryRun } from '#lib';
import { type BufferOutcome, isPermanent, MOST_VIRTUAL_PODS, placeholderSpec } from './capacity-buffers.ts';
import { causeText } from './causes/cause.ts';
import type { EnginePod } from './input.ts';
import { USUAL_JOIN_MS } from './node-join.ts';
import { defaultRequests, podRequests } from './resources.ts';

export const CHECK_CAPACITY = 'check-capacity.autoscaling.x-k8s.io';
export const BEST_EFFORT_ATOMIC = 'best-effort-atomic-scale-up.autoscaling.x-k8s.io';
/** Places all pods or refuses all, and launches lost room of a booking again. */
export const ATOMIC = 'atomic-scale-up.karpenter-ts.sh';
const CLASSES: ReadonlySet<string> = new Set([CHECK_CAPACITY, BEST_EFFORT_ATOMIC, ATOMIC]);

export const ACCEPTED = 'Accepted';
export const PROVISIONED = 'Provisioned';
export const FAILED = 'Failed';
export const BOOKING_EXPIRED = 'BookingExpired';
export const CAPACITY_REVOKED = 'CapacityRevoked';
const IS_LAUNCHING = 'CapacityIsLaunching';
const IS_NOT_FOUND = 'CapacityIsNotFound';

const DAY_MS = 24 * 60 * 60_000;
const MOST_AGE_MS = 7 * DAY_MS;
const BOOKING_MS = 10 * 60_000;

/** Returns `namespace/name` of a request. */
export const requestKey = ({ metadata }: Pick<ProvisioningRequest, 'metadata'>): string =>
  `${metadata.namespace ?? 'default'}/${metadata.name}`;

/** Id of the gang of a request's pods. */
export const requestGang = (request: Pick<ProvisioningRequest, 'metadata'>): string =>
  `ProvisioningRequest ${requestKey(request)}`;

/** Returns true if this product handles the request. A request with `processorInstance` is for another instance. */
export const isHandled = ({ spec }: ProvisioningRequest): boolean =>
  CLASSES.has(spec.provisioningClassName) &&
  !(spec.provisioningClassName === CHECK_CAPACITY && own(spec.parameters ?? {}, 'processorInstance'));

/** Returns the name of the request whose capacity the pod uses, or undefined. */
export const requestUsedBy = ({ metadata: { annotations = {} } }: Pick<EnginePod, 'metadata'>): string | undefined =>
  CONSUME_REQUEST_ANNOTATIONS.map((key) => own(annotations, key)).find(Boolean);

/** Returns true if no node is launched for the pod itself. After the booking, the pods of a request are ordinary pods. */
export const isProvidedBy = (request: ProvisioningRequest | undefined): boolean =>
  request === undefined || !isTrue(request, BOOKING_EXPIRED);

const isVirtualOfRequest = (pod: EnginePod): boolean =>
  pod.metadata.annotations?.[CAPACITY_BUFFER_FAKE_POD_ANNOTATION] === 'true' && requestUsedBy(pod) !== undefined;

/** Returns true for a virtual pod that holds the room of a provisioned request. */
export const isBooked = (pod: EnginePod): boolean =>
  pod.metadata.annotations?.[REQUEST_BOOKED_ANNOTATION] === 'true' && isVirtualOfRequest(pod);

/** Returns the request of a virtual pod that finds room only together with the other pods of the request. */
export const requestTriedBy = (pod: EnginePod): string | undefined =>
  isVirtualOfRequest(pod) && !isBooked(pod) ? requestUsedBy(pod) : undefined;

/** Returns true for a virtual pod for which no node is launched. */
export const usesExistingNodesOnly = (pod: EnginePod): boolean =>
  pod.metadata.annotations?.[REQUEST_CLASS_ANNOTATION] === CHECK_CAPACITY && isVirtualOfRequest(pod);

interface RequestParameters {
  readonly noRetry: boolean;
  /** Time since the creation in which capacity must be found. */
  readonly validMs: number;
  readonly bookingMs: number;
  /** Values that cannot be used, with the remedy. */
  readonly problems: readonly string[];
}

export function parametersOf({ spec }: Pick<ProvisioningRequest, 'spec'>): RequestParameters {
  const { provisioningClassName, parameters = {} } = spec;
  const problems: string[] = [];
  const secondsOf = (name: string, fallbackMs: number): number => {
    const text = own(parameters, name);
    if (text === undefined) return fallbackMs;
    const ms = /^\d{1,9}$/.test(text) ? Number(text) * 1000 : tryRun(() => parseDuration(text));
    if (ms !== undefined && ms > 0 && ms <= MOST_AGE_MS) return ms;
    problems.push(`parameter ${name} ${quoted(text)} is ignored, use seconds from 1 to ${MOST_AGE_MS / 1000}`);
    return fallbackMs;
  };
  const retry = own(parameters, 'noRetry');
  const isChecked = provisioningClassName === CHECK_CAPACITY;
  if (isChecked && retry !== undefined && !['true', 'false'].includes(retry))
    problems.push(`parameter noRetry ${quoted(retry)} is ignored, use "true" or "false"`);
  return {
    noRetry: isChecked && retry === 'true',
    validMs: isChecked ? MOST_AGE_MS : secondsOf('ValidUntilSeconds', MOST_AGE_MS),
    bookingMs: provisioningClassName === ATOMIC ? secondsOf('BookingSeconds', BOOKING_MS) : BOOKING_MS,
    problems,
  };
}

/** Conditions that end a request. */
export const ENDS = [FAILED, BOOKING_EXPIRED, CAPACITY_REVOKED] as const;

/** `open`: waits for capacity. `booked`: its capacity is held. `ended`: failed, or the capacity was released. */
export type RequestPhase = 'open' | 'booked' | 'ended';

export function phaseOf(request: ProvisioningRequest): RequestPhase {
  if (ENDS.some((type) => isTrue(request, type))) return 'ended';
  return isTrue(request, PROVISIONED) ? 'booked' : 'open';
}

const createdMs = ({ metadata }: ProvisioningRequest): number => timeOf(metadata.creationTimestamp) || 0;

/** A time before the creation is not valid, and would delete a new request. */
const sinceMs = (request: ProvisioningRequest, type: string): number =>
  Math.max(createdMs(request), timeOf(getCondition(request, type)?.lastTransitionTime) || 0);

const totalOf = ({ spec }: ProvisioningRequest): number => spec.podSets.reduce((sum, { count }) => sum + count, 0);

/** Change that follows from the time, or from pods that use the capacity. */
export type DueChange = ConditionUpdate | 'delete' | undefined;

/** @param scheduled number of bound pods that use the capacity */
export function dueChange(request: ProvisioningRequest, nowMs: number, scheduled: number): DueChange {
  const ended = (reason: string, message: string): ConditionUpdate => ({
    type: BOOKING_EXPIRED,
    status: 'True',
    reason,
    message,
  });
  switch (phaseOf(request)) {
    case 'ended':
      return nowMs >= deletedMs(request) ? 'delete' : undefined;
    case 'booked':
      if (scheduled >= totalOf(request))
        return ended('CapacityBookingConsumed', 'Capacity booking consumed: all pods scheduled');
      if (nowMs >= sinceMs(request, PROVISIONED) + parametersOf(request).bookingMs)
        return ended('CapacityReservationTimeExpired', 'Capacity reservation time is expired');
      return undefined;
    case 'open':
      return nowMs >= expiresMs(request) ? failure('Expired', 'ProvisioningRequest is expired') : undefined;
  }
}

/** Returns the time of the next change that needs no event. */
export function nextDueMs(request: ProvisioningRequest): number {
  const phase = phaseOf(request);
  if (phase === 'ended') return deletedMs(request);
  return phase === 'open' ? expiresMs(request) : sinceMs(request, PROVISIONED) + parametersOf(request).bookingMs;
}

const deletedMs = (request: ProvisioningRequest): number =>
  Math.max(...[PROVISIONED, FAILED, CAPACITY_REVOKED].map((type) => sinceMs(request, type))) + MOST_AGE_MS;

const expiresMs = (request: ProvisioningRequest): number => createdMs(request) + parametersOf(request).validMs;

const failure = (reason: string, message: string): ConditionUpdate => ({
  type: FAILED,
  status: 'True',
  reason,
  message,
});

export const podsFailure = (message: string): ConditionUpdate => failure('FailedToCreatePods', message);

export const bookingFailure = (message: string): ConditionUpdate => failure('FailedToBookCapacity', message);

export function acceptance(request: ProvisioningRequest): ConditionUpdate {
  const { problems } = parametersOf(request);
  const message = ['ProvisioningRequest is accepted by Karpenter', ...problems].join('; ');
  return { type: ACCEPTED, status: 'True', reason: ACCEPTED, message };
}

/** Pod template with its number of pods. */
export interface PodSet {
  readonly template: PodTemplateSpec;
  readonly count: number;
}

/**
 * Returns the virtual pods of a request. They take part in scheduling and are never sent to the API server.
 * @param scheduled bound pods that use the capacity, if the request is booked
 * @throws Error if a quantity is not valid, or if there are too many pods
 */
export function requestPods(
  request: ProvisioningRequest,
  sets: readonly PodSet[],
  scheduled?: readonly Pod[],
): readonly Pod[] {
  const total = sets.reduce((sum, { count }) => sum + count, 0);
  if (total > MOST_VIRTUAL_PODS)
    throw new RangeError(
      `Cannot provide capacity for ${total} pods: at most ${MOST_VIRTUAL_PODS} are allowed; decrease spec.podSets[].count`,
    );
  const counts = remainingCounts(sets, scheduled ?? []);
  return sets.flatMap(({ template }, at) =>
    podsOfSet(request, template, { at, count: counts[at] ?? 0, total, scheduled }),
  );
}

interface SetParts {
  readonly at: number;
  readonly count: number;
  /** Number of pods of all sets. */
  readonly total: number;
  readonly scheduled: readonly Pod[] | undefined;
}

function podsOfSet(
  { metadata, spec: { provisioningClassName } }: ProvisioningRequest,
  template: PodTemplateSpec,
  { at, count, total, scheduled }: SetParts,
): readonly Pod[] {
  const { name, uid = '', namespace = 'default', creationTimestamp = timestamp(0) } = metadata;
  const annotations = {
    [CAPACITY_BUFFER_FAKE_POD_ANNOTATION]: 'true',
    [CONSUME_REQUEST_ANNOTATIONS[0]]: name,
    [REQUEST_CLASS_ANNOTATION]: provisioningClassName,
    ...(scheduled === undefined ? { [GANG_MIN_ANNOTATION]: String(total) } : { [REQUEST_BOOKED_ANNOTATION]: 'true' }),
  };
  // one object, so that the solver can see without a comparison that the pods are equal
  const spec = placeholderSpec(template);
  const { labels } = template.metadata ?? {};
  return Array.from({ length: count }, (_, index) => ({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      ...(labels && { labels }),
      name: `${name}-${at}-${index}`,
      namespace,
      uid: `${uid}-${at}-${index}`,
      annotations,
      creationTimestamp,
    },
    spec,
    status: { conditions: [{ type: 'PodScheduled', status: 'False', reason: 'Unschedulable' }] },
  }));
}

/** Subtracts scheduled pods from the set with the same requests, or else from the largest set. */
function remainingCounts(sets: readonly PodSet[], scheduled: readonly Pod[]): readonly number[] {
  const keys = sets.map(({ template }) => requestsKey({ spec: defaultRequests(template.spec) }));
  const counts = sets.map(({ count }) => count);
  for (const pod of scheduled) {
    const key = requestsKey(pod);
    const same = counts.findIndex((count, at) => count > 0 && keys[at] === key);
    const at = same === -1 ? counts.indexOf(Math.max(...counts)) : same;
    counts[at] = Math.max(0, (counts[at] ?? 0) - 1);
  }
  return counts;
}

const requestsKey = ({ spec }: Pick<Pod, 'spec'>): string =>
  JSON.stringify(Object.entries(podRequests({ apiVersion: 'v1', kind: 'Pod', metadata: { name: '' }, spec })).sort());

interface OutcomeParts {
  readonly nowMs: number;
  /** Time of the next attempt, for messages. Undefined if the pods are tried with every solve. */
  readonly nextAttempt: string | undefined;
}

/** Returns the condition after a solve for an open request, or undefined if the solve did not reach all of its pods. */
export function outcomeCondition(
  request: ProvisioningRequest,
  { existing, joining, bought, failed, refusal }: BufferOutcome,
  { nowMs, nextAttempt }: OutcomeParts,
): ConditionUpdate | undefined {
  const total = totalOf(request);
  if (existing + joining + bought + failed < total) return undefined;
  const before = getCondition(request, PROVISIONED);
  const isCheck = request.spec.provisioningClassName === CHECK_CAPACITY;
  if (existing === total) {
    const reason = before?.reason === IS_LAUNCHING ? 'CapacityIsProvisioned' : 'CapacityIsFound';
    return { type: PROVISIONED, status: 'True', reason, message: 'Capacity is found in the cluster' };
  }
  if (failed === 0 && !isCheck) return launching(before, existing, { total, nowMs });
  const cause = refusal?.code === 'no-fit' ? refusal.cause : undefined;
  const text =
    failed === 0
      ? `${joining} of ${total} pods wait for nodes that are not initialized`
      : cause === undefined
        ? (refusal?.text ?? 'no NodePool is ready')
        : causeText(cause);
  const isEnd = isCheck ? parametersOf(request).noRetry : cause !== undefined && isPermanent(cause);
  if (isEnd) return failure(IS_NOT_FOUND, `Capacity is not found: ${text}`);
  const next = nextAttempt === undefined ? '' : ` The next attempt is at ${nextAttempt}.`;
  const message = `Capacity is not found: ${text}${text.endsWith('.') ? '' : '.'}${next}`;
  return { type: PROVISIONED, status: 'False', reason: IS_NOT_FOUND, message };
}

function launching(
  before: ReturnType<typeof getCondition>,
  existing: number,
  { total, nowMs }: { readonly total: number; readonly nowMs: number },
): ConditionUpdate {
  const startedMs = before?.reason === IS_LAUNCHING ? timeOf(before.lastTransitionTime) || nowMs : nowMs;
  const message =
    `${existing} of ${total} pods have room on initialized nodes, ${total - existing} wait for nodes that are launched. ` +
    `The nodes are expected at ${timestamp(startedMs + USUAL_JOIN_MS)}.`;
  return { type: PROVISIONED, status: 'False', reason: IS_LAUNCHING, message };
}

/** Returns the condition of a booking that has lost room, or undefined. */
export function lossOfBooking(
  { spec }: ProvisioningRequest,
  { failed, refusal }: BufferOutcome,
): ConditionUpdate | undefined {
  if (failed === 0 || spec.provisioningClassName !== ATOMIC) return undefined;
  const cause = refusal?.code === 'no-fit' ? refusal.cause : undefined;
  const text = cause === undefined ? (refusal?.text ?? 'no NodePool is ready') : causeText(cause);
  const message = `${failed} pods have lost their room: ${text}`;
  return { type: CAPACITY_REVOKED, status: 'True', reason: 'CapacityIsLost', message };
}
