/** Handles NodeClaims with an instance that is unhealthy or about to terminate. */

import {
  CAPACITY_RESERVATION_ID_LABEL,
  CAPACITY_TYPE_LABEL,
  INSTANCE_TYPE_LABEL,
  type KubeObject,
  labelOf,
  NODE,
  NODE_CLAIM,
  type Node,
  type NodeClaim,
  poolNameOf,
  TERMINATION_TIMESTAMP_ANNOTATION,
  ZONE_LABEL,
} from '#api/objects';
import { type Informers, isNotFound, type KubeClient } from '#kube/client';
import type { EventNote, EventRecorder } from '#kube/reconcilers';
import { defined, rejections, timestamp } from '#lib';
import type { Clock } from '#lib/clock';
import { eventOf, type KeyedEvent } from '#observe/events';
import type { Logger } from '#observe/logger';
import { combineErrors } from '../errors.ts';
import {
  CAPACITY_RESERVATION_INSTANCE_INTERRUPTED,
  INSTANCE_STOPPING,
  INSTANCE_TERMINATING,
  INSTANCE_UNHEALTHY,
  SPOT_INTERRUPTED,
  SPOT_REBALANCE_RECOMMENDATION,
  TERMINATING_ON_INTERRUPTION,
} from '../events.ts';
import { instanceIdOfClaim, instanceIdOfNode } from '../instances/instance.ts';
import type { AwsMetrics } from '../metrics.ts';
import type { UnavailableOfferings } from '../offerings/unavailable.ts';
import type { Reservations } from '../reservations/reservations.ts';
import type { SpotRisk } from '../spot-risk/spot-risk.ts';
import { spotPoolOf } from '../spot-risk/watch.ts';
import type { MessageKind } from './messages.ts';
import { planMaintenance } from './scheduled-events.ts';

/** Kinds of queue messages and of EC2 status checks. */
export type InterruptionKind = MessageKind | 'instance_status' | 'system_status' | 'event_status';

interface Response {
  readonly event: KeyedEvent & { readonly message: () => string };
  /** `ForcefulTermination` does not wait for the drain, because the node is unreliable. */
  readonly action: 'CordonAndDrain' | 'ForcefulTermination' | 'NoAction';
}

const RESPONSES: Readonly<Record<Exclude<InterruptionKind, 'no_op'>, Response>> = {
  spot_interrupted: { event: SPOT_INTERRUPTED, action: 'CordonAndDrain' },
  capacity_reservation_interrupted: { event: CAPACITY_RESERVATION_INSTANCE_INTERRUPTED, action: 'CordonAndDrain' },
  rebalance_recommendation: { event: SPOT_REBALANCE_RECOMMENDATION, action: 'NoAction' },
  scheduled_change: { event: INSTANCE_UNHEALTHY, action: 'CordonAndDrain' },
  event_status: { event: INSTANCE_UNHEALTHY, action: 'CordonAndDrain' },
  instance_status: { event: INSTANCE_UNHEALTHY, action: 'ForcefulTermination' },
  system_status: { event: INSTANCE_UNHEALTHY, action: 'ForcefulTermination' },
  instance_stopped: { event: INSTANCE_STOPPING, action: 'CordonAndDrain' },
  instance_terminated: { event: INSTANCE_TERMINATING, action: 'CordonAndDrain' },
};

export interface ActOptions {
  readonly client: KubeClient;
  readonly informers: Informers;
  readonly events: EventRecorder;
  readonly clock: Clock;
  readonly metrics: AwsMetrics;
  readonly unavailable: UnavailableOfferings;
  readonly reservations: Reservations;
  /** True if scheduled events are planned maintenance until shortly before their start. */
  readonly plansEvents: boolean;
  readonly spotRisk?: Pick<SpotRisk, 'interrupted'>;
  /** Called for each NodeClaim that is deleted. */
  readonly interrupted?: ((claim: NodeClaim, kind: InterruptionKind) => void) | undefined;
}

const eventFor = (object: KubeObject, event: KeyedEvent, message: string): EventNote =>
  eventOf(event, object, { message, dedupe: [object.metadata.uid ?? object.metadata.name] });

/** Returns true for the state changes that follow the operator's own termination of the instance. They are no interruptions. */
const isOwnTermination = (kind: InterruptionKind, { metadata }: NodeClaim): boolean =>
  metadata.deletionTimestamp !== undefined && (kind === 'instance_terminated' || kind === 'instance_stopped');

