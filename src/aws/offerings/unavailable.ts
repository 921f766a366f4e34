/** Offerings that were found to be out of capacity a short while ago. */
import type { Clock } from '../../kube/clock.ts';
import type { Logger } from '../../observe/logger.ts';
import { TtlCache } from '../ttlcache.ts';

/** How long a shortage is remembered. */
export const SHORTAGE_TTL_MS = 3 * 60_000;

export interface OfferingKey {
  readonly instanceType: string;
  readonly zone: string;
  readonly capacityType: string;
  /** The shortage holds within this placement group alone. */
  readonly placementGroup?: { readonly id: string; readonly partition?: string | undefined } | undefined;
}

export class UnavailableOfferings {
  readonly #log: Logger;
  readonly #offerings: TtlCache<string, string>;
  readonly #capacityTypes: TtlCache<string, true>;
  readonly #subnets: TtlCache<string, true>;
  readonly #sequences = new Map<string, number>();
  #shared = 0;

  constructor(clock: Clock, log: Logger) {
    this.#log = log;
    const bump = (): void => {
      this.#shared++;
    };
    this.#offerings = new TtlCache(clock, SHORTAGE_TTL_MS, (_, type) => this.#bump(type));
    this.#capacityTypes = new TtlCache(clock, SHORTAGE_TTL_MS, bump);
    this.#subnets = new TtlCache(clock, SHORTAGE_TTL_MS, bump);
  }

  #bump(instanceType: string): void {
    this.#sequences.set(instanceType, (this.#sequences.get(instanceType) ?? 0) + 1);
  }

  /** Changes whenever what is known about the type's offerings may have changed. */
  sequence(instanceType: string): number {
    return (this.#sequences.get(instanceType) ?? 0) + this.#shared;
  }

  /** Drops shortages that are over. */
  sweep(): void {
    this.#offerings.sweep();
    this.#capacityTypes.sweep();
    this.#subnets.sweep();
  }

  /** `subnetIds` are the NodeClass's subnets in the zone. */
  isUnavailable(offering: OfferingKey, subnetIds: readonly string[] = []): boolean {
    return (
      this.#offerings.has(keyOf(offering)) ||
      this.#capacityTypes.has(offering.capacityType) ||
      (subnetIds.length > 0 && subnetIds.every((id) => this.#subnets.has(id)))
    );
  }

  mark(reason: string, offering: OfferingKey, fleetId?: string): void {
    this.#offerings.set(keyOf(offering), offering.instanceType);
    this.#bump(offering.instanceType);
    const { id, partition } = offering.placementGroup ?? {};
    this.#log.debug('removing offering from offerings', {
      reason,
      'instance-type': offering.instanceType,
      zone: offering.zone,
      'capacity-type': offering.capacityType,
      ttl: '3m0s',
      ...(id === undefined ? {} : { 'placement-group-id': id }),
      ...(partition === undefined ? {} : { 'placement-group-partition': partition }),
      ...(fleetId === undefined ? {} : { 'fleet-id': fleetId }),
    });
  }

  markCapacityType(reason: string, capacityType: string): void {
    this.#capacityTypes.set(capacityType, true);
    this.#shared++;
    this.#log.debug('removing capacity type from offerings', { reason, 'capacity-type': capacityType, ttl: '3m0s' });
  }

  markSubnet(reason: string, subnetId: string): void {
    this.#subnets.set(subnetId, true);
    this.#shared++;
    this.#log.debug('removing subnet from offerings', { reason, subnet: subnetId, ttl: '3m0s' });
  }
}

function keyOf({ capacityType, instanceType, zone, placementGroup }: OfferingKey): string {
  const scope = [placementGroup?.id, placementGroup?.partition].filter((part) => part !== undefined);
  return [capacityType, instanceType, zone, ...scope].join(':');
}
