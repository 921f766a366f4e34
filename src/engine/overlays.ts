/** What NodeOverlays make of instance types: other prices, and extended resources besides the known ones. */

import { messageOf } from '../api/error-message.ts';
import { NODEPOOL_LABEL } from '../api/labels.ts';
import type { NodeOverlay } from '../api/nodeoverlay.ts';
import { nodeOverlayErrors } from '../api/nodeoverlay-validation.ts';
import type { NodePool } from '../api/nodepool.ts';
import { own, put } from '../api/own.ts';
import { compareText, requirementsOf } from './instance-types.ts';
import type { InstanceType, Offering, PoolInput } from './model.ts';
import { LOOSE, Requirements } from './requirements.ts';
import { resourcesOf } from './resources.ts';
import { sharedType } from './shared-types.ts';
import { templateLabels } from './solver/template.ts';

/** Why an overlay is not in force. The reason is its condition's. */
export interface OverlayProblem {
  readonly reason: 'RuntimeValidation' | 'Conflict';
  readonly message: string;
}

export interface Evaluation {
  /** Those in force, the first to win first. */
  readonly accepted: readonly NodeOverlay[];
  /** By overlay name. */
  readonly problems: ReadonlyMap<string, OverlayProblem>;
}

const CONFLICT: OverlayProblem = { reason: 'Conflict', message: 'conflict with another overlay' };

const weightOf = ({ spec }: NodeOverlay): number => spec.weight ?? 0;

/** Heavier overlays first; of equal ones the later in the alphabet. */
const inOrder = (overlays: readonly NodeOverlay[]): readonly NodeOverlay[] =>
  [...overlays].sort((a, b) => weightOf(b) - weightOf(a) || compareText(b.metadata.name, a.metadata.name));

/** What earlier overlays have set on one instance type of one pool. */
interface Marks {
  /** Lowest weight of those that set a price, by offering. */
  readonly prices: Map<Offering, number>;
  capacity: { readonly weight: number; readonly names: ReadonlySet<string> } | undefined;
}

interface Target {
  readonly marks: Marks;
  readonly offerings: readonly Offering[];
}

/**
 * Decides which overlays are in force. Of two of equal weight that set the same thing somewhere, the one that comes
 * later in the order gives way as a whole. `pools` have their types without overlays.
 */
export function evaluateOverlays(overlays: readonly NodeOverlay[], pools: readonly PoolInput[]): Evaluation {
  const accepted: NodeOverlay[] = [];
  const problems = new Map<string, OverlayProblem>();
  const marksOf = new Map<string, Map<InstanceType, Marks>>();
  const matchers = pools.map(({ nodePool }) => matcherFor(nodePool));

  const targetsOf = (overlay: NodeOverlay): readonly Target[] =>
    pools.flatMap(({ nodePool, instanceTypes }, index) => {
      const ofPool = marksOf.get(nodePool.metadata.name) ?? new Map<InstanceType, Marks>();
      marksOf.set(nodePool.metadata.name, ofPool);
      return instanceTypes.flatMap((type) => {
        const offerings = matchers[index]?.(overlay, type) ?? [];
        if (offerings.length === 0) return [];
        const marks = ofPool.get(type) ?? { prices: new Map(), capacity: undefined };
        ofPool.set(type, marks);
        return [{ marks, offerings }];
      });
    });

  /** An overlay that cannot be matched keeps no others from it. */
  const targetsOrProblem = (overlay: NodeOverlay): readonly Target[] | OverlayProblem => {
    try {
      return targetsOf(overlay);
    } catch (error) {
      return { reason: 'RuntimeValidation', message: messageOf(error) };
    }
  };

  for (const overlay of inOrder(overlays)) {
    const { name } = overlay.metadata;
    const errors = nodeOverlayErrors(overlay);
    if (errors.length > 0) {
      problems.set(name, { reason: 'RuntimeValidation', message: errors.join('; ') });
      continue;
    }
    const targets = targetsOrProblem(overlay);
    if ('reason' in targets) {
      problems.set(name, targets);
      continue;
    }
    if (targets.some((target) => conflicts(overlay, target))) {
      problems.set(name, CONFLICT);
      continue;
    }
    for (const target of targets) leaveMarks(overlay, target);
    accepted.push(overlay);
  }
  return { accepted, problems };
}

