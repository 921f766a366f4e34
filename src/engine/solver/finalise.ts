/** Converts claims under construction to planned claims. */

import { NODEPOOL_HASH_VERSION } from '#api/hashes';
import {
  CAPACITY_OVERLAY_ANNOTATION,
  CAPACITY_RESERVATION_ID_LABEL,
  CAPACITY_TYPE_LABEL,
  HOSTNAME_LABEL,
  INSTANCE_TYPE_LABEL,
  MIN_VALUES_RELAXED_ANNOTATION,
  NODEPOOL_HASH_ANNOTATION,
  NODEPOOL_HASH_VERSION_ANNOTATION,
  type NodePool,
  PRICE_OVERLAY_ANNOTATION,
  REQUESTED_DRA_DRIVERS_ANNOTATION,
  WELL_KNOWN_LABELS,
  ZONE_LABEL,
} from '#api/objects';
import { put } from '#lib';
import { templateDrivers } from '../dra/host-devices.ts';
import {
  compatibleOfferings,
  MAX_INSTANCE_TYPES,
  minValuesText,
  orderByPrice,
  RESERVED,
  satisfiesMinValues,
  weighedUsdPerHour,
} from '../instance-types.ts';
import type { InstanceType, Misfit, PlannedClaim, PodRefusal, Requirement, Resources } from '../model.ts';
import { SIMULATION_ONLY, templateLabels } from '../node-template.ts';
import { podKey } from '../pods.ts';
import type { Requirements } from '../requirements.ts';
import { addResources, minCommonResources } from '../resources.ts';
import { ValueSet } from '../value-set.ts';
import { refusalOrFailure } from './admission.ts';
import type { Claim, ClaimState } from './claim.ts';
import type { Shape } from './shape.ts';

/** Returns the smallest overhead of daemons on any instance type of the claim. */
function leastOverhead({ state }: Claim): Resources {
  const overheads = state.template.groups
    .filter(({ rows }) => rows.intersects(state.rows))
    .map(({ overhead }) => overhead);
  // a type without daemons shares no key with other types, so the minimum is 0
  return overheads.length === 0 ? {} : overheads.reduce(minCommonResources);
}

/**
 * Returns the labels of the node except for labels of its instance type: the labels of the template, and values that
 * requirements fix for other keys.
 */
export function labelsOf(pool: NodePool, requirements: Requirements): Readonly<Record<string, string>> {
  const labels: Record<string, string> = { ...templateLabels(pool) };
  for (const [key, set] of requirements.entries()) {
    if (WELL_KNOWN_LABELS.has(key) || key === HOSTNAME_LABEL || SIMULATION_ONLY.includes(key)) continue;
    const value = set.any();
    if (value !== '') put(labels, key, value);
  }
  return labels;
}

function annotationsOf(
  { state, minValuesLowered }: Claim,
  types: () => readonly InstanceType[],
): Readonly<Record<string, string>> {
  const { pool, hash } = state.template;
  const annotations: Record<string, string> = {
    ...pool.spec.template.metadata?.annotations,
    [NODEPOOL_HASH_ANNOTATION]: hash,
    [NODEPOOL_HASH_VERSION_ANNOTATION]: NODEPOOL_HASH_VERSION,
    [MIN_VALUES_RELAXED_ANNOTATION]: String(minValuesLowered),
  };
  const { price, capacity } = state.template.catalogue.overlaid;
  if (price.size > 0 && types().some((type) => price.has(type))) annotations[PRICE_OVERLAY_ANNOTATION] = 'true';
  if (capacity.size > 0 && types().some((type) => capacity.has(type)))
    annotations[CAPACITY_OVERLAY_ANNOTATION] = 'true';
  const drivers = state.devices && templateDrivers(state.devices, new Set(types().map(({ name }) => name)));
  if (drivers !== undefined && drivers.length > 0) annotations[REQUESTED_DRA_DRIVERS_ANNOTATION] = drivers.join();
  return annotations;
}

/**
 * Returns the shape with which a claim is launched. A claim with reservations may only launch into them. A claim with a cover
 * launches as on-demand.
 */
