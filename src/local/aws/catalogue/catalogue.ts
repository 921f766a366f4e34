/** Default catalogue of the local AWS: every size of every family in the given zones. */
import type { Catalogue, Zone } from '../options.ts';
import { chance } from '../random.ts';
import { FAMILIES } from './families.ts';
import { instanceTypeInfo } from './info.ts';
import { apiName, onDemandUsdOf } from './sizes.ts';

/** Minimum interval between changes of a spot price. */
export const SPOT_STEP_MS = 6 * 3_600_000;

/** Share of pools without a spot market. */
const NO_MARKET = 0.02;

/** Families that local zones offer. */
const LOCAL_ZONE_FAMILIES: ReadonlySet<string> = new Set(['c5', 'm5', 'r5', 't3', 'g4dn']);

export function ruleBuiltCatalogue(zones: readonly Zone[], seed: number): Catalogue {
  const onDemand = new Map<string, number>();
  const offered = new Map<string, readonly string[]>();
  // local zones have no spot capacity
  const localZones = new Set(zones.flatMap(({ name, parent }) => (parent === undefined ? [] : [name])));
  const types = FAMILIES.flatMap((family) => {
    const names = zones
      .filter(({ parent }, index) =>
        parent ? LOCAL_ZONE_FAMILIES.has(family.name) : !family.absentFrom?.includes(index),
      )
      .map((zone) => zone.name);
    return family.sizes.map((size) => {
      const name = apiName(family, size);
      onDemand.set(name, onDemandUsdOf(family, size));
      offered.set(name, names);
      return instanceTypeInfo(family, size);
    });
  });
  return {
    types,
    zonesOf: (type) => offered.get(type) ?? [],
    onDemandUsd: (type) => onDemand.get(type),
    spotUsd: (type, zone, atMs) => {
      const usd = onDemand.get(type);
      if (usd === undefined || !offered.get(type)?.includes(zone) || localZones.has(zone)) return undefined;
      if (chance(seed, 'market', type, zone) < NO_MARKET) return undefined;
      return spotUsd(usd, type, zone, atMs, seed);
    },
  };
}

/** Returns 30 to 45 % of the on-demand price by type, varied by up to 20 % by zone and 5 % by time of day. */
function spotUsd(usd: number, type: string, zone: string, atMs: number, seed: number): number {
  const share = 0.3 + 0.15 * chance(seed, 'share', type);
  const byZone = 0.8 + 0.4 * chance(seed, 'zone', type, zone);
  const byTime = 0.95 + 0.1 * chance(seed, 'time', type, zone, Math.floor(atMs / SPOT_STEP_MS));
  return Number((usd * share * byZone * byTime).toFixed(6));
}