const setsPrice = ({ spec }: NodeOverlay): boolean => spec.price !== undefined || spec.priceAdjustment !== undefined;
const capacityNames = ({ spec }: NodeOverlay): readonly string[] => Object.keys(spec.capacity ?? {});

function conflicts(overlay: NodeOverlay, { marks, offerings }: Target): boolean {
  const weight = weightOf(overlay);
  if (setsPrice(overlay) && offerings.some((offering) => marks.prices.get(offering) === weight)) return true;
  const { capacity } = marks;
  return capacity?.weight === weight && capacityNames(overlay).some((name) => capacity.names.has(name));
}

function leaveMarks(overlay: NodeOverlay, { marks, offerings }: Target): void {
  const weight = weightOf(overlay);
  if (setsPrice(overlay)) for (const offering of offerings) marks.prices.set(offering, weight);
  const names = capacityNames(overlay);
  if (names.length > 0) marks.capacity = { weight, names: new Set(names) };
}

/** Finds the offerings of a type that an overlay is about, in one pool; none when it is not about the type. */
type Matcher = (overlay: NodeOverlay, type: InstanceType) => readonly Offering[];

function matcherFor(nodePool: NodePool): Matcher {
  // an overlay can require the pool's own name and labels, not its requirements
  const ofPool = Requirements.fromLabels({ ...templateLabels(nodePool), [NODEPOOL_LABEL]: nodePool.metadata.name });
  const nodes = new Map<InstanceType, Requirements>();
  const requirementsOfOverlays = new Map<NodeOverlay, Requirements>();
  return (overlay, type) => {
    const required = requirementsOfOverlays.get(overlay) ?? Requirements.fromRequirements(overlay.spec.requirements);
    requirementsOfOverlays.set(overlay, required);
    const node = nodes.get(type) ?? ofPool.intersect(requirementsOf(type));
    nodes.set(type, node);
    if (!node.compatible(required)) return [];
    return type.offerings.filter((offering) => required.compatible(requirementsOf(offering), LOOSE));
  };
}

/**
 * The instance types as the pool sees them under the overlays in force. Types that none is about stay the same objects;
 * so does the list when that is true of all.
 */
export function overlaid(
  { nodePool, instanceTypes }: PoolInput,
  accepted: readonly NodeOverlay[],
): readonly InstanceType[] {
  const match = matcherFor(nodePool);
  const types = instanceTypes.map((type) => overlaidType(type, accepted, match));
  return types.every((type, index) => type === instanceTypes[index]) ? instanceTypes : types;
}

/** Of several overlays the first one wins, for each offering's price and for each resource. */
function overlaidType(type: InstanceType, accepted: readonly NodeOverlay[], match: Matcher): InstanceType {
  const prices = new Map<Offering, number>();
  const capacity: Record<string, number> = {};
  for (const overlay of accepted) {
    const offerings = match(overlay, type);
    if (offerings.length === 0) continue;
    if (setsPrice(overlay)) {
      for (const offering of offerings)
        if (!prices.has(offering)) prices.set(offering, adjustedPrice(overlay, offering.usdPerHour));
    }
    for (const [name, amount] of Object.entries(resourcesOf(overlay.spec.capacity)))
      put(capacity, name, own(capacity, name) ?? amount);
  }
  const isLarger = Object.keys(capacity).length > 0;
  if (prices.size === 0 && !isLarger) return type;
  return sharedType({
    ...type,
    offerings: prices.size === 0 ? type.offerings : type.offerings.map((offering) => repriced(offering, prices)),
    ...(isLarger ? { capacity: { ...type.capacity, ...capacity }, capacityOverlaid: true } : {}),
  });
}

function repriced(offering: Offering, prices: ReadonlyMap<Offering, number>): Offering {
  const usdPerHour = prices.get(offering);
  if (usdPerHour === undefined) return offering;
  const { capacityOverride: _, overheadOverride: __, ...rest } = offering;
  return { ...rest, usdPerHour, priceOverlaid: true };
}

/** USD per hour after the overlay: its own price, or the known one changed by an amount or a share; never below 0. */
export function adjustedPrice({ spec }: Pick<NodeOverlay, 'spec'>, usdPerHour: number): number {
  if (spec.price !== undefined) return Number(spec.price);
  const { priceAdjustment = '+0' } = spec;
  const amount = Number.parseFloat(priceAdjustment);
  const changed = priceAdjustment.endsWith('%') ? usdPerHour * (1 + amount / 100) : usdPerHour + amount;
  return Math.max(0, changed);
}
