/**
 * Finds cheaper nodes for the pods of claims. Each pod stays in its NodePool, in its current form, and in the topology domains
 * that count it. Only the grouping of pods on nodes changes. The claims of a NodePool are replaced if the new claims are
 * strictly cheaper, by more than the acceptable cost of fewer nodes, and every rule still holds.
 */

import { DEFAULT_NODE_HOURLY_FEE } from '#api/values';
import type { EnginePod } from '../input.ts';
import type { UnpackedPool } from '../model.ts';
import { podKey } from '../pods.ts';
import { indifferenceOf, isBetter, type Purchase, savesNodes } from '../purchase.ts';
import { Claim, ClaimState, withPod } from '../solver/claim.ts';
import type { Amounts } from '../solver/dimensions.ts';
import type { PoolLimits } from '../solver/limits.ts';
import type { Shape } from '../solver/shape.ts';
import type { Template } from '../solver/template.ts';
import type { DomainCounts, Topology } from '../topology/topology.ts';
import { Formulation, type PackingPart, type PackingTerms, type PlacedPod } from './formulation.ts';
import { type Bin, costOf } from './problem.ts';
import { bestPacking, DEFAULT_WORK, type Packing, type SearchOptions } from './search.ts';
import { limitPricesOf } from './template-rows.ts';

export interface RepackParts {
  readonly topology: Topology;
  /** All pods of the solve, in the order of placement. */
  readonly order: readonly { readonly pod: EnginePod }[];
  readonly noAmounts: Amounts;
  /** Work limit of the search for each NodePool. Default: a limit that depends on the number of pods. */
  readonly work?: number | undefined;
  /** Part of the default work that this attempt may use. Default: 1. */
  readonly workShare?: number;
  /** Maximum useful cost of the plan, in USD per hour. */
  readonly usdLimit?: number | undefined;
  /** Additional claims under the same limits. */
  readonly besides?: readonly Claim[];
  /** Returns the prices of a shape's types, in USD per hour. Default: the prices of their offerings. */
  readonly pricesOf?: (shape: Shape) => Float64Array;
  /**
   * True if a NodePool may need several searches. If nodes have no fee, a search with the default fee can find cheaper nodes,
   * because no search finds the best packing in all cases. If a packing exceeds limits, further searches find a smaller one.
   */
  readonly isThorough?: boolean;
  /** Returns true if new claims of a NodePool are expected to cost more than its present claims. Default: never. */
  readonly costMore?: ((fresh: readonly Claim[], present: readonly Claim[]) => boolean) | undefined;
  /** Returns true if the time of the solve is over. */
  readonly isLate: () => boolean;
  /** Receives the NodePools whose claims stay because the time or the work limit was reached. */
  readonly onUnpacked: (pool: UnpackedPool) => void;
}

export function repacked(claims: readonly Claim[], parts: RepackParts): readonly Claim[] {
  const movable = claims.filter((claim) => isMovable(claim, parts.topology));
  const byTemplate = Map.groupBy(movable, ({ state }) => state.template);
  const replaced = new Set<Claim>();
  const fresh: Claim[] = [];
  const limit = parts.work ?? workFor(podsOf(movable)) * (parts.workShare ?? 1);
  const work = (SEVERAL_POOLS * limit) / podsOf(movable);
  for (const [template, old] of byTemplate) {
    if (parts.isLate()) {
      parts.onUnpacked(unpacked(template, parts));
      continue;
    }
    const others = [...claims.filter((claim) => !old.includes(claim)), ...(parts.besides ?? [])];
    const fixed = others.filter(({ state }) => state.template === template);
    const better = betterFor(
      template,
      { old, fixed },
      { ...parts, work: Math.min(limit, work * podsOf(old)) },
      claims.length + fresh.length + (parts.besides?.length ?? 0),
    );
    if (better === undefined) continue;
    for (const claim of old) replaced.add(claim);
    fresh.push(...better);
  }
  if (replaced.size === 0) return claims;
  return inOrder([...claims.filter((claim) => !replaced.has(claim)), ...fresh], parts.order);
}

