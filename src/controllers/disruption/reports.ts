/** Reports the results of the disruption methods as events, metrics and log entries. */

import { type Pod, uidOf } from '#api/objects';
import { annotatedPods, type MethodResult, type MethodReview, protectionOf } from '#engine/disruption';
import type { StateNode } from '#engine/model';
import type { EventNote, EventRecorder } from '#kube/reconcilers';
import { timestamp } from '#lib';
import type { Pause } from '#lib/clock';
import {
  DO_NOT_DISRUPT_GRACE_PERIOD_ELAPSED,
  DO_NOT_DISRUPT_UNTIL,
  eventOf,
  INVALID_DO_NOT_DISRUPT_ANNOTATION,
} from '#observe/events';
import type { Logger } from '#observe/logger';
import { managedPools } from '#planner';
import type { Deps } from '../deps.ts';
import { publishBlocked, publishBlockedPool, publishEvents, publishUnconsolidatable } from './disruption-events.ts';
import { countTimeout, observeEvaluations, setAllowance } from './measures.ts';
import { describe } from './queue.ts';

type Reporter = Pick<Deps, 'cluster' | 'events' | 'metrics'>;

/** Reports blocked nodes. Blocks are the same for all methods of a disruption class. */
export async function reportBlocks(
  { events }: Reporter,
  blocks: MethodReview['blocks'],
  { nodes, nowMs, pause }: { readonly nodes: readonly StateNode[]; readonly nowMs: number; readonly pause: Pause },
): Promise<void> {
  for (const node of nodes) {
    if (node.nodeClaim) publishProtection(events, node.pods, nowMs);
    const block = blocks.get(node.providerId);
    if (block !== undefined && block.code !== 'in-progress' && block.code !== 'unmanaged')
      publishBlocked(events, node, block.text);
    await pause();
  }
}

/** Reports the candidates that a method declines, and the budgets of the NodePools. */
export async function reportDeclined(
  { cluster, events, metrics }: Reporter,
  { method, declined, candidates, allowances }: Omit<MethodReview, 'result'>,
  pause: Pause,
): Promise<void> {
  for (const { candidate, reason, isReported } of declined.values()) {
    if (isReported) publishUnconsolidatable(events, candidate, reason.text);
    await pause();
  }
  // without candidates, budgets block no node
  if (candidates.length === 0) return;
  for (const pool of managedPools(cluster)) {
    const allowance = allowances.get(pool.metadata.name);
    if (allowance === undefined) continue;
    setAllowance(metrics, pool.metadata.name, method.reason, allowance);
    publishBlockedPool(events, pool, { reason: method.reason, allowance });
  }
}

/** Reports a decision of a method. */
export function reportResult({ events, metrics }: Reporter, { method, result }: Decided, log: Logger): void {
  const { failures = [], timeout, commands } = result;
  publishEvents(events, result.events);
  observeEvaluations(metrics, method, result);
  logScores(log, result);
  for (const { node, error } of failures) log.error('failed computing consolidation', { Node: { name: node }, error });
  if (timeout === undefined) return;
  countTimeout(metrics, method);
  const [found] = commands;
  log.debug(timeout.message, { ...timeout.fields, ...(found && describe(found)) });
}

type Decided = Pick<MethodReview, 'method' | 'result'>;

/** Logs how the Balanced policy scored each move. */
function logScores(log: Logger, { evaluations = [], weighed = evaluations }: MethodResult): void {
  for (const { nodePool, score, approved, figures } of weighed) {
    if (score === undefined) continue;
    const decision = approved ? 'approved' : 'rejected';
    log.debug('consolidation score', { nodepool: nodePool.metadata.name, score, approved, decision, ...figures });
  }
}

/** Events on pods about their own do-not-disrupt annotation. */
function publishProtection(events: EventRecorder, pods: readonly Pod[], nowMs: number): void {
  for (const pod of annotatedPods(pods)) {
    const event = eventFor(pod, nowMs);
    if (event) events.publish(event);
  }
}

function eventFor(pod: Pod, nowMs: number): EventNote | undefined {
  const protection = protectionOf(pod, nowMs);
  const uid = uidOf(pod);
  switch (protection.kind) {
    case 'invalid':
      return eventOf(INVALID_DO_NOT_DISRUPT_ANNOTATION, pod, {
        message: INVALID_DO_NOT_DISRUPT_ANNOTATION.message(protection.error),
        dedupe: [uid, protection.error],
      });
    case 'until': {
      const time = timestamp(protection.ms);
      return eventOf(DO_NOT_DISRUPT_UNTIL, pod, { message: DO_NOT_DISRUPT_UNTIL.message(time), dedupe: [uid, time] });
    }
    case 'elapsed': {
      const message = DO_NOT_DISRUPT_GRACE_PERIOD_ELAPSED.message();
      return eventOf(DO_NOT_DISRUPT_GRACE_PERIOD_ELAPSED, pod, { message, dedupe: [uid] });
    }
    default:
      return undefined;
  }
}
