/** Applies NodeOverlays to instance types: other prices, and extended resources besides the known ones. */

import type { NodeOverlay, NodePool } from '#api/objects';
import { nodeOverlayErrors } from '#api/validation';
import { messageOf, own, put } from '#lib';
import { compareText } from './instance-types.ts';
import type { InstanceType, Offering, PoolInput } from './model.ts';
import {
  labelsOfPool,
  type OfferingSet,
  type OverlayIndex,
  overlayIndexOf,
  overlayRequirements,
  requiredKeys,
} from './overlay-matching.ts';
import type { Requirements } from './requirements.ts';
import { resourcesOf } from './resources.ts';
import { sharedType } from './shared-types.ts';

/** Largest number of NodeOverlays that are evaluated. */
export const MOST_OVERLAYS = 500;

/** Reason why an overlay is not in force. `reason` is the reason of its condition. */
interface OverlayProblem {
  readonly reason: 'RuntimeValidation' | 'Conflict' | 'TooManyNodeOverlays';
  readonly message: string;
}

export interface OverlayEvaluation {
  /** Overlays that are not being deleted, in order of precedence. */
  readonly present: readonly NodeOverlay[];
  /** NodePools with known instance types. All other NodePools have no types, because their prices are unknown. */
  readonly evaluated: ReadonlySet<NodePool>;
  /** Overlays in force, in order of precedence. */
  readonly accepted: readonly NodeOverlay[];
  /** Problems by overlay name. */
  readonly problems: ReadonlyMap<string, OverlayProblem>;
}

const CONFLICT: OverlayProblem = { reason: 'Conflict', message: 'conflict with another overlay' };

const tooMany = (position: number, count: number): OverlayProblem => ({
  reason: 'TooManyNodeOverlays',
  message:
    `not evaluated: this is NodeOverlay ${position} of ${count}, and only the first ${MOST_OVERLAYS} are evaluated, ` +
    'ordered by descending weight and descending name; merge or delete NodeOverlays, or increase the weight of this one',
});

const weightOf = ({ spec }: NodeOverlay): number => spec.weight ?? 0;

/** Sorts overlays by weight, highest first. Ties are sorted by name, descending. */
const inOrder = (overlays: readonly NodeOverlay[]): readonly NodeOverlay[] =>
  [...overlays].sort((a, b) => weightOf(b) - weightOf(a) || compareText(b.metadata.name, a.metadata.name));

/** Long work as steps. A caller may let other work run between the steps. */
type Steps<T> = Generator<undefined, T>;

/** Runs all steps without a pause. */
function completed<T>(steps: Steps<T>): T {
  for (;;) {
    const { done, value } = steps.next();
    if (done) return value;
  }
}

/** Instance types that are the same for some NodePools, with the changes by overlays of the current weight. */
class Target {
  readonly index: OverlayIndex;
  readonly labels: Requirements;
  readonly #priced: OfferingSet;
  readonly #capacities = new Map<number, ReadonlySet<string>>();

  constructor(index: OverlayIndex, labels: Requirements) {
    this.index = index;
    this.labels = labels;
    this.#priced = index.empty();
  }

  forget(): void {
    this.#priced.clear();
    this.#capacities.clear();
  }