/** Work limit of small solves. A larger limit makes small solves slower, but their plans hardly cheaper. */
const LEAST_WORK = 1_000_000;
const WORK_PER_POD = 10_000;
/** From 3,000 pods on, the default is not enough for several constructions. */
const WORK_PER_POD_OF_MANY = 1_000;
const MOST_WORK = 5_000_000;

function workFor(pods: number): number {
  const usual = Math.min(DEFAULT_WORK, Math.max(LEAST_WORK, pods * WORK_PER_POD));
  return Math.max(usual, Math.min(MOST_WORK, pods * WORK_PER_POD_OF_MANY));
}

/**
 * Total work of the NodePools relative to the work of one NodePool. Several NodePools share this total in proportion to their
 * pods, so that the time of a solve does not grow with the number of NodePools.
 */
const SEVERAL_POOLS = 2;

const podsOf = (claims: readonly Claim[]): number => claims.reduce((sum, { pods }) => sum + pods.length, 0);

/** Sorts claims in the order of their first pods. */
function inOrder(claims: readonly Claim[], order: RepackParts['order']): readonly Claim[] {
  const positions = new Map(order.map(({ pod }, position) => [podKey(pod), position]));
  const first = ({ pods: [pod] }: Claim): number => (pod && positions.get(podKey(pod))) ?? 0;
  return claims.toSorted((a, b) => first(a) - first(b));
}

/**
 * Returns true if a claim may be repacked. Claims stay unchanged if their pods must share a host, if they have lower `minValues`
 * than their NodePool, or if they compete for capacity reservations.
 */
const isMovable = (claim: Claim, topology: Topology): boolean =>
  !claim.minValuesLowered &&
  // the search does not allocate devices
  claim.state.devices === undefined &&
  !claim.state.template.catalogue.hasReservations &&
  !claim.classes.some((podClass) => topology.tiesOf(podClass).company);

interface Claims {
  readonly old: readonly Claim[];
  /** Claims of the template that stay. */
  readonly fixed: readonly Claim[];
}

/** Returns cheaper claims, or undefined if the present claims stay. */
function betterFor(
  template: Template,
  claims: Claims,
  parts: RepackParts,
  firstIndex: number,
): readonly Claim[] | undefined {
  const { extrasUsdPerHour: own, claimExtras } = template;
  const withDefaultFee = DEFAULT_NODE_HOURLY_FEE + (claimExtras.chargesUsdPerHour ?? 0);
  const allExtras = own === 0 && parts.isThorough ? [own, withDefaultFee] : [own];
  const results = allExtras.map((extras) => betterWithExtras(extras, { template, claims, parts, firstIndex }));
  const found = results.filter((result) => result !== undefined && result !== 'unpacked');
  if (found.length === 0 && results.includes('unpacked')) parts.onUnpacked(unpacked(template, parts));
  const purchase = (some: readonly Claim[]): Purchase => purchaseOf(some, parts, own);
  // with another fee, fewer nodes can be better although they cost more
  return found
    .filter((fresh) => isBetter(purchase(fresh), purchase(claims.old), indifferenceOf(own)))
    .toSorted((a, b) => purchase(a).usdPerHour - purchase(b).usdPerHour)[0];
}

interface RepackRequest {
  readonly template: Template;
  readonly claims: Claims;
  readonly parts: RepackParts;
  readonly firstIndex: number;
}

