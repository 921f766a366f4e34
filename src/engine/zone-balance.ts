/**
 * Distributes new nodes over zones. Zones are possible if a node costs there at most a share more than in the cheapest zone.
 * Of these, a node is launched in the zone with the fewest nodes of its NodePool. The price of a plan grows at most by the share.
 */
import { BALANCED_ZONE_ANNOTATION, INSTANCE_TYPE_LABEL, NODEPOOL_LABEL, ZONE_LABEL } from '#api/objects';
import { remembering } from '#lib';
import { surplusUsdPerHour } from './cpu-burst.ts';
import {
  allocatable,
  compareText,
  compatibleOfferings,
  isReserved,
  requirementsOf,
  satisfiesMinValues,
  weighedUsdPerHour,
} from './instance-types.ts';
import type { EngineNode, InstanceType, Offering, PlannedClaim, PlannedZone, PoolInput, Requirement } from './model.ts';
import { Requirements } from './requirements.ts';
import { amountIn, fits } from './resources.ts';
import { ValueSet } from './value-set.ts';

/** Relative rounding error of prices. */
const ROUNDING = 1e-9;

/** Number of nodes by zone. */
export type ZoneCounts = ReadonlyMap<string, number>;

const NO_COUNTS: ZoneCounts = new Map();

/** Returns the number of nodes by zone. Nodes without a zone are not launched yet. */
export function zoneCounts(nodes: Iterable<Pick<EngineNode, 'labels'>>): ZoneCounts {
  const counts = new Map<string, number>();
  for (const { labels } of nodes) {
    const zone = labels[ZONE_LABEL];
    if (zone !== undefined) add(counts, zone);
  }
  return counts;
}

const add = (counts: Map<string, number>, zone: string): void => void counts.set(zone, (counts.get(zone) ?? 0) + 1);

interface BalanceInput {
  readonly pools: readonly PoolInput[];
  readonly nodes: readonly EngineNode[];
  /** Nodes that a command removes. */
  readonly leaving?: readonly EngineNode[];
}

/** Numbers of the nodes that are not being deleted. Many simulations share the nodes. */
const stayingNodes = remembering((nodes: readonly EngineNode[]) => {
  const staying = nodes.filter(({ markedForDeletion }) => !markedForDeletion);
  const byPool = Map.groupBy(staying, ({ labels }) => labels[NODEPOOL_LABEL]);
  return {
    all: zoneCounts(staying),
    byPool: new Map([...byPool].map(([name, own]) => [name, zoneCounts(own)])),
  };
});

/** Returns the numbers without some nodes. */
function countsWithout(counts: ZoneCounts, nodes: readonly EngineNode[]): Map<string, number> {
  const left = new Map(counts);
  for (const { labels } of nodes) {
    const zone = labels[ZONE_LABEL];
    if (zone !== undefined) left.set(zone, (left.get(zone) ?? 0) - 1);
  }
  return left;
}

/** Returns the claims with a zone for each claim of a NodePool with balance that could be launched in several zones. */
export function balanceZones(
  claims: readonly PlannedClaim[],
  { pools, nodes, leaving = [] }: BalanceInput,
): readonly PlannedClaim[] {
  const balanced = new Map(
    pools.filter(({ zoneBalance = 0 }) => zoneBalance > 0).map((pool) => [pool.nodePool.metadata.name, pool]),
  );
  if (!claims.some(({ nodePool }) => balanced.has(nodePool))) return claims;
  const { all: staying, byPool } = stayingNodes(nodes);
  const removed = leaving.filter(({ markedForDeletion }) => !markedForDeletion);
  const counts = new Map<string, Map<string, number>>();
  const countsOf = (name: string): Map<string, number> => {
    const ofPool = removed.filter(({ labels }) => labels[NODEPOOL_LABEL] === name);
    const known = counts.get(name) ?? countsWithout(byPool.get(name) ?? NO_COUNTS, ofPool);
    counts.set(name, known);
    return known;
  };
  const choices = new ZoneChoices(balanced);
  const all = countsWithout(staying, removed);
  const count = ({ nodePool }: PlannedClaim, zone: string | undefined): void => {
    if (zone === undefined) return;
    add(countsOf(nodePool), zone);
    add(all, zone);
  };
  // claims with only one possible zone count first, because other claims can compensate for them
  const free = new Set(claims.filter((claim) => choices.of(claim).length > 1));
  for (const claim of claims) if (!free.has(claim)) count(claim, choices.of(claim)[0]?.zone ?? singleZone(claim));
  return claims.map((claim) => {
    if (!free.has(claim)) return claim;
    const chosen = emptiest(choices.of(claim), countsOf(claim.nodePool), all);
    count(claim, chosen.zone);
    return chosen.launch(claim);
  });
}

