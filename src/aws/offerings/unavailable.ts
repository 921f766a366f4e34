/** Offerings that recently had no capacity, or could not be launched for another reason. */
import { formatDuration } from '#api/values';
import { defined } from '#lib';
import { type Clock, TtlCache } from '#lib/clock';
import type { Logger } from '#observe/logger';

/** Time for which a shortage is recorded, and longest pause after a failure. */
export const SHORTAGE_TTL_MS = 3 * 60_000;
/** First pause after a failure. Each successive failure doubles it. */
const FIRST_PAUSE_MS = 10_000;
/** A failure this long after the end of a pause starts with the first pause again. */
const FORGIVEN_MS = SHORTAGE_TTL_MS;
/** Maximum number of offerings with a shortage, and maximum number of offerings with counted failures. */
const MOST_OFFERINGS = 20_000;

export interface OfferingKey {
  readonly instanceType: string;
  readonly zone: string;
  readonly capacityType: string;
  /** If set, the shortage applies only to this placement group. */
  readonly placementGroup?: { readonly id: string; readonly partition?: string | undefined } | undefined;
}

/** Kind of the shortage, the error code of AWS and the time at which the record expires. */
export interface Shortage {
  readonly of: 'offering' | 'capacity-type' | 'subnets';
  readonly reason: string;
  readonly untilMs: number;
}

interface FailedLaunch {
  readonly tolerated: number;
  readonly fleetId?: string | undefined;
}

export class UnavailableOfferings {
  readonly #log: Logger;
  readonly #offerings: TtlCache<string, { readonly instanceType: string; readonly reason: string }>;
  /** Reasons by capacity type. */
  readonly #capacityTypes: TtlCache<string, string>;
  readonly #subnets: TtlCache<string, string>;
  /** Number of successive failures by offering. */
  readonly #failures: TtlCache<string, number>;
  readonly #sequences = new Map<string, number>();
  #shared = 0;
  #marks = 0;

  constructor(clock: Clock, log: Logger) {
    this.#log = log;
    const bump = (): void => {
      this.#shared++;
    };
    this.#offerings = new TtlCache(clock, SHORTAGE_TTL_MS, {
      most: MOST_OFFERINGS,
      evicted: (_, { instanceType }) => this.#bump(instanceType),
    });
    this.#capacityTypes = new TtlCache(clock, SHORTAGE_TTL_MS, { evicted: bump });
    this.#subnets = new TtlCache(clock, SHORTAGE_TTL_MS, { evicted: bump });
    this.#failures = new TtlCache(clock, SHORTAGE_TTL_MS + FORGIVEN_MS, { most: MOST_OFFERINGS });
  }

  #bump(instanceType: string): void {
    this.#marks++;
    this.#sequences.set(instanceType, (this.#sequences.get(instanceType) ?? 0) + 1);
  }

  /** Changes if the availability of the type's offerings may have changed. */
  sequence(instanceType: string): number {
    return (this.#sequences.get(instanceType) ?? 0) + this.#shared;
  }

  /** Removes expired shortages. */
  sweep(): void {
    this.#offerings.sweep();
    this.#capacityTypes.sweep();
    this.#subnets.sweep();
  }

  /**
   * Returns the shortage of the offering.
   * @param subnetIds the NodeClass's subnets in the zone, one of them with free addresses is enough
   */
  shortage(offering: OfferingKey, subnetIds: readonly string[] = []): Shortage | undefined {
    const key = keyOf(offering);
    const untilMs = this.#offerings.expiresMs(key);
    if (untilMs !== undefined) return { of: 'offering', reason: this.#offerings.get(key)?.reason ?? '', untilMs };
    const { capacityType } = offering;
    const typeUntilMs = this.#capacityTypes.expiresMs(capacityType);
    if (typeUntilMs !== undefined)
      return { of: 'capacity-type', reason: this.#capacityTypes.get(capacityType) ?? '', untilMs: typeUntilMs };
    const [first] = subnetIds;
    if (first === undefined || !subnetIds.every((id) => this.#subnets.has(id))) return undefined;
    const ends = subnetIds.map((id) => this.#subnets.expiresMs(id) ?? 0);
    return { of: 'subnets', reason: this.#subnets.get(first) ?? '', untilMs: Math.min(...ends) };
  }

  /** Changes if the availability of an offering may have changed. */
  get version(): number {
    return this.#marks + this.#shared;
  }

  mark(reason: string, offering: OfferingKey, fleetId?: string): void {
    this.#pause(reason, offering, { ms: SHORTAGE_TTL_MS, fleetId });
  }

  /**
   * Records a failure that does not show for how long the offering cannot be launched. The pause doubles with each successive
   * failure up to three minutes. Requests that were sent before the pause do not extend it.
   * @param tolerated number of failures without a pause
   */
  markFailed(reason: string, offering: OfferingKey, { tolerated, fleetId }: FailedLaunch): void {
    const key = keyOf(offering);
    if (this.#offerings.has(key)) return;
    const failures = (this.#failures.get(key) ?? 0) + 1;
    const doublings = failures - tolerated - 1;
    const ms = doublings < 0 ? 0 : Math.min(SHORTAGE_TTL_MS, FIRST_PAUSE_MS * 2 ** Math.min(doublings, 10));
    this.#failures.set(key, failures, ms + FORGIVEN_MS);
    if (ms > 0) this.#pause(reason, offering, { ms, fleetId });
  }

  #pause(reason: string, offering: OfferingKey, { ms, fleetId }: { ms: number; fleetId: string | undefined }): void {
    this.#offerings.set(keyOf(offering), { instanceType: offering.instanceType, reason }, ms);
    this.#bump(offering.instanceType);
    const { id, partition } = offering.placementGroup ?? {};
    this.#log.debug('removing offering from offerings', {
      reason,
      'instance-type': offering.instanceType,
      zone: offering.zone,
      'capacity-type': offering.capacityType,
      ttl: formatDuration(ms),
      ...defined({ 'placement-group-id': id, 'placement-group-partition': partition, 'fleet-id': fleetId }),
    });
  }

  markCapacityType(reason: string, capacityType: string): void {
    this.#capacityTypes.set(capacityType, reason);
    this.#shared++;
    this.#log.debug('removing capacity type from offerings', { reason, 'capacity-type': capacityType, ttl: '3m0s' });
  }

  markSubnet(reason: string, subnetId: string): void {
    this.#subnets.set(subnetId, reason);
    this.#shared++;
    this.#log.debug('removing subnet from offerings', { reason, subnet: subnetId, ttl: '3m0s' });
  }
}

function keyOf({ capacityType, instanceType, zone, placementGroup }: OfferingKey): string {
  const scope = [placementGroup?.id, placementGroup?.partition].filter((part) => part !== undefined);
  return [capacityType, instanceType, zone, ...scope].join(':');
}
