/** Capacity reservations that a NodeClass selects, with the number of available instances. */
import {
  DescribeCapacityReservationsCommand,
  type DescribeCapacityReservationsCommandInput,
  type CapacityReservation as Described,
  type EC2Client,
  paginateDescribeCapacityReservations,
} from '@aws-sdk/client-ec2';
import type { CapacityReservationStatus, EC2NodeClass } from '#api/objects';
import { defined } from '#lib';
import { type Clock, type Freshness, LoadingCache } from '#lib/clock';
import type { Logger } from '#observe/logger';
import { isNotFound } from '../errors.ts';
import { fingerprint } from '../fingerprint.ts';
import { pagesOf } from '../pages.ts';
import { tagFilters } from '../tags.ts';

export type CapacityReservation = CapacityReservationStatus;

const QUERY_TTL_MS = 60_000;
/** Maximum age of a response while a reservation in it should have started. */
const DUE_TTL_MS = 10_000;
/** Duration of these frequent reads of a reservation that does not start. */
const DUE_MS = 10 * 60_000;
/** Time before its end at which a capacity block accepts no more instances. */
const BLOCK_EXPIRES_MS = 40 * 60_000;

type Query = Omit<DescribeCapacityReservationsCommandInput, 'NextToken'>;

/** States of reservations that start at a time in the future. */
const COMING: ReadonlySet<string> = new Set(['scheduled', 'delayed']);

function queriesFor(nodeClass: EC2NodeClass): readonly Query[] {
  const active = { Name: 'state', Values: ['active', ...COMING] };
  return (nodeClass.spec.capacityReservationSelectorTerms ?? []).map((term) => {
    if (term.id !== undefined) return { CapacityReservationIds: [term.id], Filters: [active] };
    const owner = term.ownerID === undefined ? [] : [{ Name: 'owner-id', Values: [term.ownerID] }];
    const match =
      term.instanceMatchCriteria === undefined
        ? []
        : [{ Name: 'instance-match-criteria', Values: [term.instanceMatchCriteria] }];
    return { Filters: [active, ...owner, ...tagFilters(term.tags), ...match], MaxResults: 1000 };
  });
}

/** Converts a reservation to an entry of the NodeClass status. Returns undefined if its kind is unknown. */
function reservationStatus(described: Described, nowMs: number): CapacityReservation | undefined {
  const type = described.ReservationType ?? 'default';
  const criteria = described.InstanceMatchCriteria;
  if (type !== 'default' && type !== 'capacity-block') return undefined;
  if (criteria !== 'open' && criteria !== 'targeted') return undefined;
  const end = described.EndDate;
  const expiring = type === 'capacity-block' && end !== undefined && end.getTime() - nowMs <= BLOCK_EXPIRES_MS;
  return {
    id: described.CapacityReservationId ?? '',
    availabilityZone: described.AvailabilityZone ?? '',
    instanceType: described.InstanceType ?? '',
    instanceMatchCriteria: criteria,
    ownerID: described.OwnerId ?? '',
    reservationType: type,
    state: expiring ? 'expiring' : 'active',
    interruptible: described.Interruptible === true,
    ...defined({ endTime: end?.toISOString() }),
  };
}

/** Reservation that has not started. */
export interface ScheduledReservation {
  readonly id: string;
  readonly instanceType: string;
  readonly zone: string;
  readonly reservationType: string;
  readonly instances: number;
  readonly startMs: number;
  readonly endMs: number | undefined;
}

/** Returns undefined for a reservation without a start, which has no place in a calendar. */
function scheduledReservation(described: Described): ScheduledReservation | undefined {
  const startMs = described.StartDate?.getTime();
  if (startMs === undefined) return undefined;
  return {
    id: described.CapacityReservationId ?? '',
    instanceType: described.InstanceType ?? '',
    zone: described.AvailabilityZone ?? '',
    reservationType: described.ReservationType ?? 'default',
    instances: described.TotalInstanceCount ?? 0,
    startMs,
    endMs: described.EndDate?.getTime(),
  };
}

interface Answer {
  readonly described: readonly Described[];
  readonly atMs: number;
}

export class Reservations {
  readonly #ec2: EC2Client;
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #queries: LoadingCache<Answer>;
  readonly #available = new Map<string, number>();

  constructor(ec2: EC2Client, clock: Clock, log: Logger) {
    this.#ec2 = ec2;
    this.#clock = clock;
    this.#log = log;
    this.#queries = new LoadingCache(clock, QUERY_TTL_MS);
  }