/** Returns the only zone that the requirements of a claim allow, if there is only one. */
export const singleZone = ({ requirements }: Pick<PlannedClaim, 'requirements'>): string | undefined => {
  const { operator, values: [zone, ...others] = [] } = requirements.find(({ key }) => key === ZONE_LABEL) ?? {};
  return operator === 'In' && others.length === 0 ? zone : undefined;
};

/** Returns the zone with the fewest nodes of the NodePool. For equal zones, returns the cheapest, then the emptiest. */
function emptiest(choices: readonly ZoneChoice[], own: ZoneCounts, all: ZoneCounts): ZoneChoice {
  const rank = ({ zone, usd }: ZoneChoice): readonly number[] => [own.get(zone) ?? 0, usd, all.get(zone) ?? 0];
  return choices.reduce((best, each) => (isLess(rank(each), rank(best)) ? each : best));
}

function isLess(one: readonly number[], other: readonly number[]): boolean {
  const at = one.findIndex((value, index) => value !== other[index]);
  return at >= 0 && (one[at] ?? 0) < (other[at] ?? 0);
}

interface Launchable {
  readonly type: InstanceType;
  readonly offering: Offering;
  readonly usd: number;
}

/** Launch of a claim in one zone. */
class ZoneChoice {
  readonly zone: string;
  /** Cheapest offering of each type in the zone, cheapest first. */
  readonly #types: readonly Launchable[];
  readonly #cheapest: { readonly zone: string; readonly usd: number };
  #requirements: readonly Requirement[] | undefined;

  constructor(zone: string, types: readonly Launchable[], cheapest: { readonly zone: string; readonly usd: number }) {
    this.zone = zone;
    this.#types = types;
    this.#cheapest = cheapest;
  }

  /** Price with spot risk and surplus CPU, in USD per hour. */
  get usd(): number {
    return usdOf(this.#types);
  }

  launch(claim: PlannedClaim): PlannedClaim {
    const { zone } = this;
    const [best] = this.#types;
    if (best === undefined) return claim;
    const addedUsdPerHour = this.usd - this.#cheapest.usd;
    const planned: PlannedZone = {
      name: zone,
      cheapest: addedUsdPerHour > 0 ? this.#cheapest.zone : zone,
      addedUsdPerHour,
    };
    // these fields belong to the previous type
    const { listUsdPerHour: _, spotRiskUsdPerHour: __, surplusUsdPerHour: ___, ...rest } = claim;
    const { usdPerHour, listUsdPerHour, spotRiskUsdPerHour } = best.offering;
    const surplusUsd = surplusUsdPerHour(best.type, amountIn(claim.requests, 'cpu'));
    return {
      ...rest,
      instanceTypes: this.#types.map(({ type }) => type.name),
      requirements: this.#narrowed(claim),
      annotations: { ...claim.annotations, [BALANCED_ZONE_ANNOTATION]: choiceText(planned) },
      cheapest: best.type.name,
      usdPerHour,
      ...(listUsdPerHour !== undefined && { listUsdPerHour }),
      ...(spotRiskUsdPerHour !== undefined && { spotRiskUsdPerHour }),
      ...(surplusUsd > 0 && { surplusUsdPerHour: surplusUsd }),
      zone: planned,
    };
  }

  #narrowed({ requirements }: PlannedClaim): readonly Requirement[] {
    const names = this.#types.map(({ type }) => type.name);
    this.#requirements ??= Requirements.fromRequirements(requirements)
      .and(ZONE_LABEL, ValueSet.in([this.zone]))
      .and(INSTANCE_TYPE_LABEL, ValueSet.in(names))
      .toApi();
    return this.#requirements;
  }
}

