/**
 * Reports unavailable offerings of NodePools as events, and logs an error if a NodePool has no available offering.
 * Causes are recorded shortages, missing prices and zonal shifts, not the requirements of the NodePool.
 */
import { NODE_POOL } from '#api/objects';
import type { Informers } from '#kube/client';
import { after, type EventRecorder, type Singleton } from '#kube/reconcilers';
import { eventOf, type KeyedEvent, OFFERINGS_AVAILABLE, OFFERINGS_SHORT, OFFERINGS_UNAVAILABLE } from '#observe/events';
import type { Logger } from '#observe/logger';
import type { ObstacleCode } from './offerings.ts';
import type { OutOffering, PoolOfferings } from './report.ts';

const PERIOD_MS = 10_000;

const WORDS: Readonly<Record<ObstacleCode, string>> = {
  'not-offered': 'not sold in the zone',
  'no-subnet': 'without a subnet',
  incompatible: 'incompatible with the NodeClass',
  'zonal-shift': 'in a zone with a zonal shift',
  'insufficient-capacity': 'out of capacity',
  'capacity-type-refused': 'of a capacity type that EC2 rejects',
  'subnets-full': 'in subnets without free addresses',
  'no-spot-price': 'without a spot price',
  'no-on-demand-price': 'without an on-demand price',
  'reservation-used-up': 'in a fully used capacity reservation',
  'reservation-expiring': 'in a capacity reservation that ends soon',
};

/** Temporary obstacles. A missing price may be permanent, and is reported only if no offering is available. */
const SHORTAGES: ReadonlySet<ObstacleCode> = new Set([
  'zonal-shift',
  'insufficient-capacity',
  'capacity-type-refused',
  'subnets-full',
]);
const LISTED_TYPES = 3;

/** Returns ` of c5.large, m5.large`, or an empty text if there are too many types. */
function typesText(group: readonly OutOffering[]): string {
  const names = [...new Set(group.map(({ instanceType }) => instanceType))].sort();
  return names.length > LISTED_TYPES ? '' : ` of ${names.join(', ')}`;
}

/**
 * Example: `3 of m5.large out of capacity until 2026-06-03T10:30:00Z (InsufficientInstanceCapacity), 9 without a spot
 * price`.
 */
export function outText(out: readonly OutOffering[]): string {
  const groups = Map.groupBy(out, ({ code, reason }) => JSON.stringify([code, reason]));
  return [...groups.values()]
    .sort((a, b) => b.length - a.length)
    .map((group) => {
      const [first] = group;
      if (first === undefined) return '';
      const [until] = group.flatMap((each) => each.until ?? []).sort();
      return [
        `${group.length}${typesText(group)} ${WORDS[first.code]}`,
        ...(until === undefined ? [] : [`until ${until.replace(/\.\d+Z$/, 'Z')}`]),
        ...(first.reason === undefined ? [] : [`(${first.reason})`]),
      ].join(' ');
    })
    .join(', ');
}

/** Returns the reason why no node can be launched for the NodePool, or undefined if nodes can be launched. */
function hopelessness({ available, out, minValuesMissed = [] }: PoolOfferings): string | undefined {
  if (out.length === 0) return undefined;
  if (available === 0) return 'No offering that this NodePool allows is available now';
  if (minValuesMissed.length === 0) return undefined;
  return `The ${available} available offerings do not satisfy minValues of ${minValuesMissed.join(', ')} of this NodePool`;
}

interface OfferingsWatchOptions {
  readonly informers: Informers;
  readonly events: EventRecorder;
  readonly report: () => Promise<readonly PoolOfferings[]>;
  /** Changes if an offering may have changed. */
  readonly version: () => string;
}

export function offeringsWatch({ informers, events, report, version }: OfferingsWatchOptions): Singleton {
  let seen = '';
  const out = new Set<string>();

  function publish(nodePool: string, event: KeyedEvent, message: string): void {
    const object = informers.store(NODE_POOL).get({ name: nodePool });
    if (object !== undefined)
      events.publish(eventOf(event, object, { message, dedupe: [object.metadata.uid ?? nodePool] }));
  }

  function compare(pool: PoolOfferings, log: Logger): void {
    const { nodePool: name, available } = pool;
    const hopeless = hopelessness(pool);
    const offerings = outText(pool.out);
    if (hopeless !== undefined) {
      publish(name, OFFERINGS_UNAVAILABLE, OFFERINGS_UNAVAILABLE.message(hopeless, offerings));
      if (!out.has(name)) log.error('no offering is available for the nodepool', { NodePool: { name }, offerings });
      out.add(name);
      return;
    }
    if (out.delete(name) && available > 0) publish(name, OFFERINGS_AVAILABLE, OFFERINGS_AVAILABLE.message(available));
    const short = pool.out.filter(({ code }) => SHORTAGES.has(code));
    if (short.length === 0) return;
    publish(name, OFFERINGS_SHORT, OFFERINGS_SHORT.message(available, available + pool.out.length, outText(short)));
  }

  return {
    name: 'offerings.watch',
    singleton: true,
    async reconcile({ log }) {
      const pools = informers.store(NODE_POOL).list();
      const generations = pools.map(({ metadata }) => `${metadata.uid}/${metadata.generation}`).sort();
      const now = `${version()} ${generations.join()}`;
      // If nothing has changed, NodePools with available offerings need no check. A NodePool without them may have
      // some now.
      if (now === seen && out.size === 0) return after(PERIOD_MS);
      seen = now;
      for (const pool of await report()) compare(pool, log);
      const known = new Set(pools.map(({ metadata }) => metadata.name));
      for (const name of out) if (!known.has(name)) out.delete(name);
      return after(PERIOD_MS);
    },
  };
}
