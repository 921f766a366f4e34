/**
 * Status conditions. The condition Ready summarizes the conditions that it depends on. Objects are never changed, only
 * replaced.
 */

import { timeOf, timestamp } from '#lib';
import type { Condition, KubeObject } from './kubernetes.ts';
import { withSelector } from './selector-text.ts';

/** Condition types of a kind. */
export interface ConditionSet {
  readonly root: string;
  /**
   * Conditions on which `root` depends: `root` is True if all of them are True. They and `root` are always present and cannot
   * be cleared.
   */
  readonly dependents: readonly string[];
}

export interface ConditionUpdate {
  readonly type: string;
  readonly status: Condition['status'];
  /** Default: the type. */
  readonly reason?: string;
  readonly message?: string;
}

/** Object with optional conditions in its status. */
export interface Conditioned extends KubeObject {
  readonly status?: { readonly conditions?: readonly Condition[] };
}

export const READY = 'Ready';

export const NODECLAIM_CONDITIONS: ConditionSet = {
  root: READY,
  dependents: ['Launched', 'Registered', 'Initialized'],
};
export const NODEPOOL_CONDITIONS: ConditionSet = { root: READY, dependents: ['ValidationSucceeded', 'NodeClassReady'] };
export const NODEOVERLAY_CONDITIONS: ConditionSet = { root: READY, dependents: ['ValidationSucceeded'] };
export const NODEPOLICY_CONDITIONS: ConditionSet = { root: READY, dependents: ['ValidationSucceeded'] };
export const EC2NODECLASS_CONDITIONS: ConditionSet = {
  root: READY,
  dependents: [
    'AMIsReady',
    'SubnetsReady',
    'SecurityGroupsReady',
    'InstanceProfileReady',
    'ValidationSucceeded',
    'PlacementGroupReady',
  ],
};
/** Conditions with the feature gate ReservedCapacity. */
export const EC2NODECLASS_RESERVED_CONDITIONS: ConditionSet = {
  root: READY,
  dependents: [...EC2NODECLASS_CONDITIONS.dependents, 'CapacityReservationsReady'],
};

export const getCondition = (object: Conditioned, type: string): Condition | undefined =>
  object.status?.conditions?.find((condition) => condition.type === type);

export const isTrue = (object: Conditioned, type: string): boolean => getCondition(object, type)?.status === 'True';

export const isFalse = (object: Conditioned, type: string): boolean => getCondition(object, type)?.status === 'False';

/** Reasons of conditions that only wait for other conditions. */
const WAITING: ReadonlySet<string | undefined> = new Set(['AwaitingReconciliation', 'DependenciesNotReady']);

/**
 * Returns the conditions with a message that keep an object from being Ready. Excludes conditions that only wait for other
 * conditions.
 */
export const causesOf = (object: Conditioned): readonly Condition[] =>
  conditionsOf(object)
    .filter(
      ({ type, status, reason, message }) => type !== READY && status !== 'True' && message && !WAITING.has(reason),
    )
    .map((condition) => withSelector(object, condition));

/**
 * Adds Ready and the conditions that it depends on if they are missing. Added conditions are Unknown since the creation of the
 * object.
 */
export function initConditions<T extends Conditioned>(object: T, set: ConditionSet): T {
  const isMissing = (type: string): boolean => getCondition(object, type) === undefined;
  if (!isMissing(set.root) && !set.dependents.some(isMissing)) return object;
  const missing = [...set.dependents, set.root].filter(isMissing);
  const initial = missing.map(
    (type): Condition => ({
      type,
      status: 'Unknown',
      reason: 'AwaitingReconciliation',
      message: 'object is awaiting reconciliation',
      lastTransitionTime: object.metadata.creationTimestamp ?? timestamp(0),
      observedGeneration: generationOf(object),
    }),
  );
  return withConditions(object, sortConditions([...conditionsOf(object), ...initial], set));
}

/**
 * Sets a condition and recomputes Ready. Returns the same object if nothing changes.
 * The transition time changes only with the status. The observed generation becomes the generation of the object.
 */
export function setCondition<T extends Conditioned>(
  object: T,
  set: ConditionSet,
  update: ConditionUpdate,
  nowMs: number,
): T {
  const touched = initConditions(object, set);
  const updated = replaceCondition(touched, set, update, nowMs);
  return update.type === set.root ? updated : replaceCondition(updated, set, rootOf(updated, set), nowMs);
}