const usdOf = ([best]: readonly Launchable[]): number => best?.usd ?? Number.POSITIVE_INFINITY;

/** Cheapest offering of each type by zone, without surplus CPU. Undefined if reservations decide about the zone. */
type Offers = ReadonlyMap<string, readonly Launchable[]> | undefined;

/** Number of offers that are kept for a list of types. */
const MOST_OFFERS = 1_000;

/** Offers by requirements and types of a claim, for each list of types. The simulations of a pass share a list. */
const knownOffers = remembering((_types: readonly InstanceType[]) => new Map<string, Offers>());

/** Zones of claims. Claims share the offers of their requirements and types. */
class ZoneChoices {
  readonly #pools: ReadonlyMap<string, PoolInput>;
  readonly #choices = new Map<readonly Requirement[], readonly ZoneChoice[]>();

  constructor(pools: ReadonlyMap<string, PoolInput>) {
    this.#pools = pools;
  }

  /** Returns the zones within the share, or at most one element if the zone of the claim does not depend on balance. */
  of(claim: PlannedClaim): readonly ZoneChoice[] {
    const pool = this.#pools.get(claim.nodePool);
    if (pool === undefined || singleZone(claim) !== undefined) return [];
    const known = this.#choices.get(claim.requirements);
    if (known !== undefined) return known;
    const { dependsOnRequests } = traitsOf(pool.instanceTypes);
    const found = choicesAmong(claim, this.#offersFor(claim, pool), pool.zoneBalance ?? 0);
    if (!dependsOnRequests) this.#choices.set(claim.requirements, found);
    return found;
  }

  #offersFor(claim: PlannedClaim, { instanceTypes }: PoolInput): Offers {
    const { keys, isOverridden } = traitsOf(instanceTypes);
    const compute = (): Offers => {
      const names = new Set(claim.instanceTypes);
      return offersFor(
        claim,
        instanceTypes.filter(({ name }) => names.has(name)),
      );
    };
    if (isOverridden) return compute();
    const decisive = claim.requirements.filter(({ key }) => keys.has(key));
    const shape = JSON.stringify([decisive, claim.instanceTypes]);
    const offers = knownOffers(instanceTypes);
    if (offers.size >= MOST_OFFERS) offers.clear();
    if (!offers.has(shape)) offers.set(shape, compute());
    return offers.get(shape);
  }
}

/** Traits of the types of a NodePool. */
const traitsOf = remembering((types: readonly InstanceType[]) => {
  const offerings = types.flatMap((type) => type.offerings);
  const isOverridden = offerings.some(isOverriddenOffering);
  return {
    /** Labels that differ between offerings. */
    keys: new Set(offerings.flatMap(({ requirements }) => requirements.map(({ key }) => key))),
    isOverridden,
    dependsOnRequests: isOverridden || types.some(({ cpuBurst }) => cpuBurst !== undefined),
  };
});

const isOverriddenOffering = ({ capacityOverride, overheadOverride }: Offering): boolean =>
  capacityOverride !== undefined || overheadOverride !== undefined;

function offersFor(claim: PlannedClaim, types: readonly InstanceType[]): Offers {
  const requirements = Requirements.fromRequirements(claim.requirements);
  const byZone = new Map<string, Launchable[]>();
  for (const type of types) {
    const own = new Map<string, Launchable>();
    for (const offering of compatibleOfferings(type, requirements)) {
      if (isReserved(offering)) return undefined;
      if (isOverriddenOffering(offering) && !fits(claim.requests, allocatable(type, offering))) continue;
      const zone = requirementsOf(offering).get(ZONE_LABEL).any();
      const usd = weighedUsdPerHour(offering);
      if (usd < (own.get(zone)?.usd ?? Number.POSITIVE_INFINITY)) own.set(zone, { type, offering, usd });
    }
    for (const [zone, offer] of own) {
      const there = byZone.get(zone) ?? [];
      there.push(offer);
      byZone.set(zone, there);
    }
  }
  return byZone;
}

