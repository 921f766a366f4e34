/** Measures the running time of instances in each spot pool every minute, and refreshes the decaying history. */
import {
  CAPACITY_TYPE_LABEL,
  INSTANCE_TYPE_LABEL,
  labelOf,
  NODE_CLAIM,
  type NodeClaim,
  ZONE_LABEL,
} from '#api/objects';
import type { Informers } from '#kube/client';
import { after, type Singleton } from '#kube/reconcilers';
import { monotonicMs, type Timepiece } from '#lib/clock';
import { poolKey, type SpotPool } from './spot-pools.ts';
import type { SpotRisk } from './spot-risk.ts';

const PERIOD_MS = 60_000;
/** Limit of the measured time. If the period was longer, the instances that ran in the meantime are unknown. */
const LONGEST_MS = 5 * 60_000;
const HOUR_MS = 3_600_000;

/** Returns the spot pool of a NodeClaim with an instance, or undefined if it has no spot instance. */
export function spotPoolOf(claim: NodeClaim): SpotPool | undefined {
  if (labelOf(claim, CAPACITY_TYPE_LABEL) !== 'spot' || !claim.status?.providerID) return undefined;
  const [instanceType, zone] = [labelOf(claim, INSTANCE_TYPE_LABEL), labelOf(claim, ZONE_LABEL)];
  return instanceType === '' || zone === '' ? undefined : { instanceType, zone };
}

export function spotRiskWatch(risk: SpotRisk, informers: Informers, clock: Timepiece): Singleton {
  let lastMs = monotonicMs(clock);
  return {
    name: 'spotrisk',
    singleton: true,
    async reconcile() {
      const nowMs = monotonicMs(clock);
      const hours = Math.min(LONGEST_MS, nowMs - lastMs) / HOUR_MS;
      lastMs = nowMs;
      const running = new Map<string, { readonly pool: SpotPool; count: number }>();
      for (const claim of informers.store(NODE_CLAIM).list()) {
        const pool = spotPoolOf(claim);
        if (pool === undefined) continue;
        const known = running.get(poolKey(pool)) ?? { pool, count: 0 };
        known.count++;
        running.set(poolKey(pool), known);
      }
      for (const { pool, count } of running.values()) risk.ran(pool, count * hours);
      risk.refresh();
      return after(PERIOD_MS);
    },
  };
}