function launchShape({ state, held, cover }: Claim): Shape {
  const { requirements } = state.shape;
  if (cover !== undefined) {
    const onDemand = requirements.and(CAPACITY_TYPE_LABEL, ValueSet.in(['on-demand']));
    return state.shape.replaced(cover.isZonal ? onDemand.and(ZONE_LABEL, ValueSet.in([cover.usage.zone])) : onDemand);
  }
  if (held.size === 0) return state.shape;
  return state.shape.replaced(
    requirements
      .with(CAPACITY_TYPE_LABEL, ValueSet.in([RESERVED]))
      .and(CAPACITY_RESERVATION_ID_LABEL, ValueSet.in([...held])),
  );
}

/** Returns all types, cheapest first, including the price of surplus CPU for the requests of the claim. */
function byPrice(
  { template: { surplusPrices }, amounts, surplusCpu }: ClaimState,
  { offerings }: Shape,
): readonly number[] {
  if (surplusCpu === 0) return offerings.byPrice;
  const usd = offerings.prices.map((price, type) => price + surplusPrices.usdPerHour(type, amounts));
  return offerings.byPrice.toSorted((a, b) => {
    const [priceA, priceB] = [usd[a] ?? 0, usd[b] ?? 0];
    return priceA === priceB ? 0 : priceA - priceB; // infinite prices are equal
  });
}

/**
 * Returns the remaining types, cheapest first, up to the maximum length of the list in a NodeClaim. Spot risk affects the order,
 * but removes no type.
 */
function cheapestTypes({ state, held, cover }: Claim, shape: Shape): readonly number[] {
  const { catalogue } = state.template;
  const rows = held.size === 0 || shape.hasMinValues ? state.rows : state.rows.clone().and(shape.possible);
  const remains = new Uint8Array(catalogue.types.length);
  for (const type of catalogue.typesOf(rows)) remains[type] = cover === undefined || cover.types.has(type) ? 1 : 0;
  const inOrder = byPrice(state, shape).filter((type) => remains[type] === 1);
  if (inOrder.length <= MAX_INSTANCE_TYPES) return inOrder;
  if (catalogue.risky.size === 0) return inOrder.slice(0, MAX_INSTANCE_TYPES);
  const all = inOrder.flatMap((type) => catalogue.types[type] ?? []);
  const listed = new Set(orderByPrice(all, shape.requirements).slice(0, MAX_INSTANCE_TYPES));
  return inOrder.filter((type) => listed.has(catalogue.types[type] as InstanceType));
}

/**
 * Returns the requirements of a claim with these types. Most of the result is cached, because it is the same for all claims of a
 * shape.
 */
function launchRequirements(shape: Shape, positions: readonly number[]): Launch {
  const names = shape.catalogue.sortedNamesOf(positions);
  const capacityTypes = new Set<string>();
  for (const type of positions) for (const value of shape.offerings.capacityTypes[type] ?? []) capacityTypes.add(value);
  const { requirements, api } = shape.computeOnce(`launch ${[...capacityTypes].join()}`, () => {
    const bare = shape.requirements.without(HOSTNAME_LABEL, ...SIMULATION_ONLY);
    const narrowed = capacityTypes.size > 0 ? bare.and(CAPACITY_TYPE_LABEL, ValueSet.in(capacityTypes)) : bare;
    return { requirements: narrowed, api: narrowed.toApi() };
  });
  if (requirements.has(INSTANCE_TYPE_LABEL) || names.length === 0) {
    const all = requirements.and(INSTANCE_TYPE_LABEL, ValueSet.in(names));
    return { requirements: all, api: all.toApi() };
  }
  const byType: Requirement = { key: INSTANCE_TYPE_LABEL, operator: 'In', values: names };
  const after = api.findIndex(({ key }) => key > INSTANCE_TYPE_LABEL);
  return { requirements, api: api.toSpliced(after < 0 ? api.length : after, 0, byType) };
}

interface Launch {
  readonly requirements: Requirements;
  /** Requirements in the format of the API. */
  readonly api: readonly Requirement[];
}

/** Part of the plan that all claims with the same choice and the same surplus CPU share if they hold no reservations. */
type PlannedPart = Omit<PlannedClaim, 'pods' | 'requests'> & { readonly overhead: Resources };