/** Adds surplus CPU, which depend on the requests of the claim, and returns the zones within the share. */
function choicesAmong(claim: PlannedClaim, offers: Offers, share: number): readonly ZoneChoice[] {
  if (offers === undefined) return [];
  const requirements = Requirements.fromRequirements(claim.requirements);
  // a minimum number of zones decides about the zone
  if (requirements.get(ZONE_LABEL).minValues !== undefined) return [];
  const cpu = amountIn(claim.requests, 'cpu');
  const withSurplus = ({ type, offering, usd }: Launchable): Launchable => ({
    type,
    offering,
    usd: usd + surplusUsdPerHour(type, cpu),
  });
  const zones = [...offers]
    .map(([zone, found]) => ({ zone, types: found.map(withSurplus).sort(cheaperFirst) }))
    .filter((each) => hasMinValues(each.types, requirements))
    .sort((a, b) => usdOf(a.types) - usdOf(b.types) || compareText(a.zone, b.zone));
  const [first] = zones;
  if (first === undefined) return [];
  const cheapest = { zone: first.zone, usd: usdOf(first.types) };
  const most = cheapest.usd * (1 + share) * (1 + ROUNDING);
  return zones
    .filter((each) => usdOf(each.types) <= most)
    .map((each) => new ZoneChoice(each.zone, each.types, cheapest));
}

const cheaperFirst = (a: Launchable, b: Launchable): number => a.usd - b.usd || compareText(a.type.name, b.type.name);

const hasMinValues = (found: readonly Launchable[], requirements: Requirements): boolean =>
  satisfiesMinValues(
    found.map(({ type }) => type),
    requirements,
  ).unsatisfied.length === 0;

/** Returns the reason for the zone of a claim. */
const choiceText = ({ cheapest, addedUsdPerHour }: PlannedZone): string =>
  addedUsdPerHour > 0 ? `${cheapest} costs $${addedUsdPerHour.toFixed(4)} less per hour` : 'no zone costs less';

/**
 * Returns the number of claims by zone, and the extra price, for example
 * "us-west-2a 4, us-west-2b 3, us-west-2c 3; the cheapest zones alone would be us-west-2b 10, for $0.0110 less per hour".
 * Returns undefined if balance chose no zone.
 */
export function zonesText(claims: readonly Pick<PlannedClaim, 'zone'>[]): string | undefined {
  const zones = claims.flatMap(({ zone }) => zone ?? []);
  if (zones.length === 0) return undefined;
  const chosen = listText(zones.map(({ name }) => name));
  const addedUsd = zones.reduce((sum, { addedUsdPerHour }) => sum + addedUsdPerHour, 0);
  if (addedUsd <= 0) return chosen;
  const cheapest = listText(zones.map((zone) => zone.cheapest));
  return `${chosen}; the cheapest zones alone would be ${cheapest}, for $${addedUsd.toFixed(4)} less per hour`;
}

const listText = (names: readonly string[]): string =>
  [...Map.groupBy(names, (name) => name)]
    .sort(([a], [b]) => compareText(a, b))
    .map(([name, { length }]) => `${name} ${length}`)
    .join(', ');

/** Returns true if a move makes the numbers of nodes by zone less even. */
export function worsensBalance(
  counts: ZoneCounts = NO_COUNTS,
  { leaving, arriving }: { readonly leaving: readonly string[]; readonly arriving: readonly string[] },
): boolean {
  const after = new Map(counts);
  for (const zone of leaving) after.set(zone, (after.get(zone) ?? 0) - 1);
  for (const zone of arriving) add(after, zone);
  const zones = [...after.keys()];
  return unevenness(zones, after) > unevenness(zones, counts) + ROUNDING;
}

/** Returns the variance of the numbers of nodes. */
function unevenness(zones: readonly string[], counts: ZoneCounts): number {
  const numbers = zones.map((zone) => counts.get(zone) ?? 0);
  const mean = numbers.reduce((sum, number) => sum + number, 0) / numbers.length;
  return numbers.reduce((sum, number) => sum + (number - mean) ** 2, 0);
}