/** @param extras costs of a node besides its instance, in USD per hour */
function betterWithExtras(
  extras: number,
  { template, claims: { old, fixed }, parts, firstIndex }: RepackRequest,
): readonly Claim[] | 'unpacked' | undefined {
  const before = domainCountsOf(old, parts.topology);
  const indifference = indifferenceOf(extras);
  const formulation = Formulation.of({ ...template, extrasUsdPerHour: extras }, old, parts);
  if (formulation === undefined) return undefined;
  if (formulation === 'late') return 'unpacked';
  const present = formulation.binsOf(old, (claim) => purchaseOf([claim], parts, extras).usdPerHour);
  const newBuilder = (): Builder => new Builder(template, formulation, parts, firstIndex);
  for (const apart of [false, true]) {
    const packed = packedClaims(template, {
      isThorough: parts.isThorough === true,
      problems: (terms) => formulation.parts({ apart, ...terms }),
      pack: (problems, { limitPrices }) =>
        packedParts(problems, { ...parts, indifference, present: withLimitPrices(present, limitPrices) }),
      build: (packing) => builtWithinLimits(newBuilder, packing, { template, fixed }),
      limitPrices: (usdPerLimit) => limitPricesOf(template, limitsBesides(template, fixed), usdPerLimit),
    });
    if (packed === undefined) return 'unpacked';
    const { fresh, next, saving } = packed;
    const was = purchaseOf(old, parts, extras);
    const areBetter = (plan: readonly Claim[]): boolean => {
      const would = purchaseOf(plan, parts, extras);
      return isBetter(would, was, indifference) && !(saving !== undefined && savesNodes(was, would, saving));
    };
    const countAlike = (plan: readonly Claim[]): boolean => countsAlike(before, domainCountsOf(plan, parts.topology));
    if (fresh === undefined || !areBetter(fresh)) return undefined;
    if (!countAlike(fresh)) continue;
    if (parts.costMore?.(fresh, old) !== true) return fresh;
    const other = next();
    return other && areBetter(other) && countAlike(other) && !parts.costMore(other, old) ? other : undefined;
  }
  return undefined;
}

/** Prices of a limit that are tried, each relative to the price of the packing that exceeds the limits. */
const LIMIT_PRICES = [0.25, 1, 4, 16];

interface PackingSteps {
  readonly isThorough: boolean;
  readonly problems: (terms: PackingTerms) => readonly PackingPart[] | undefined;
  readonly pack: (problems: readonly PackingPart[], terms: PackingTerms) => Packing | undefined;
  readonly build: (packing: Packing) => Pick<PackedClaims, 'fresh' | 'next'>;
  /** Returns an additional price of each row if the use of a whole limit has a price. */
  readonly limitPrices: (usdPerLimit: number) => Float64Array;
}

interface PackedClaims {
  readonly fresh: readonly Claim[] | undefined;
  /** Returns the second-best plan, if it is possible. */
  readonly next: () => readonly Claim[] | undefined;
  readonly saving: Packing['saving'];
}

/**
 * Returns the claims of a packing, or undefined if there is no packing. Its claims are undefined if they are not possible. Full
 * nodes can leave too few instance types for `minValues`. In that case, types that leave too few are not used. If the claims
 * exceed the limits of the NodePool, packs again with prices for the use of the limits.
 */
function packedClaims(
  { root, limits }: Template,
  { isThorough, problems, pack, build, limitPrices }: PackingSteps,
): PackedClaims | undefined {
  const packed = (terms: PackingTerms) => {
    const parts = problems(terms);
    const packing = parts && pack(parts, terms);
    return packing && { ...build(packing), saving: packing.saving, bins: packing.bins };
  };
  const first = packed({ everFull: false });
  if (first === undefined || first.fresh !== undefined) return first;
  const full = root.hasMinValues ? packed({ everFull: true }) : undefined;
  if (full?.fresh !== undefined || limits.isUnlimited || !isThorough) return full ?? first;
  const shares = limitPrices(1);
  const used = first.bins.reduce((sum, { copies, row }) => sum + copies * (shares[row] ?? 0), 0);
  // The nodes use a smaller part of each limit, and another rule does not allow them.
  if (used <= 1) return full ?? first;
  for (const factor of LIMIT_PRICES) {
    const terms = { everFull: root.hasMinValues, limitPrices: limitPrices(factor * costOf(first.bins)) };
    const found = packed(terms);
    // the prices of limits are not part of the costs of nodes, so the saving is that of the first packing
    if (found?.fresh !== undefined) return { ...found, saving: first.saving };
  }
  return first;
}

