/** Deletes NodeClaims with an instance that does not launch or register in time. */
import { getCondition, isTrue, NODE, NODE_CLAIM, type NodeClaim, uidOf } from '#api/objects';
import { formatDuration } from '#api/values';
import { joinProgress, LAUNCH_TIMEOUT_MS, REGISTRATION_TIMEOUT_MS, USUAL_JOIN_MS } from '#engine/model';
import { deleteExactly } from '#kube/client';
import { after, Requeue } from '#kube/reconcilers';
import { timeOf } from '#lib';
import { eventOf, LAUNCH_TIMEOUT, NOT_JOINED, REGISTRATION_TIMEOUT } from '#observe/events';
import type { Logger } from '#observe/logger';
import { PAUSED_RETRY_MS } from '#state';
import { isStale } from '../current-object.ts';
import { publishDeletion } from '../deletion-events.ts';
import type { Deps } from '../deps.ts';
import { recordDeleted } from '../disrupted.ts';
import { recordRegistration } from './pool-health.ts';
import { done, type LifecycleStep } from './step.ts';

interface Limit {
  readonly type: 'Launched' | 'Registered';
  readonly ms: number;
  /** Metric label. */
  readonly reason: string;
  readonly event: typeof LAUNCH_TIMEOUT | typeof REGISTRATION_TIMEOUT;
}

/** Time between two reports of an instance that does not join. */
const REPEAT_MS = 5 * 60_000;

/** Interval of checks while the watch of Nodes is stale. */
const STALE_MS = 10_000;

const LIMITS: readonly Limit[] = [
  {
    type: 'Launched',
    ms: LAUNCH_TIMEOUT_MS,
    reason: 'launch_timeout',
    event: LAUNCH_TIMEOUT,
  },
  {
    type: 'Registered',
    ms: REGISTRATION_TIMEOUT_MS,
    reason: 'registration_timeout',
    event: REGISTRATION_TIMEOUT,
  },
];

export function liveness(deps: Deps): LifecycleStep {
  const { client, clock, cluster, events, informers } = deps;

  async function giveUp(claim: NodeClaim, { type, ms, reason, event }: Limit, log: Logger): Promise<void> {
    try {
      await recordRegistration(deps, claim, false, type);
    } catch (error) {
      if (error instanceof Requeue) throw error;
      // a NodePool that cannot be updated must not keep an instance that never joins
      log.error('failed recording registration failure', { error });
    }
    log.debug('terminating due to timeout', { timeout: formatDuration(ms), reason });
    if (!(await deleteExactly(client, NODE_CLAIM, claim))) return;
    publishDeletion(deps, claim, event, event.message(formatDuration(ms)));
    recordDeleted(deps, claim, { reason });
  }

  /** Reports an instance whose node has not joined within the usual time. Returns the time until the next report. */
  function reportLate(claim: NodeClaim): number {
    const progress = joinProgress(claim, clock.now());
    if (progress?.stage !== 'registering') return Number.POSITIVE_INFINITY;
    const [first] = progress.checks;
    if (first === undefined) return USUAL_JOIN_MS - progress.elapsedMs;
    const message = NOT_JOINED.message(progress.text, claim.metadata.name, first.text, first.command);
    events.publish(eventOf(NOT_JOINED, claim, { message, dedupe: [uidOf(claim)] }));
    return REPEAT_MS;
  }

  return async (claim, { log }) => {
    if (isTrue(claim, 'Registered')) return done(claim);
    let deleted = false;
    for (const limit of LIMITS) {
      if (isTrue(claim, limit.type)) continue;
      const waitMs = sinceMs(claim, limit.type) + limit.ms - clock.now();
      if (waitMs > 0) return { claim, outcome: after(Math.min(waitMs, reportLate(claim))), deleted };
      // a paused launch has not failed
      if (limit.type === 'Launched' && cluster.pause.of('launches'))
        return { claim, outcome: after(PAUSED_RETRY_MS), deleted };
      // the node may have joined without an event
      if (limit.type === 'Registered' && isStale(informers, NODE)) return { claim, outcome: after(STALE_MS), deleted };
      await giveUp(claim, limit, log);
      deleted = true;
    }
    return { ...done(claim), deleted };
  };
}

/** Returns the time of the condition's last transition, or the creation time of the NodeClaim if the condition never changed. */
function sinceMs(claim: NodeClaim, type: string): number {
  const since = getCondition(claim, type)?.lastTransitionTime ?? claim.metadata.creationTimestamp;
  return timeOf(since) || 0;
}
