/** Checks that nodes publish the devices for which they were launched. */
import {
  getCondition,
  INSTANCE_TYPE_LABEL,
  NODEPOOL_LABEL,
  type Node,
  type NodeClaim,
  type ResourceSlice,
} from '#api/objects';
import { missingDevices } from '#engine/devices';
import { timeOf } from '#lib';
import { DEVICE_TEMPLATE_MISMATCH, DRA_DRIVER_POOLS_NOT_PUBLISHED, eventOf, type KeyedEvent } from '#observe/events';
import { DEVICE_TEMPLATE_MISMATCHES } from '#observe/metrics';
import type { Deps } from '../deps.ts';

/** Time after which a driver that published no complete pool on a ready node counts as failed. */
export const PUBLISH_MS = 15 * 60_000;

interface Found {
  readonly kind: 'devices' | 'not_published';
  readonly declaration: KeyedEvent;
  readonly message: (forMinutes: number) => string;
  /** Reason for pods that wait for such devices. */
  readonly cause: string;
}

export class DevicePromises {
  readonly #deps: Deps;

  constructor(deps: Deps) {
    this.#deps = deps;
  }

  /** Reports a driver that published nothing in time. Returns the time until it counts as failed. */
  waiting(claim: NodeClaim, node: Node, driver: string): number {
    const readyMs = timeOf(getCondition(node, 'Ready')?.lastTransitionTime);
    const leftMs = Number.isNaN(readyMs) ? PUBLISH_MS : readyMs + PUBLISH_MS - this.#deps.clock.now();
    if (leftMs > 0) return leftMs;
    this.#report(claim, driver, {
      kind: 'not_published',
      declaration: DRA_DRIVER_POOLS_NOT_PUBLISHED,
      message: (minutes) => DRA_DRIVER_POOLS_NOT_PUBLISHED.message(driver, minutes),
      cause: `node ${node.metadata.name} published no complete pool`,
    });
    return PUBLISH_MS;
  }

  /** Compares the devices of an initialized node with the template. */
  published(claim: NodeClaim, driver: string, slices: readonly ResourceSlice[]): void {
    const { devices } = this.#deps;
    const place = placeOf(claim, driver);
    const template = place && devices?.promised(place.nodePool, place.type);
    if (place === undefined || template === undefined || !template.pools.some((pool) => pool.driver === driver)) return;
    const missing = missingDevices(template, driver, slices);
    if (missing === 0) devices?.suspensions.succeeded(place);
    else
      this.#report(claim, driver, {
        kind: 'devices',
        declaration: DEVICE_TEMPLATE_MISMATCH,
        message: (minutes) => DEVICE_TEMPLATE_MISMATCH.message(driver, missing, minutes),
        cause: `NodeClaim ${claim.metadata.name} did not publish ${missing} of the expected devices`,
      });
  }

  #report(claim: NodeClaim, driver: string, { kind, declaration, message, cause }: Found): void {
    const { cluster, devices, events, log, metrics } = this.#deps;
    const place = placeOf(claim, driver);
    const forMs = place && devices?.suspensions.suspend(place, claim.metadata.uid ?? '', cause);
    if (place === undefined || forMs === undefined) return;
    const text = message(forMs / 60_000);
    const pool = cluster.stores.nodePools.get({ name: place.nodePool });
    for (const object of pool === undefined ? [claim] : [claim, pool])
      events.publish(eventOf(declaration, object, { message: text, dedupe: [object.metadata.uid ?? '', text] }));
    metrics.counter(DEVICE_TEMPLATE_MISMATCHES).inc({ driver, kind });
    log.error('devices of new nodes are suspended', {
      NodeClaim: { name: claim.metadata.name },
      ...place,
      error: text,
    });
  }
}

function placeOf({ metadata: { labels = {} } }: NodeClaim, driver: string) {
  const { [NODEPOOL_LABEL]: nodePool, [INSTANCE_TYPE_LABEL]: type } = labels;
  return nodePool === undefined || type === undefined ? undefined : { nodePool, type, driver };
}