const withLimitPrices = (bins: readonly Bin[], limitPrices: Float64Array | undefined): readonly Bin[] =>
  limitPrices === undefined ? bins : bins.map((bin) => ({ ...bin, price: bin.price + (limitPrices[bin.row] ?? 0) }));

/** Returns the limits for new claims besides some claims that stay. */
function limitsBesides(template: Template, fixed: readonly Claim[]): PoolLimits {
  const limits = template.freshLimits();
  for (const { state } of fixed) limits.spend(state.choice);
  return limits;
}

/** Returns the claims of the best plan, or of the second-best plan if only that plan is possible within the limits. */
function builtWithinLimits(
  newBuilder: () => Builder,
  { bins: best, other }: Packing,
  { template, fixed }: { readonly template: Template; readonly fixed: readonly Claim[] },
): Pick<PackedClaims, 'fresh' | 'next'> {
  const built = (bins: readonly Bin[], alternatives: Alternatives): readonly Claim[] | undefined =>
    newBuilder().build({ bins, fixed, alternatives });
  const { isUnlimited } = template.limits;
  const next = (): readonly Claim[] | undefined =>
    other === best ? undefined : built(other, isUnlimited ? 'all' : 'no larger');
  const fresh = built(best, 'all') ?? (isUnlimited ? undefined : built(best, 'no larger'));
  return fresh !== undefined || isUnlimited ? { fresh, next } : { fresh: next(), next: () => undefined };
}

const unpacked = ({ name: nodePool }: Template, { isLate }: RepackParts): UnpackedPool =>
  isLate()
    ? { nodePool, reason: 'time', text: 'the solve reached its deadline' }
    : { nodePool, reason: 'work', text: 'the search reached its work limit before it found a plan for all pods' };

/** Packs each part of a problem. Returns undefined if a part cannot be packed within the limits. */
function packedParts(
  parts: readonly PackingPart[],
  { present, work = DEFAULT_WORK, ...options }: SearchOptions,
): Packing | undefined {
  const [only] = parts;
  if (only !== undefined && parts.length === 1) return bestPacking(only.problem, { ...options, work, present });
  const kinds = parts.reduce((sum, part) => sum + part.kinds.length, 0);
  const bins: Bin[] = [];
  const others: Bin[] = [];
  const withKinds = (bin: Bin, part: PackingPart): Bin => ({
    ...bin,
    counts: scattered(bin.counts, part.kinds, kinds),
  });
  let usdPerNode = 0;
  let mostUsdPerHour = 0;
  for (const part of parts) {
    const packing = bestPacking(part.problem, { ...options, work: work / parts.length });
    if (packing === undefined) return undefined;
    for (const bin of packing.bins) bins.push(withKinds(bin, part));
    for (const bin of packing.other) others.push(withKinds(bin, part));
    usdPerNode = Math.max(usdPerNode, packing.saving?.usdPerNode ?? 0);
    mostUsdPerHour += packing.saving?.mostUsdPerHour ?? costOf(packing.bins);
  }
  return { bins, other: others, saving: options.indifference === 0 ? undefined : { usdPerNode, mostUsdPerHour } };
}

/** Returns the counts of a part by the kinds of the whole problem. */
function scattered(counts: Int32Array, kinds: readonly number[], size: number): Int32Array {
  const whole = new Int32Array(size);
  for (const [at, kind] of kinds.entries()) whole[kind] = counts[at] ?? 0;
  return whole;
}

