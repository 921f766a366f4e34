/** Launches of new nodes that fail because of their configuration. */
import { getCondition, isTrue, type RolloutTimes } from '#api/objects';
import { formatDuration } from '#api/values';
import { timeOf } from '#lib';
import { LAUNCH_TIMEOUT_MS } from '../../node-join.ts';
import type { RolloutNode } from './health.ts';
import type { RolloutRecord } from './record.ts';

/**
 * Reasons of NodeClaims without an instance that are no evidence about the configuration: the first attempt is to come, or AWS
 * throttles or fails. A shortage of capacity has no reason, because it deletes the NodeClaim.
 */
const NO_EVIDENCE: ReadonlySet<string> = new Set(['AwaitingReconciliation', 'RequestLimitExceeded', 'InternalError']);

/** Returns the text of a failed launch, or undefined without one. */
function failureOf({ nodeClaim }: RolloutNode): string | undefined {
  const { status = 'True', reason = '', message = '' } = getCondition(nodeClaim, 'Launched') ?? {};
  if (status === 'True' || reason === '' || NO_EVIDENCE.has(reason)) return undefined;
  return message === '' ? reason : `${reason}, ${message}`;
}

/**
 * Returns the time since which launches of new nodes fail, until a launch succeeds. The record keeps it between attempts,
 * because a NodeClaim that cannot be launched is deleted.
 */
export function launchesFailSinceMs(
  fresh: readonly RolloutNode[],
  { failingMs }: Pick<RolloutRecord, 'failingMs'>,
  nowMs: number,
): number | undefined {
  const launchedMs = fresh
    .filter(({ nodeClaim }) => isTrue(nodeClaim, 'Launched'))
    .map(({ nodeClaim }) => timeOf(getCondition(nodeClaim, 'Launched')?.lastTransitionTime));
  if (failingMs !== undefined) return launchedMs.some((ms) => ms >= failingMs) ? undefined : failingMs;
  return fresh.some((each) => failureOf(each) !== undefined) ? Math.floor(nowMs / 1000) * 1000 : undefined;
}

/** Returns the cause if a rollout must halt: a launch fails now, and no launch has succeeded for the time that it may take. */
export function launchFault(
  fresh: readonly RolloutNode[],
  record: Pick<RolloutRecord, 'failingMs'>,
  { initializedWithinMs }: RolloutTimes,
  nowMs: number,
): string | undefined {
  const limitMs = Math.min(initializedWithinMs, LAUNCH_TIMEOUT_MS);
  const sinceMs = launchesFailSinceMs(fresh, record, nowMs);
  if (sinceMs === undefined || nowMs - sinceMs < limitMs) return undefined;
  for (const each of fresh) {
    const text = failureOf(each);
    if (text === undefined) continue;
    return `NodeClaim ${each.nodeClaim.metadata.name} could not be launched, as all others for ${formatDuration(limitMs)}: ${text}`;
  }
  return undefined;
}
