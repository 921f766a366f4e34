/** Reports capacity reservations that start later, and open reservations that are paid but not used. */
import type { EC2Client } from '@aws-sdk/client-ec2';
import {
  CAPACITY_TYPE_LABEL,
  EC2_NODE_CLASS,
  type EC2NodeClass,
  INSTANCE_TYPE_LABEL,
  NODE_POOL,
  type NodePool,
  ZONE_LABEL,
} from '#api/objects';
import type { InstanceType } from '#engine/model';
import type { Informers } from '#kube/client';
import { after, type EventRecorder, type Singleton } from '#kube/reconcilers';
import { timestamp } from '#lib';
import { monotonicMs, type Timepiece } from '#lib/clock';
import { eventOf } from '#observe/events';
import type { Logger } from '#observe/logger';
import { CAPACITY_RESERVATION_IDLE, CAPACITY_RESERVATION_SCHEDULED } from '../events.ts';
import type { AwsMetrics } from '../metrics.ts';
import { poolRequirements } from '../nodepools.ts';
import { describeOpen, type IdleReservation, idleReservations, idleText, selectedIds } from './idle.ts';
import type { Reservations, ScheduledReservation } from './reservations.ts';

const PERIOD_MS = 60_000;
/** Interval of reads of all open reservations. One that is idle in two reads is reported. */
const IDLE_PERIOD_MS = 10 * 60_000;
/** Maximum number of reservations with a series or an event. */
const MOST_REPORTED = 50;
const IDLE = 'idle';

interface CalendarOptions {
  readonly ec2: EC2Client;
  readonly informers: Informers;
  readonly reservations: Pick<Reservations, 'scheduled'>;
  readonly instanceTypes: (nodePool: NodePool) => Promise<readonly InstanceType[]>;
  readonly events: EventRecorder;
  readonly metrics: Pick<AwsMetrics, 'idleReservations'>;
  readonly clock: Timepiece;
}

export function reservationCalendar(options: CalendarOptions): Singleton {
  const { ec2, informers, reservations, instanceTypes, events, metrics, clock } = options;
  /** IDs of the reservations that were idle at the last read. */
  let before: ReadonlySet<string> = new Set();
  let nextMs = Number.NEGATIVE_INFINITY;

  async function reportScheduled(nodeClass: EC2NodeClass, pools: readonly NodePool[], log: Logger): Promise<void> {
    if (nodeClass.spec.capacityReservationSelectorTerms === undefined) return;
    const nowMs = clock.now();
    for (const reservation of (await reservations.scheduled(nodeClass)).slice(0, MOST_REPORTED)) {
      const message = CAPACITY_RESERVATION_SCHEDULED.message(scheduledText(reservation, nowMs));
      const dedupe = [message];
      for (const pool of pools.filter((each) => allows(each, nodeClass, reservation)))
        events.publish(
          eventOf(CAPACITY_RESERVATION_SCHEDULED, pool, { message, dedupe: [...dedupe, pool.metadata.name] }),
        );
      log.debug('waiting for a capacity reservation', { 'capacity-reservation-id': reservation.id });
    }
  }

  async function reportIdle(pools: readonly NodePool[], nodeClasses: readonly EC2NodeClass[]): Promise<void> {
    const open = await describeOpen(ec2);
    const used = open.length === 0 ? [] : pools;
    const types = await Promise.all(
      used.map(async (nodePool) => ({ nodePool, types: await instanceTypes(nodePool).catch(() => []) })),
    );
    const idle = idleReservations(open, selectedIds(nodeClasses), types);
    const lasting = idle.filter(({ id }) => before.has(id)).slice(0, MOST_REPORTED);
    before = new Set(idle.map(({ id }) => id));
    metrics.idleReservations.set(IDLE, lasting.map(sampleOf));
    for (const reservation of lasting) {
      const message = CAPACITY_RESERVATION_IDLE.message(reservation.id, idleText(reservation), reservation.nodeClass);
      const pool = informers.store(NODE_POOL).get({ name: reservation.nodePools[0] ?? '' });
      if (pool) events.publish(eventOf(CAPACITY_RESERVATION_IDLE, pool, { message, dedupe: [reservation.id] }));
    }
  }

  return {
    name: 'capacityreservation.calendar',
    singleton: true,
    backOff: { baseMs: 1000, maxMs: PERIOD_MS },
    async reconcile({ log }) {
      const pools = informers.store(NODE_POOL).list();
      const nodeClasses = informers.store(EC2_NODE_CLASS).list();
      for (const nodeClass of nodeClasses) await reportScheduled(nodeClass, pools, log);
      if (monotonicMs(clock) >= nextMs) {
        await reportIdle(pools, nodeClasses);
        nextMs = monotonicMs(clock) + IDLE_PERIOD_MS;
      }
      return after(PERIOD_MS);
    },
  };
}

/** Returns true if the NodePool can use a reservation of its NodeClass. */
export const allows = (
  pool: NodePool,
  nodeClass: EC2NodeClass,
  { instanceType, zone }: ScheduledReservation,
): boolean => {
  const requirements = poolRequirements(pool);
  const has = (key: string, value: string): boolean => requirements.get(key).has(value);
  return (
    pool.spec.template.spec.nodeClassRef.name === nodeClass.metadata.name &&
    has(CAPACITY_TYPE_LABEL, 'reserved') &&
    has(INSTANCE_TYPE_LABEL, instanceType) &&
    has(ZONE_LABEL, zone)
  );
};

/** Returns a text such as `capacity block cr-1 of 4 p5.48xlarge in us-west-2a, which starts at 2026-01-01T12:00:00Z`. */
export function scheduledText(reservation: ScheduledReservation, nowMs: number): string {
  const { id, instanceType, zone, reservationType, instances, startMs, endMs } = reservation;
  const kind = reservationType === 'capacity-block' ? 'capacity block' : 'capacity reservation';
  const start = startMs > nowMs ? 'which starts at' : 'which EC2 delays since';
  const end = endMs === undefined ? '' : ` and ends at ${timestamp(endMs)}`;
  return `${kind} ${id} of ${instances} ${instanceType} in ${zone}, ${start} ${timestamp(startMs)}${end}`;
}

const sampleOf = ({ id, instanceType, zone, usdPerDay }: IdleReservation) => ({
  labels: { reservation_id: id, instance_type: instanceType, zone },
  value: usdPerDay,
});