/** Sets a condition of a kind without Ready. The transition time changes only if the status changes. */
export function withCondition<T extends Conditioned>(object: T, update: ConditionUpdate, nowMs: number): T {
  const { type, status, reason = type, message = '' } = update;
  const before = getCondition(object, type);
  const isSame = before?.status === status && before.lastTransitionTime !== undefined;
  const condition: Condition = {
    type,
    status,
    reason,
    message: conditionMessage(message),
    lastTransitionTime: isSame ? before.lastTransitionTime : timestamp(nowMs),
    observedGeneration: generationOf(object),
  };
  const others = conditionsOf(object).filter((other) => other.type !== type);
  return withConditions(
    object,
    [...others, condition].sort((a, b) => (a.type < b.type ? -1 : 1)),
  );
}

/** Removes a condition. Does not remove Ready or conditions on which Ready depends. */
export function clearCondition<T extends Conditioned>(object: T, set: ConditionSet, type: string, nowMs: number): T {
  if (type === set.root || set.dependents.includes(type) || !getCondition(object, type)) return object;
  const rest = conditionsOf(object)
    .filter((condition) => condition.type !== type)
    .sort((left, right) => (left.type < right.type ? -1 : 1));
  const cleared = withConditions(object, rest);
  return replaceCondition(cleared, set, rootOf(initConditions(cleared, set), set), nowMs);
}

const conditionsOf = (object: Conditioned): readonly Condition[] => object.status?.conditions ?? [];

const generationOf = (object: Conditioned): number => object.metadata.generation ?? 0;

const withConditions = <T extends Conditioned>(object: T, conditions: readonly Condition[]): T => ({
  ...object,
  status: { ...object.status, conditions },
});

function replaceCondition<T extends Conditioned>(
  object: T,
  set: ConditionSet,
  update: ConditionUpdate,
  nowMs: number,
): T {
  const before = getCondition(object, update.type);
  const next: Condition = {
    type: update.type,
    status: update.status,
    reason: update.reason ?? update.type,
    message: conditionMessage(update.message ?? ''),
    lastTransitionTime:
      before?.status === update.status && before.lastTransitionTime !== undefined
        ? before.lastTransitionTime
        : timestamp(nowMs),
    observedGeneration: generationOf(object),
  };
  if (before && sameCondition(before, next)) return object;
  const all = conditionsOf(object).map((condition) =>
    object.metadata.deletionTimestamp ? { ...condition, observedGeneration: generationOf(object) } : condition,
  );
  // Times have a precision of one second. Within one second, the order of the list shows the latest change of status.
  const changed =
    before?.status === update.status
      ? all.map((condition) => (condition.type === update.type ? next : condition))
      : [...all.filter((condition) => condition.type !== update.type), next];
  return withConditions(object, sortConditions(changed, set));
}

const sameCondition = (left: Condition, right: Condition): boolean =>
  left.status === right.status &&
  left.reason === right.reason &&
  (left.message ?? '') === right.message &&
  left.observedGeneration === right.observedGeneration;

/** The API server rejects a status with a message of more than 32,768 characters. */
const MOST_MESSAGE = 8_192;

/** Shortens a message, because a message that quotes user text may have any length. */
export const conditionMessage = (text: string): string =>
  text.length <= MOST_MESSAGE
    ? text
    : `${text.slice(0, MOST_MESSAGE).toWellFormed()}... (${text.length - MOST_MESSAGE} more characters)`;

const transitionMs = (condition: Condition): number => timeOf(condition.lastTransitionTime) || 0;

function sortConditions(conditions: readonly Condition[], { root }: ConditionSet): Condition[] {
  const rank = (condition: Condition): number =>
    condition.type === root ? Number.POSITIVE_INFINITY : transitionMs(condition);
  return [...conditions].sort((left, right) => {
    const [a, b] = [rank(left), rank(right)];
    return a === b ? 0 : a < b ? -1 : 1;
  });
}

/** Computes the condition Ready from the conditions that it depends on. */
function rootOf(object: Conditioned, set: ConditionSet): ConditionUpdate {
  const generation = generationOf(object);
  const unhealthy = conditionsOf(object)
    .filter(({ type }) => set.dependents.includes(type))
    .filter((condition) => condition.status !== 'True' || condition.observedGeneration !== generation)
    .toReversed()
    .sort((left, right) => transitionMs(right) - transitionMs(left));
  if (unhealthy.length === 0) return { type: set.root, status: 'True' };
  const failed = unhealthy.some(
    (condition) => condition.status === 'False' && condition.observedGeneration === generation,
  );
  return {
    type: set.root,
    status: failed ? 'False' : 'Unknown',
    reason: failed ? 'UnhealthyDependents' : 'ReconcilingDependents',
    message: unhealthy.map(({ type, status }) => `${type}=${status}`).join(', '),
  };
}
