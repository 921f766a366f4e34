/**
 * Treats scheduled events of EC2 as planned maintenance: an annotation of the Node has the start of the event, so that the node
 * is replaced within budgets. Shortly before the start, the event is an interruption.
 */
import type { InstanceStatusEvent } from '@aws-sdk/client-ec2';
import { MAINTENANCE_NOT_BEFORE_ANNOTATION, NODE, type Node, type NodeClaim } from '#api/objects';
import { type KubeClient, unlessGone } from '#kube/client';
import type { EventRecorder } from '#kube/reconcilers';
import { defined, own, timeOf, timestamp } from '#lib';
import type { Clock } from '#lib/clock';
import { eventOf } from '#observe/events';
import type { Logger } from '#observe/logger';
import { MAINTENANCE_SCHEDULED } from '../events.ts';

/** Time before the start of an event from which it is an interruption. */
const DRAIN_MS = 3_600_000;
/** Time without a report of EC2 after which an annotation is removed. The queue may report an event earlier than EC2. */
const ABSENT_MS = 5 * 60_000;

/** Prefixes of the descriptions of events that EC2 still lists after their end. */
const ENDED = /^\[(Completed|Canceled|Cancelled)\]/;

/** Returns the earliest start of the events that have not ended. Undefined without such an event or without a start. */
export function startOfEvents(events: readonly InstanceStatusEvent[] = []): number | undefined {
  const starts = events
    .filter(({ Description = '' }) => !ENDED.test(Description))
    .flatMap(({ NotBefore }) => NotBefore?.getTime() ?? []);
  return starts.length === 0 ? undefined : Math.min(...starts);
}

export const hasOpenEvent = (events: readonly InstanceStatusEvent[] = []): boolean =>
  events.some(({ Description = '' }) => !ENDED.test(Description));

interface Planned {
  readonly claim: NodeClaim;
  readonly node: Node | undefined;
  /** Start of the event. Undefined if EC2 does not name it. */
  readonly notBeforeMs: number | undefined;
}

interface Options {
  readonly client: KubeClient;
  readonly events: EventRecorder;
  readonly clock: Clock;
}

/**
 * Records the start of the event in the annotation. Returns false if the event must be handled as an interruption: its start is
 * near or unknown, or the node has not registered.
 */
export async function planMaintenance(
  { claim, node, notBeforeMs }: Planned,
  { client, clock, events }: Options,
  log: Logger,
): Promise<boolean> {
  if (node === undefined || notBeforeMs === undefined || claim.metadata.deletionTimestamp !== undefined) return false;
  if (notBeforeMs - DRAIN_MS <= clock.now()) return false;
  const text = timestamp(notBeforeMs);
  if (own(node.metadata.annotations, MAINTENANCE_NOT_BEFORE_ANNOTATION) === text) return true;
  await annotate(client, node, text);
  log.info('ec2 has scheduled maintenance of the instance', {
    NodeClaim: { name: claim.metadata.name },
    Node: { name: node.metadata.name },
    notBefore: text,
  });
  const message = MAINTENANCE_SCHEDULED.message(text);
  for (const object of [claim, node])
    events.publish(
      eventOf(MAINTENANCE_SCHEDULED, object, { message, dedupe: [object.metadata.uid ?? object.metadata.name, text] }),
    );
  return true;
}

const annotate = (client: KubeClient, { metadata }: Node, text: string | null): Promise<unknown> => {
  const annotations = { [MAINTENANCE_NOT_BEFORE_ANNOTATION]: text };
  return unlessGone(
    client.patch(NODE, { name: metadata.name }, { metadata: { ...defined({ uid: metadata.uid }), annotations } }),
  );
};

/** Returns the recorded start of an event. */
export function plannedStartMs({ metadata }: Node): number | undefined {
  const text = own(metadata.annotations, MAINTENANCE_NOT_BEFORE_ANNOTATION);
  const ms = text === undefined ? Number.NaN : timeOf(text);
  return Number.isNaN(ms) ? undefined : ms;
}

/** Removes the annotations of events that EC2 has not reported for some minutes, because they were cancelled or have ended. */
export class EndedEvents {
  /** Time since which EC2 does not report the event of a node, by UID. */
  #absentMs: ReadonlyMap<string, number> = new Map();

  async remove(absent: readonly Node[], { client, clock }: Options, log: Logger): Promise<void> {
    const nowMs = clock.now();
    const sinceMs = new Map(
      absent.map(({ metadata: { uid = '' } }) => [uid, Math.min(this.#absentMs.get(uid) ?? nowMs, nowMs)]),
    );
    this.#absentMs = sinceMs;
    for (const node of absent) {
      if (nowMs - (sinceMs.get(node.metadata.uid ?? '') ?? nowMs) < ABSENT_MS) continue;
      await annotate(client, node, null);
      log.info('the scheduled maintenance of the instance has ended', { Node: { name: node.metadata.name } });
    }
  }
}