  /** Returns the active reservations of the NodeClass, sorted by ID. */
  async list(nodeClass: EC2NodeClass, { anew = false }: Freshness = {}): Promise<readonly CapacityReservation[]> {
    const answers = await this.#answers(nodeClass, anew);
    const now = this.#clock.now();
    const found = new Map<string, CapacityReservation>();
    for (const described of answers) {
      if (COMING.has(described.State ?? '')) continue;
      if (described.EndDate !== undefined && described.EndDate.getTime() <= now) continue;
      const status = reservationStatus(described, now);
      if (status === undefined)
        this.#log.error('ignoring capacity reservation of an unknown kind', { id: described.CapacityReservationId });
      else if (!found.has(status.id)) found.set(status.id, status);
    }
    return [...found.values()].sort((a, b) => (a.id < b.id ? -1 : 1));
  }

  /** Returns the reservations of the NodeClass that have not started, by their start. */
  async scheduled(nodeClass: EC2NodeClass): Promise<readonly ScheduledReservation[]> {
    const coming = (await this.#answers(nodeClass, false)).filter(({ State = '' }) => COMING.has(State));
    const byId = new Map(coming.map((described) => [described.CapacityReservationId, scheduledReservation(described)]));
    return [...byId.values()]
      .filter((each) => each !== undefined)
      .sort((a, b) => a.startMs - b.startMs || (a.id < b.id ? -1 : 1));
  }

  /** Returns the milliseconds until the scheduled reservations of the NodeClass must be read again. */
  async nextReadMs(nodeClass: EC2NodeClass): Promise<number> {
    const now = this.#clock.now();
    const waits = (await this.scheduled(nodeClass)).map(({ startMs }) =>
      startMs > now ? startMs - now : isDue(startMs, now) ? DUE_TTL_MS : QUERY_TTL_MS,
    );
    return Math.min(QUERY_TTL_MS, ...waits);
  }

  async #answers(nodeClass: EC2NodeClass, anew: boolean): Promise<readonly Described[]> {
    const answers = await Promise.all(
      queriesFor(nodeClass).map(async (query) => {
        const key = fingerprint(query);
        if (anew) this.#queries.delete(key);
        const load = (): Promise<Answer> => this.#answer(query);
        const known = await this.#queries.get(key, load);
        if (!this.#isOutdated(known)) return known.described;
        this.#queries.delete(key);
        return (await this.#queries.get(key, load)).described;
      }),
    );
    return answers.flat();
  }

  /** Returns true if a reservation should have started since the response. */
  #isOutdated({ described, atMs }: Answer): boolean {
    const now = this.#clock.now();
    return described.some(({ State = '', StartDate }) => {
      const startMs = StartDate?.getTime() ?? Number.POSITIVE_INFINITY;
      if (!COMING.has(State) || startMs > now) return false;
      return atMs < startMs || (isDue(startMs, now) && now - atMs >= DUE_TTL_MS);
    });
  }

  async #answer(query: Query): Promise<Answer> {
    const atMs = this.#clock.now();
    return { described: await this.#describe(query), atMs };
  }

  async #describe(query: Query): Promise<readonly Described[]> {
    const described: Described[] = [];
    try {
      if (query.CapacityReservationIds !== undefined) {
        const answer = await this.#ec2.send(new DescribeCapacityReservationsCommand(query));
        described.push(...(answer.CapacityReservations ?? []));
      } else
        for await (const page of pagesOf(
          'DescribeCapacityReservations',
          paginateDescribeCapacityReservations({ client: this.#ec2 }, query),
        ))
          described.push(...(page.CapacityReservations ?? []));
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
    for (const each of described)
      this.#available.set(each.CapacityReservationId ?? '', each.AvailableInstanceCount ?? 0);
    return described;
  }

  /** Number of available instances, 0 if it is unknown. */
  available(id: string): number {
    return this.#available.get(id) ?? 0;
  }

  launched(id: string): void {
    this.#change(id, -1);
  }

  terminated(id: string): void {
    this.#change(id, 1);
  }

  #change(id: string, by: number): void {
    const count = this.#available.get(id);
    if (count !== undefined) this.#available.set(id, Math.max(0, count + by));
  }

  exhausted(id: string): void {
    if (this.#available.has(id)) this.#available.set(id, 0);
  }
}

/** Returns true if a reservation should have started a short time ago. */
const isDue = (startMs: number, nowMs: number): boolean => startMs <= nowMs && nowMs - startMs < DUE_MS;
