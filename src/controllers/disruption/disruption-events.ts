/** Events of voluntary disruption. */

import { type KubeObject, type NodeClaim, type NodePool, uidOf } from '#api/objects';
import { formatDuration } from '#api/values';
import type { Allowance, Candidate, DisruptionEvent, DisruptionReason } from '#engine/disruption';
import type { StateNode } from '#engine/model';
import type { EventNote, EventRecorder } from '#kube/reconcilers';
import {
  CONSOLIDATION_APPROVED,
  CONSOLIDATION_CANDIDATE,
  CONSOLIDATION_REJECTED,
  DISRUPTION_BLOCKED,
  DISRUPTION_BLOCKED_OF_NODEPOOL,
  DISRUPTION_LAUNCHING,
  DISRUPTION_SAVINGS,
  DISRUPTION_TERMINATING,
  DISRUPTION_UNDONE,
  DISRUPTION_WAITING_READINESS,
  EMPTYING,
  EMPTYING_ENDED,
  eventOf,
  type KeyedEvent,
  UNCONSOLIDATABLE,
} from '#observe/events';
import { capitalize } from '../text.ts';
import { type Move, WATCH_MS } from './moves.ts';

/** Events by the name that the engine uses. */
const BY_KIND: Readonly<Record<DisruptionEvent['kind'], KeyedEvent>> = {
  Unconsolidatable: UNCONSOLIDATABLE,
  DisruptionBlocked: DISRUPTION_BLOCKED,
  ConsolidationCandidate: CONSOLIDATION_CANDIDATE,
  ConsolidationApproved: CONSOLIDATION_APPROVED,
  ConsolidationRejected: CONSOLIDATION_REJECTED,
};

/** Creates the same event for the Node and the NodeClaim of a node, if they exist. */
const onBoth = (
  { node, nodeClaim }: Pick<StateNode, 'node' | 'nodeClaim'>,
  event: KeyedEvent,
  message: string,
  more: readonly string[] = [],
): readonly EventNote[] =>
  [node, nodeClaim].flatMap((object) =>
    object === undefined ? [] : [eventOf(event, object, { message, dedupe: [uidOf(object), ...more] })],
  );

export function publishBlocked(events: EventRecorder, stateNode: StateNode, text: string): void {
  events.publish(...onBoth(stateNode, DISRUPTION_BLOCKED, capitalize(text)));
}

/** Reports a command that was abandoned because of a node. An earlier reason of this node must not suppress the event. */
export function publishAbandoned(events: EventRecorder, stateNode: StateNode, text: string): void {
  events.publish(...onBoth(stateNode, DISRUPTION_BLOCKED, `Command abandoned: ${text}`, ['abandoned']));
}

export function publishUnconsolidatable(events: EventRecorder, candidate: Candidate, text: string): void {
  events.publish(...onBoth(candidate, UNCONSOLIDATABLE, capitalize(text)));
}

export function publishEmptying(events: EventRecorder, { node }: Pick<StateNode, 'node'>, isMarked: boolean): void {
  const event = isMarked ? EMPTYING : EMPTYING_ENDED;
  if (node) events.publish(eventOf(event, node, { message: event.message(), dedupe: [uidOf(node)] }));
}

export function publishEvents(recorder: EventRecorder, events: readonly DisruptionEvent[]): void {
  for (const { kind, candidate, nodePool, message, dedupe = [] } of events) {
    if (candidate && kind === 'Unconsolidatable') publishUnconsolidatable(recorder, candidate, message);
    else if (candidate)
      recorder.publish(
        ...onBoth(candidate, BY_KIND[kind], kind === 'ConsolidationApproved' ? message : capitalize(message), dedupe),
      );
    if (nodePool === undefined) continue;
    recorder.publish(eventOf(BY_KIND[kind], nodePool, { message, dedupe: [uidOf(nodePool), ...dedupe] }));
  }
}

export function publishBlockedPool(
  events: EventRecorder,
  pool: NodePool,
  { reason, allowance }: { readonly reason: DisruptionReason; readonly allowance: Allowance },
): void {
  if (allowance.total === 0 || allowance.allowed > 0) return;
  const message = DISRUPTION_BLOCKED_OF_NODEPOOL.message(reason);
  events.publish(eventOf(DISRUPTION_BLOCKED_OF_NODEPOOL, pool, { message, dedupe: [uidOf(pool), reason] }));
}

/** Creates an event on the NodePool of a move's first node, because the nodes of the move no longer exist. */
const onPool = ({ id, nodePool }: Move, event: KeyedEvent, message: string): readonly EventNote[] =>
  nodePool === undefined ? [] : [eventOf(event, nodePool, { message, dedupe: [id] })];

export function publishUndone(events: EventRecorder, move: Move): void {
  const { command, undoing, startedMs } = move;
  if (undoing === undefined) return;
  const what = undoing.code === 'bought-again' ? 'was launched for its pods' : 'was its replacement and was removed';
  const message = `Undone after ${formatDuration(undoing.atMs - startedMs)}: ${command}, NodeClaim ${undoing.nodeClaim} ${what}`;
  events.publish(...onPool(move, DISRUPTION_UNDONE, message));
}

export function publishSavings(
  events: EventRecorder,
  move: Move,
  { predicted, realised }: { readonly predicted: number; readonly realised: number },
): void {
  const usd = (amount: number): string => `${amount < 0 ? '-' : ''}$${Math.abs(amount).toFixed(4)}`;
  const message = DISRUPTION_SAVINGS.message(usd(realised), formatDuration(WATCH_MS), usd(predicted), move.command);
  events.publish(...onPool(move, DISRUPTION_SAVINGS, message));
}

export function publishLaunching(events: EventRecorder, replacement: NodeClaim, reason: DisruptionReason): void {
  const dedupe = [uidOf(replacement), reason];
  events.publish(eventOf(DISRUPTION_LAUNCHING, replacement, { message: DISRUPTION_LAUNCHING.message(reason), dedupe }));
}

export function publishWaiting(events: EventRecorder, replacement: NodeClaim): void {
  const message = DISRUPTION_WAITING_READINESS.message();
  events.publish(eventOf(DISRUPTION_WAITING_READINESS, replacement, { message, dedupe: [uidOf(replacement)] }));
}

export function publishTerminating(
  events: EventRecorder,
  { node, nodeClaim }: Candidate,
  reason: DisruptionReason,
): void {
  const eventFor = (object: KubeObject, kind: 'Node' | 'NodeClaim'): EventNote => {
    const message = DISRUPTION_TERMINATING.message(kind, reason);
    return eventOf(DISRUPTION_TERMINATING, object, { message, dedupe: [uidOf(object), reason] });
  };
  events.publish(eventFor(node, 'Node'), eventFor(nodeClaim, 'NodeClaim'));
}