  conflicts(overlay: NodeOverlay, offerings: OfferingSet): boolean {
    if (setsPrice(overlay) && this.#priced.intersects(offerings)) return true;
    const names = capacityNames(overlay);
    if (names.length === 0 || this.#capacities.size === 0) return false;
    return [...typesOf(this.index, offerings)].some((typeAt) =>
      names.some((name) => this.#capacities.get(typeAt)?.has(name)),
    );
  }

  mark(overlay: NodeOverlay, offerings: OfferingSet): void {
    if (setsPrice(overlay)) this.#priced.addAll(offerings);
    const names = new Set(capacityNames(overlay));
    if (names.size > 0) for (const typeAt of typesOf(this.index, offerings)) this.#capacities.set(typeAt, names);
  }
}

function typesOf({ rows }: OverlayIndex, offerings: OfferingSet): ReadonlySet<number> {
  const types = new Set<number>();
  for (const position of offerings) types.add(rows[position]?.typeAt ?? 0);
  return types;
}

function targetsOf(pools: readonly PoolInput[], overlays: readonly NodeOverlay[]): readonly Target[] {
  const targets = new Map<readonly InstanceType[], Map<string, Target>>();
  const keys = requiredKeys(overlays);
  for (const { nodePool, instanceTypes } of pools) {
    const labels = labelsOfPool(nodePool, keys);
    const alike = targets.get(instanceTypes) ?? new Map<string, Target>();
    targets.set(instanceTypes, alike);
    if (!alike.has(labels.identity)) alike.set(labels.identity, new Target(overlayIndexOf(instanceTypes), labels));
  }
  return [...targets.values()].flatMap((alike) => [...alike.values()]);
}

/**
 * Decides which overlays are in force. If two overlays of equal weight set the same value somewhere, the later one is rejected
 * completely. `pools` must have their types without overlays.
 */
export const evaluateOverlays = (overlays: readonly NodeOverlay[], pools: readonly PoolInput[]): OverlayEvaluation =>
  completed(evaluationSteps(overlays, pools));

const isPresent = ({ metadata }: NodeOverlay | NodePool): boolean => !metadata.deletionTimestamp;

export function* evaluationSteps(
  overlays: readonly NodeOverlay[],
  pools: readonly PoolInput[],
): Steps<OverlayEvaluation> {
  const known = pools.filter(({ nodePool, instanceTypes }) => isPresent(nodePool) && instanceTypes.length > 0);
  const accepted: NodeOverlay[] = [];
  const problems = new Map<string, OverlayProblem>();
  const ordered = inOrder(overlays.filter(isPresent));
  const evaluated = ordered.slice(0, MOST_OVERLAYS);
  for (const [at, { metadata }] of ordered.entries())
    if (at >= MOST_OVERLAYS) problems.set(metadata.name, tooMany(at + 1, ordered.length));
  const targets = targetsOf(known, evaluated);
  let weight: number | undefined;
  for (const overlay of evaluated) {
    if (weightOf(overlay) !== weight) for (const target of targets) target.forget();
    weight = weightOf(overlay);
    const problem = yield* placementSteps(overlay, targets);
    if (problem === undefined) accepted.push(overlay);
    else problems.set(overlay.metadata.name, problem);
  }
  return { present: ordered, evaluated: new Set(known.map(({ nodePool }) => nodePool)), accepted, problems };
}

/** Marks the changes of the overlay in every target. Returns the problem if it is invalid or in conflict in a target. */
function* placementSteps(overlay: NodeOverlay, targets: readonly Target[]): Steps<OverlayProblem | undefined> {
  const errors = nodeOverlayErrors(overlay);
  if (errors.length > 0) return { reason: 'RuntimeValidation', message: errors.join('; ') };
  const placed: (readonly [Target, OfferingSet])[] = [];
  for (const target of targets) {
    try {
      placed.push([target, target.index.matching(overlayRequirements(overlay), target.labels)]);
    } catch (error) {
      return { reason: 'RuntimeValidation', message: messageOf(error) };
    }
    yield;
  }
  if (placed.some(([target, offerings]) => target.conflicts(overlay, offerings))) return CONFLICT;
  for (const [target, offerings] of placed) target.mark(overlay, offerings);
  return undefined;
}

const setsPrice = ({ spec }: NodeOverlay): boolean => spec.price !== undefined || spec.priceAdjustment !== undefined;
const capacityNames = ({ spec }: NodeOverlay): readonly string[] => Object.keys(spec.capacity ?? {});

/**
 * Returns the instance types of the pool with the overlays in force. Unaffected types stay the same objects. If all types are
 * unaffected, the list stays the same object.
 */
export const overlaid = (
  { nodePool, instanceTypes }: PoolInput,
  accepted: readonly NodeOverlay[],
): readonly InstanceType[] =>
  completed(overlaidSteps(instanceTypes, labelsOfPool(nodePool, requiredKeys(accepted)), accepted));

/** Applies the overlays. If several overlays match, the first one determines each price and each resource. */
export function* overlaidSteps(
  instanceTypes: readonly InstanceType[],
  labels: Requirements,
  accepted: readonly NodeOverlay[],
): Steps<readonly InstanceType[]> {
  const index = overlayIndexOf(instanceTypes);
  const prices = new Map<number, number>();
  const capacities = new Map<number, Record<string, number>>();
  for (const overlay of accepted) {
    const offerings = index.matching(overlayRequirements(overlay), labels);
    if (setsPrice(overlay)) addPrices(prices, overlay, index, offerings);
    if (capacityNames(overlay).length > 0) addCapacities(capacities, overlay, index, offerings);
    yield;
  }
  if (prices.size === 0 && capacities.size === 0) return instanceTypes;
  const types: InstanceType[] = [];
  for (const [typeAt, type] of instanceTypes.entries()) {
    types.push(changedType(type, pricesOf(type, index.first(typeAt), prices), capacities.get(typeAt)));
    yield;
  }
  return types;
}

function addPrices(
  prices: Map<number, number>,
  overlay: NodeOverlay,
  { rows }: OverlayIndex,
  offerings: OfferingSet,
): void {
  for (const position of offerings) {
    const { usdPerHour = 0 } = rows[position]?.offering ?? {};
    if (!prices.has(position)) prices.set(position, adjustedPrice(overlay, usdPerHour));
  }
}

function addCapacities(
  capacities: Map<number, Record<string, number>>,
  { spec }: NodeOverlay,
  index: OverlayIndex,
  offerings: OfferingSet,
): void {
  const added = Object.entries(resourcesOf(spec.capacity));
  for (const typeAt of typesOf(index, offerings)) {
    const capacity = capacities.get(typeAt) ?? {};
    capacities.set(typeAt, capacity);
    for (const [name, amount] of added) put(capacity, name, own(capacity, name) ?? amount);
  }
}

/** New price of each offering of a type, from the position of its first offering; undefined if unchanged. */
const pricesOf = (
  { offerings }: InstanceType,
  first: number,
  prices: ReadonlyMap<number, number>,
): readonly (number | undefined)[] => offerings.map((_, at) => prices.get(first + at));

function changedType(
  type: InstanceType,
  prices: readonly (number | undefined)[],
  capacity: Readonly<Record<string, number>> | undefined,
): InstanceType {
  const isRepriced = prices.some((price) => price !== undefined);
  if (!isRepriced && capacity === undefined) return type;
  return sharedType({
    ...type,
    offerings: isRepriced ? type.offerings.map((offering, at) => repriced(offering, prices[at])) : type.offerings,
    ...(capacity === undefined ? {} : { capacity: { ...type.capacity, ...capacity }, capacityOverlaid: true }),
  });
}

function repriced(offering: Offering, usdPerHour: number | undefined): Offering {
  if (usdPerHour === undefined) return offering;
  const { capacityOverride: _, overheadOverride: __, ...rest } = offering;
  return { ...rest, usdPerHour, priceOverlaid: true };
}

/**
 * Returns the price in USD per hour with the overlay: its own price, or the known price changed by an amount or a percentage.
 * Never below 0.
 */
export function adjustedPrice({ spec }: Pick<NodeOverlay, 'spec'>, usdPerHour: number): number {
  if (spec.price !== undefined) return Number(spec.price);
  const { priceAdjustment = '+0' } = spec;
  const amount = Number.parseFloat(priceAdjustment);
  const changed = priceAdjustment.endsWith('%') ? usdPerHour * (1 + amount / 100) : usdPerHour + amount;
  return Math.max(0, changed);
}