/** @param extras costs of a node besides its instance, in USD per hour */
const purchaseOf = (claims: readonly Claim[], { pricesOf }: RepackParts, extras: number): Purchase => ({
  usdPerHour: claims.reduce(
    (sum, claim) =>
      sum + (pricesOf ? claim.state.cheapestAt(pricesOf(claim.state.shape)).usdPerHour : claim.usdPerHour) + extras,
    0,
  ),
  nodes: claims.length,
  instanceTypes: new Set(claims.map(({ state }) => state.cheapest.type)).size,
});

/**
 * Types that a claim may have besides the intended row. Limits count each claim with its largest type, so larger types reduce
 * the possible number of claims.
 */
type Alternatives = 'all' | 'no larger';

interface BuildRequest {
  readonly bins: readonly Bin[];
  /** Claims of the template that stay. */
  readonly fixed: readonly Claim[];
  readonly alternatives: Alternatives;
}

/** Converts bins to claims. */
class Builder {
  readonly #template: Template;
  readonly #parts: RepackParts;
  #index: number;
  /** Pods that are not packed yet, per kind. */
  readonly #waiting: readonly PlacedPod[][];

  constructor(template: Template, formulation: Formulation, parts: RepackParts, firstIndex: number) {
    this.#template = template;
    this.#parts = parts;
    this.#index = firstIndex;
    const positions = new Map(parts.order.map(({ pod }, position) => [pod, position]));
    const positionOf = ({ pod }: PlacedPod): number => positions.get(pod) ?? 0;
    this.#waiting = formulation.members.map((members) => members.toSorted((a, b) => positionOf(b) - positionOf(a)));
  }

  /** Returns undefined if a node is not possible in this way, because of limits or `minValues`. */
  build({ bins, fixed, alternatives }: BuildRequest): readonly Claim[] | undefined {
    const template = this.#template;
    const limits = limitsBesides(template, fixed);
    const claims: Claim[] = [];
    for (const bin of bins) {
      for (let copy = 0; copy < bin.copies; copy++) {
        const { allowed } = limits;
        if ('code' in allowed) return undefined;
        const rows = alternatives === 'all' ? allowed : limits.noLarger(allowed, bin.row);
        const start = ClaimState.empty(template, rows, this.#parts.noAmounts);
        const claim = this.#claim(start, bin);
        if (claim === undefined) return undefined;
        limits.spend(claim.state.choice);
        claims.push(claim);
      }
    }
    return claims;
  }

  #claim(start: ClaimState, bin: Bin): Claim | undefined {
    const members = [...bin.counts].flatMap((count, kind) => this.#take(kind, count));
    const claim = new Claim(this.#index++, start, false);
    for (const { pod, podClass, requirements } of members) {
      const shape = claim.state.shape.narrow(requirements);
      if ('code' in shape) return undefined;
      const state = withPod(claim.state, podClass, shape, false);
      if (!(state instanceof ClaimState)) return undefined;
      claim.add(pod, podClass, state);
    }
    return claim;
  }

  #take(kind: number, count: number): readonly PlacedPod[] {
    const waiting = this.#waiting[kind] ?? [];
    return waiting.splice(waiting.length - count, count).reverse();
  }
}

function domainCountsOf(claims: readonly Claim[], topology: Topology): DomainCounts {
  const counts: DomainCounts = new Map();
  for (const claim of claims) for (const podClass of claim.classes) topology.addCounts(podClass, claim.place, counts);
  return counts;
}

/**
 * Returns true if pods count in the same domains as before. Anti-affinity counts all possible domains of a node, so its counts
 * may be lower.
 */
function countsAlike(before: DomainCounts, after: DomainCounts): boolean {
  const groups = new Set([...before.keys(), ...after.keys()]);
  for (const group of groups) {
    const [old, fresh] = [before.get(group), after.get(group)];
    for (const domain of new Set([...(old?.keys() ?? []), ...(fresh?.keys() ?? [])])) {
      const [was, is] = [old?.get(domain) ?? 0, fresh?.get(domain) ?? 0];
      if (is > was || (is < was && group.rule.type !== 'pod anti-affinity')) return false;
    }
  }
  return true;
}
