/** Offerings that were found to be out of capacity a short while ago. */

import type { Clock } from '../../lib/clock.ts';
import { defined } from '../../lib/defined.ts';
import { TtlCache } from '../../lib/ttl-cache.ts';
import type { Logger } from '../../observe/logger.ts';

/** How long a shortage is remembered. */
export const SHORTAGE_TTL_MS = 3 * 60_000;

export interface OfferingKey {
  readonly instanceType: string;
  readonly zone: string;
  readonly capacityType: string;
  /** The shortage holds within this placement group alone. */
  readonly placementGroup?: { readonly id: string; readonly partition?: string | undefined } | undefined;
}

/** What is short, what AWS called it, and until when that is remembered. */
export interface Shortage {
  readonly of: 'offering' | 'capacity-type' | 'subnets';
  readonly reason: string;
  readonly untilMs: number;
}

export class UnavailableOfferings {
  readonly #log: Logger;
  readonly #offerings: TtlCache<string, { readonly instanceType: string; readonly reason: string }>;
  /** Reasons, by capacity type and by subnet. */
  readonly #capacityTypes: TtlCache<string, string>;
  readonly #subnets: TtlCache<string, string>;
  readonly #sequences = new Map<string, number>();
  #shared = 0;
  #marks = 0;

  constructor(clock: Clock, log: Logger) {
    this.#log = log;
    const bump = (): void => {
      this.#shared++;
    };
    this.#offerings = new TtlCache(clock, SHORTAGE_TTL_MS, {
      evicted: (_, { instanceType }) => this.#bump(instanceType),
    });
    this.#capacityTypes = new TtlCache(clock, SHORTAGE_TTL_MS, { evicted: bump });
    this.#subnets = new TtlCache(clock, SHORTAGE_TTL_MS, { evicted: bump });
  }

  #bump(instanceType: string): void {
    this.#marks++;
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

  /** Why the offering cannot be had; `subnetIds` are the NodeClass's subnets in the zone, of which one is enough. */
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

  /** Changes whenever what is known about any offering may have changed. */
  get version(): number {
    return this.#marks + this.#shared;
  }

  mark(reason: string, offering: OfferingKey, fleetId?: string): void {
    this.#offerings.set(keyOf(offering), { instanceType: offering.instanceType, reason });
    this.#bump(offering.instanceType);
    const { id, partition } = offering.placementGroup ?? {};
    this.#log.debug('removing offering from offerings', {
      reason,
      'instance-type': offering.instanceType,
      zone: offering.zone,
      'capacity-type': offering.capacityType,
      ttl: '3m0s',
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
