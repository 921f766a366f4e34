/** Start and end of capacity reservations. */
import type { CapacityReservation } from '@aws-sdk/client-ec2';
import type { Account } from './account.ts';
import type { StoredReservation } from './stored.ts';

/** Time before the end of a capacity block at which EC2 terminates its instances. */
const RECLAIM_MS = 30 * 60_000;
/** Maximum delay of a timer. */
const LONGEST_TIMER_MS = 24 * 3_600_000;
const RECLAIMED = {
  Code: 'Server.CapacityBlockEnding',
  Message: 'Server.CapacityBlockEnding: The Capacity Block is about to end',
};

const timeOf = (date: Date | undefined): number => date?.getTime() ?? Number.POSITIVE_INFINITY;

/** Applies the starts and ends of reservations that have passed. */
export function settleReservations(account: Account): void {
  for (const reservation of account.reservations.values()) settle(account, reservation);
}

function settle(account: Account, reservation: StoredReservation): void {
  const nowMs = account.clock.now();
  const { State, StartDate, EndDate, ReservationType, TotalInstanceCount = 0 } = reservation.facts;
  if (State === 'scheduled' && timeOf(StartDate) <= nowMs) {
    reservation.facts = { ...reservation.facts, State: 'active' };
    reservation.available = TotalInstanceCount;
  }
  if (reservation.facts.State !== 'active') return;
  const isBlock = ReservationType === 'capacity-block';
  if (isBlock && timeOf(EndDate) - RECLAIM_MS <= nowMs) {
    for (const machine of account.machines.all())
      if (machine.reservation === reservation) account.machines.terminate(machine, RECLAIMED);
    reservation.available = 0;
  }
  if (timeOf(EndDate) <= nowMs) endReservation(account, reservation, 'expired');
}

/** Ends a reservation. Its instances continue to run as on-demand instances. */
export function endReservation(
  account: Account,
  reservation: StoredReservation,
  state: NonNullable<CapacityReservation['State']>,
): void {
  for (const machine of account.machines.all()) {
    if (machine.reservation !== reservation) continue;
    machine.reservation = undefined;
    machine.capacityType = 'on-demand';
    machine.lifecycle = undefined;
    delete machine.capacityReservationId;
  }
  reservation.available = 0;
  reservation.facts = { ...reservation.facts, State: state, TotalInstanceCount: 0 };
}

/** Settles a reservation at its next start or end also if no request reads it. */
export function watchReservation(account: Account, reservation: StoredReservation): void {
  const nowMs = account.clock.now();
  const { StartDate, EndDate } = reservation.facts;
  const turns = [timeOf(StartDate), timeOf(EndDate) - RECLAIM_MS, timeOf(EndDate)].filter((atMs) => atMs > nowMs);
  const nextMs = Math.min(...turns);
  if (!Number.isFinite(nextMs)) return;
  account.machines.schedule(Math.min(nextMs - nowMs, LONGEST_TIMER_MS), () => {
    settle(account, reservation);
    watchReservation(account, reservation);
  });
}