/** Records the shortage of capacity that the interruption indicates. */
function recordShortage(kind: InterruptionKind, claim: NodeClaim, { unavailable, reservations }: ActOptions): void {
  const labels = claim.metadata.labels ?? {};
  const instanceType = labels[INSTANCE_TYPE_LABEL] ?? '';
  const zone = labels[ZONE_LABEL] ?? '';
  if (kind === 'spot_interrupted' && instanceType !== '' && zone !== '')
    unavailable.mark(kind, { instanceType, zone, capacityType: 'spot' });
  const reservation = labels[CAPACITY_RESERVATION_ID_LABEL];
  if (kind === 'capacity_reservation_interrupted' && reservation !== undefined) reservations.exhausted(reservation);
}

/** Message kinds that affect the estimated risk of a spot pool. */
const RISKS: Readonly<Partial<Record<InterruptionKind, 'interruption' | 'recommendation'>>> = {
  spot_interrupted: 'interruption',
  rebalance_recommendation: 'recommendation',
};

function recordRisk(kind: InterruptionKind, claim: NodeClaim, { spotRisk }: ActOptions): void {
  const [risk, pool, id] = [RISKS[kind], spotPoolOf(claim), instanceIdOfClaim(claim)];
  if (risk !== undefined && pool !== undefined && id !== undefined) spotRisk?.interrupted(id, pool, risk);
}

async function stampTermination(claim: NodeClaim, { client, clock }: ActOptions): Promise<void> {
  if (claim.metadata.annotations?.[TERMINATION_TIMESTAMP_ANNOTATION] !== undefined) return;
  const now = timestamp(clock.now());
  const annotations = { [TERMINATION_TIMESTAMP_ANNOTATION]: now };
  await client.patch(NODE_CLAIM, { name: claim.metadata.name }, { metadata: { annotations } });
}

async function deleteClaim(
  kind: InterruptionKind,
  subject: { readonly claim: NodeClaim; readonly node: Node | undefined; readonly action: Response['action'] },
  options: ActOptions,
  log: Logger,
): Promise<void> {
  const { claim, node, action } = subject;
  if (claim.metadata.deletionTimestamp !== undefined) return;
  try {
    if (action === 'ForcefulTermination') await stampTermination(claim, options);
    await options.client.delete(NODE_CLAIM, { name: claim.metadata.name }, { uid: claim.metadata.uid });
  } catch (error) {
    if (isNotFound(error)) return;
    throw combineErrors(`deleting NodeClaim "${claim.metadata.name}"`, [error]);
  }
  log.info('initiating delete from interruption message', {
    messageKind: kind,
    NodeClaim: { name: claim.metadata.name },
    ...defined({ Node: node && { name: node.metadata.name } }),
    action,
  });
  const event = TERMINATING_ON_INTERRUPTION;
  options.events.publish(
    eventFor(claim, event, event.message('NodeClaim')),
    ...(node === undefined ? [] : [eventFor(node, event, event.message('Node'))]),
  );
  options.metrics.nodeClaimsDisrupted.inc({
    reason: kind,
    nodepool: poolNameOf(claim),
    capacity_type: labelOf(claim, CAPACITY_TYPE_LABEL),
    // The labels exist because the counter is shared. Only the reason distinguishes interruptions.
    consolidation_policy: '',
    termination_mode: '',
  });
  options.interrupted?.(claim, kind);
}

/**
 * Publishes an event, records shortages and deletes the NodeClaims of the instances. Ignores instances without a
 * NodeClaim.
 * @param notBeforeMs start of a scheduled event
 * @throws Error with all failures, after all instances have been handled
 */
export async function act(
  kind: InterruptionKind,
  instanceIds: readonly string[],
  options: ActOptions,
  log: Logger,
  notBeforeMs?: number,
): Promise<void> {
  if (kind === 'no_op') return;
  const response = RESPONSES[kind];
  const wanted = new Set(instanceIds);
  const affected = options.informers
    .store(NODE_CLAIM)
    .list()
    .filter((claim) => {
      const id = instanceIdOfClaim(claim);
      // a NodeClaim without an instance must not match a message without an instance
      return id && wanted.has(id);
    });
  const results = await Promise.allSettled(
    affected.map(async (claim) => {
      const id = instanceIdOfClaim(claim);
      const node = options.informers
        .store(NODE)
        .list()
        .find((each) => instanceIdOfNode(each) === id);
      const isEvent = kind === 'scheduled_change' || kind === 'event_status';
      if (isEvent && options.plansEvents && (await planMaintenance({ claim, node, notBeforeMs }, options, log))) return;
      const objects = node === undefined ? [claim] : [claim, node];
      if (!isOwnTermination(kind, claim))
        options.events.publish(...objects.map((object) => eventFor(object, response.event, response.event.message())));
      recordShortage(kind, claim, options);
      recordRisk(kind, claim, options);
      if (response.action === 'NoAction') return;
      await deleteClaim(kind, { claim, node, action: response.action }, options, log);
    }),
  );
  const failed = rejections(results);
  if (failed.length > 0) throw combineErrors(`acting on ${kind}`, failed);
}
