/** Events of voluntary disruption. */
import { timestamp } from '../../api/conditions.ts';
import { formatDuration } from '../../api/duration.ts';
import type { KubeObject } from '../../api/kubernetes.ts';
import type { NodeClaim } from '../../api/nodeclaim.ts';
import type { NodePool } from '../../api/nodepool.ts';
import type { Allowance } from '../../engine/disruption/budgets/budgets.ts';
import type { Candidate } from '../../engine/disruption/candidates/candidates.ts';
import type { Note } from '../../engine/disruption/method.ts';
import type { DisruptionReason } from '../../engine/disruption/reasons.ts';
import type { StateNode } from '../../engine/model.ts';
import type { EventNote, EventRecorder } from '../../kube/events.ts';
import { capitalized } from '../text.ts';
import { dearerUntilMs, type Move, WATCH_MS } from './moves.ts';

const MINUTE = 60_000;
const UNCONSOLIDATABLE_WINDOW_MS = 15 * MINUTE;

const uidOf = ({ metadata }: KubeObject): string => metadata.uid ?? '';

/** The same event on a node's Node and NodeClaim, as far as they exist. */
const onBoth = (
  { node, nodeClaim }: Pick<StateNode, 'node' | 'nodeClaim'>,
  event: Omit<EventNote, 'object' | 'type'>,
  more: readonly string[] = [],
): readonly EventNote[] =>
  [node, nodeClaim].flatMap((object) =>
    object === undefined ? [] : [{ ...event, object, type: 'Normal' as const, dedupe: [uidOf(object), ...more] }],
  );

export function publishBlocked(events: EventRecorder, stateNode: StateNode, text: string): void {
  events.publish(...onBoth(stateNode, { reason: 'DisruptionBlocked', message: capitalized(text) }));
}

export function publishUnconsolidatable(events: EventRecorder, candidate: Candidate, text: string): void {
  const event = { reason: 'Unconsolidatable', message: capitalized(text), windowMs: UNCONSOLIDATABLE_WINDOW_MS };
  events.publish(...onBoth(candidate, event));
}

export function publishNotes(events: EventRecorder, notes: readonly Note[]): void {
  for (const { kind, candidate, nodePool, message, dedupe = [] } of notes) {
    if (candidate && kind === 'Unconsolidatable') publishUnconsolidatable(events, candidate, message);
    else if (candidate)
      events.publish(
        ...onBoth(
          candidate,
          { reason: kind, message: kind === 'ConsolidationApproved' ? message : capitalized(message) },
          dedupe,
        ),
      );
    if (nodePool === undefined) continue;
    events.publish({ object: nodePool, type: 'Normal', reason: kind, message, dedupe: [uidOf(nodePool), ...dedupe] });
  }
}

export function publishBlockedPool(
  events: EventRecorder,
  pool: NodePool,
  { reason, allowance }: { readonly reason: DisruptionReason; readonly allowance: Allowance },
): void {
  if (allowance.total === 0 || allowance.allowed > 0) return;
  events.publish({
    object: pool,
    type: 'Normal',
    reason: 'DisruptionBlocked',
    message: `No allowed disruptions for disruption reason ${reason} due to blocking budget`,
    dedupe: [uidOf(pool), reason],
    windowMs: MINUTE,
  });
}

/** A move is told on the NodePool of its first node: the nodes themselves are gone. */
const onPool = ({ id, nodePool }: Move, reason: string, message: string): readonly EventNote[] =>
  nodePool === undefined ? [] : [{ object: nodePool, type: 'Normal', reason, message, dedupe: [id] }];

export function publishUndone(events: EventRecorder, move: Move): void {
  const { command, undoing, startedMs } = move;
  if (undoing === undefined) return;
  const dearerMs = dearerUntilMs(move);
  const what = undoing.code === 'bought-again' ? 'was bought again for its pods' : 'was its replacement and is gone';
  const message =
    `Undone after ${formatDuration(undoing.atMs - startedMs)}: ${command}, ` +
    `NodeClaim ${undoing.nodeClaim} ${what}` +
    (dearerMs === undefined ? '' : `; until ${timestamp(dearerMs)} a repetition has to be worth more`);
  events.publish(...onPool(move, 'DisruptionUndone', message));
}

export function publishSavings(
  events: EventRecorder,
  move: Move,
  { predicted, realised }: { readonly predicted: number; readonly realised: number },
): void {
  const usd = (amount: number): string => `${amount < 0 ? '-' : ''}$${Math.abs(amount).toFixed(4)}`;
  const message = `Saved ${usd(realised)} in ${formatDuration(WATCH_MS)} of ${usd(predicted)} predicted: ${move.command}`;
  events.publish(...onPool(move, 'DisruptionSavings', message));
}

export function publishLaunching(events: EventRecorder, replacement: NodeClaim, reason: DisruptionReason): void {
  const dedupe = [uidOf(replacement), reason];
  const message = `Launching NodeClaim: ${reason}`;
  events.publish({ object: replacement, type: 'Normal', reason: 'DisruptionLaunching', message, dedupe });
}

export function publishWaiting(events: EventRecorder, replacement: NodeClaim): void {
  events.publish({
    object: replacement,
    type: 'Normal',
    reason: 'DisruptionWaitingReadiness',
    message: 'Waiting on readiness to continue disruption',
    dedupe: [uidOf(replacement)],
  });
}

export function publishTerminating(
  events: EventRecorder,
  { node, nodeClaim }: Candidate,
  reason: DisruptionReason,
): void {
  const common = { type: 'Normal', reason: 'DisruptionTerminating' } as const;
  events.publish(
    { ...common, object: node, message: `Disrupting Node: ${reason}`, dedupe: [uidOf(node), reason] },
    { ...common, object: nodeClaim, message: `Disrupting NodeClaim: ${reason}`, dedupe: [uidOf(nodeClaim), reason] },
  );
}