function plannedPartOf(claim: Claim, strictMinValues: boolean): PlannedPart | PodRefusal {
  const { template, rows } = claim.state;
  const shape = launchShape(claim);
  const positions = cheapestTypes(claim, shape);
  const types = (): readonly InstanceType[] => positions.flatMap((type) => template.catalogue.types[type] ?? []);
  if (strictMinValues && shape.hasMinValues && positions.length < template.catalogue.typesOf(rows).length) {
    const { unsatisfied } = satisfiesMinValues(types(), shape.requirements);
    if (unsatisfied.length > 0) return tooFewTypes(template.name, minValuesText(unsatisfied));
  }
  const names = template.catalogue.namesOf(positions);
  const surplusUsdPerHour = template.surplusPrices.usdPerHour(positions[0] ?? -1, claim.state.amounts);
  const { requirements, api } = launchRequirements(shape, positions);
  return {
    nodePool: template.name,
    instanceTypes: names,
    requirements: api,
    labels: labelsOf(template.pool, requirements),
    annotations: annotationsOf(claim, types),
    cheapest: names[0] ?? '',
    ...pricesOf(types()[0], shape.offerings.prices[positions[0] ?? -1] ?? Number.POSITIVE_INFINITY, shape),
    ...(surplusUsdPerHour > 0 && { surplusUsdPerHour }),
    ...((claim.cover?.coveredUsdPerHour ?? 0) > 0 && { coveredUsdPerHour: claim.cover?.coveredUsdPerHour ?? 0 }),
    ...template.claimExtras,
    overhead: leastOverhead(claim),
  };
}

/**
 * Returns the price of the offering that makes a type the cheapest, its AWS price if the price book has a different one, and its
 * spot risk.
 */
function pricesOf(
  cheapest: InstanceType | undefined,
  weighed: number,
  { requirements }: Shape,
): Pick<PlannedClaim, 'usdPerHour' | 'listUsdPerHour' | 'spotRiskUsdPerHour'> {
  const isPlain = cheapest?.offerings.every(
    ({ listUsdPerHour, spotRiskUsdPerHour }) => listUsdPerHour === undefined && spotRiskUsdPerHour === undefined,
  );
  if (cheapest === undefined || isPlain) return { usdPerHour: weighed };
  const found = compatibleOfferings(cheapest, requirements).find((offering) => weighedUsdPerHour(offering) === weighed);
  const { usdPerHour = weighed, listUsdPerHour, spotRiskUsdPerHour } = found ?? {};
  return {
    usdPerHour,
    ...(listUsdPerHour !== undefined && { listUsdPerHour }),
    ...(spotRiskUsdPerHour !== undefined && { spotRiskUsdPerHour }),
  };
}

/**
 * Returns the planned claim. If the shortened list of types violates `minValues`, returns the reason why its pods stay pending.
 */
export function finalise(claim: Claim, { strictMinValues }: FinaliseOptions): PlannedClaim | PodRefusal {
  const compute = (): PlannedPart | PodRefusal => plannedPartOf(claim, strictMinValues);
  const { choice, surplusCpu } = claim.state;
  const planned =
    claim.held.size > 0 || claim.cover !== undefined || claim.state.devices !== undefined
      ? compute()
      : choice.computeOnce(`final ${claim.minValuesLowered} ${surplusCpu}`, compute);
  if ('code' in planned) return planned;
  const { nodePool, instanceTypes, requirements, overhead, ...rest } = planned;
  const pods = claim.pods.map(podKey);
  const requests = addResources(...claim.classes.map((podClass) => podClass.requests), overhead);
  return { nodePool, pods, instanceTypes, requirements, requests, ...rest };
}

interface FinaliseOptions {
  readonly strictMinValues: boolean;
}

function tooFewTypes(nodePool: string, cause: string): PodRefusal {
  const what = 'pod didn’t schedule because NodePool couldn’t meet minValues requirements';
  const text = `${what}, validating minValues, ${cause} (NodePool=${nodePool})`;
  const misfit: Misfit = { code: 'min-values', text };
  return { code: 'no-fit', text, pools: [{ nodePool, misfit }] };
}

/** Finalises all claims. Adds the pods of claims that are not possible to the refusals. */
export function finaliseAll(
  claims: readonly Claim[],
  strictMinValues: boolean,
  refusals: Map<string, PodRefusal>,
): readonly PlannedClaim[] {
  const planned: PlannedClaim[] = [];
  for (const claim of claims) {
    const final = refusalOrFailure('placed', () => finalise(claim, { strictMinValues }));
    if ('code' in final) for (const pod of claim.pods) refusals.set(podKey(pod), final);
    else planned.push(final);
  }
  return planned;
}
