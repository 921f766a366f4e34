/** Finds the cause for which no instance type of a NodePool can run a pod. */
import { CAPACITY_TYPE_LABEL, type NodePool, ZONE_ID_LABEL, ZONE_LABEL } from '#api/objects';
import { nearestName, timestamp } from '#lib';
import { allocatable, requirementsOf } from '../instance-types.ts';
import type { InstanceType, Offering, Resources } from '../model.ts';
import { LOOSE, Requirements } from '../requirements.ts';
import { amountIn, fits, quantityList } from '../resources.ts';
import { spotLimitText } from '../spot-price.ts';
import { ValueSet } from '../value-set.ts';
import type { Cause, CauseObject } from './cause.ts';
import { requiredText, requirementText, someOf } from './requirement-text.ts';

/** NodePool and the pod that it rejects. Without a pod, the requirements of the NodePool alone leave no instance type. */
export interface Demand {
  readonly pool: NodePool;
  readonly poolRequirements: Requirements;
  readonly types: readonly InstanceType[];
  readonly podRequirements: Requirements;
  readonly requests: Resources;
}

/** Labels that offerings define, in addition to the labels of their instance type. */
const OFFERING_KEYS: readonly string[] = [ZONE_LABEL, ZONE_ID_LABEL, CAPACITY_TYPE_LABEL];

/** Returns the cause, or undefined if an instance type can run the pod without its daemons. */
export function instanceTypeCause(demand: Demand): Cause | undefined {
  const { pool, poolRequirements, podRequirements, types, requests } = demand;
  const both = poolRequirements.intersect(podRequirements);
  const ofType = both.without(...OFFERING_KEYS);
  const matching: InstanceType[] = [];
  const fitting: InstanceType[] = [];
  const offerings: { readonly type: InstanceType; readonly offering: Offering }[] = [];
  for (const type of types) {
    if (failingKeys(type, ofType).length > 0) continue;
    matching.push(type);
    if (!fits(requests, allocatable(type))) continue;
    fitting.push(type);
    for (const offering of type.offerings) {
      if (!both.compatible(requirementsOf(offering), LOOSE)) continue;
      if (offering.available) return undefined;
      offerings.push({ type, offering });
    }
  }
  if (matching.length === 0) return mismatch(demand);
  if (fitting.length === 0) return tooLarge(pool, matching, requests);
  if (offerings.length === 0) return notOffered(demand, fitting);
  return offerings.every(({ offering }) => offering.spotLimit !== undefined)
    ? aboveSpotPrice(pool, offerings)
    : soldOut(pool, offerings);
}

/** Reports whether an instance type of the NodePool has the properties that the pod requires. */
export function matchesSomeType({ poolRequirements, podRequirements, types }: Omit<Demand, 'requests'>): boolean {
  const ofType = poolRequirements.intersect(podRequirements).without(...OFFERING_KEYS);
  return types.some((type) => failingKeys(type, ofType).length === 0);
}

/** Reports whether an instance type satisfies the requirements of its labels and has an offering, available or not, that does. */
export function matches(type: InstanceType, requirements: Requirements): boolean {
  if (failingKeys(type, requirements.without(...OFFERING_KEYS)).length > 0) return false;
  return type.offerings.some((offering) => requirements.compatible(requirementsOf(offering), LOOSE));
}

const nodePoolOf = ({ metadata }: NodePool): CauseObject => ({ kind: 'NodePool', name: metadata.name });

function failingKeys(type: InstanceType, requirements: Requirements): readonly string[] {
  const own = requirementsOf(type);
  const failing: string[] = [];
  for (const [key, set] of requirements.entries()) {
    const theirs = own.get(key);
    if (own.has(key) && !theirs.intersects(set) && !(theirs.allowsAbsence && set.allowsAbsence)) failing.push(key);
  }
  return failing;
}

function mismatch(demand: Demand): Cause {
  const { pool, types, requests } = demand;
  const podRequirements = demand.podRequirements.without(...OFFERING_KEYS);
  const poolRequirements = demand.poolRequirements.without(...OFFERING_KEYS);
  const isOwn = podRequirements.keys.length === 0;
  const wanted = types.filter((type) => failingKeys(type, podRequirements).length === 0);
  if (isOwn || wanted.length === 0) return unknownType(demand, isOwn ? poolRequirements : podRequirements, isOwn);
  const fitting = wanted.filter((type) => fits(requests, allocatable(type)));
  const failures = (fitting.length > 0 ? fitting : wanted).map((type) => failingKeys(type, poolRequirements));
  const [culprits = []] = failures.toSorted((a, b) => a.length - b.length);
  const [field = ''] = culprits;
  const missing = (fitting.length > 0 ? fitting : wanted)
    .filter((_, at) => failures[at]?.join() === culprits.join())
    .flatMap((type) => requirementsOf(type).get(field).sorted);
  return {
    code: 'requirements',
    object: nodePoolOf(pool),
    field,
    wanted: wantedText(podRequirements, poolRequirements, types),
    offered: culprits.map((key) => requirementText(key, poolRequirements.get(key))).join(' and '),
    ...(culprits.length > 1
      ? { remedy: `Widen ${culprits.join(' and ')}.`, change: { of: 'NodePool', fields: culprits, values: [] } }
      : addition(poolRequirements.get(field), field, missing)),
  };
}

/** Returns the change of a requirement that allows more values. */
export function addition(set: ValueSet, key: string, values: readonly string[]): Pick<Cause, 'remedy' | 'change'> {
  const added = [...new Set(values)].sort();
  if (set.gte !== undefined || set.lte !== undefined || added.length === 0)
    return { remedy: `Widen ${key}.`, change: { of: 'NodePool', fields: [key], values: [] } };
  const quoted = someOf(added.map((value) => `"${value}"`));
  return {
    remedy: set.complement ? `Remove ${quoted} from the excluded values of ${key}.` : `Add ${quoted} to ${key}.`,
    change: { of: 'NodePool', fields: [key], values: added },
  };
}

/** Returns the requirements of the pod that conflict with those of the NodePool: one alone if possible. */
function wantedText(pod: Requirements, pool: Requirements, types: readonly InstanceType[]): string {
  const keys = pod.keys.filter((key) => types.some((type) => requirementsOf(type).has(key)));
  const decisive = keys.find((key) =>
    types.some((type) => failingKeys(type, pool.intersect(pod.without(key))).length === 0),
  );
  const shown = decisive === undefined ? keys : [decisive];
  const [first = ''] = shown;
  const rest = shown.slice(1).map((key) => requirementText(key, pod.get(key)));
  return [requiredText(first, pod.get(first)), ...rest].join(' and ');
}

function unknownType({ pool, types }: Demand, requirements: Requirements, isOwn: boolean): Cause {
  const [first = ''] = requirements.keys;
  const alone = requirements.keys.filter((key) =>
    types.every((type) => failingKeys(type, Requirements.EMPTY.and(key, requirements.get(key))).length > 0),
  );
  const keys =
    alone.length > 0 ? alone.slice(0, 1) : requirements.keys.filter((key) => isDecisive(key, requirements, types));
  const [field = first] = keys;
  const known = [...new Set(types.flatMap((type) => requirementsOf(type).get(field).sorted))];
  const [value = ''] = requirements.get(field).sorted;
  const nearest = nearestName(value, known);
  const owner = isOwn ? 'spec.template.spec.requirements of the NodePool' : "the pod's selector";
  return {
    code: 'unknown-instance-type',
    object: nodePoolOf(pool),
    field,
    wanted: keys.map((key) => requirementText(key, requirements.get(key))).join(' and '),
    offered: someOf(known),
    remedy: `Correct ${field} in ${owner}${nearest === undefined ? '' : `; did you mean "${nearest}"?`}${nearest === undefined ? '.' : ''}`,
    change: { of: isOwn ? 'NodePool' : 'Pod', fields: [field], values: nearest === undefined ? [] : [nearest] },
  };
}

/** Returns true if some type matches all other requirements. */
const isDecisive = (key: string, requirements: Requirements, types: readonly InstanceType[]): boolean =>
  types.some((type) => failingKeys(type, requirements).join() === key);

function tooLarge(pool: NodePool, types: readonly InstanceType[], requests: Resources): Cause {
  const room = types.map((type) => allocatable(type));
  const largest = Object.fromEntries(
    Object.keys(requests).map((name) => [name, Math.max(0, ...room.map((each) => amountIn(each, name)))]),
  );
  const exceeding = Object.keys(requests).filter((name) => amountIn(requests, name) > amountIn(largest, name));
  // together the amounts do not fit, although each of them does
  const names = exceeding.length > 0 ? exceeding : Object.keys(requests).filter((name) => name !== 'pods');
  const text = (amounts: Resources): string => {
    const list = quantityList(amounts);
    return names.map((name) => `${name} ${list[name] ?? '0'}`).join(' and ');
  };
  return {
    code: 'too-large',
    object: nodePoolOf(pool),
    field: names[0] ?? '',
    wanted: `the pod requests ${text(requests)}`,
    offered: text(largest),
    remedy: 'Reduce the requests of the pod, or allow larger instance types.',
  };
}

/** No offering exists, available or not: the zones or capacity types are not those of the subnets and the region. */
function notOffered({ pool, poolRequirements, podRequirements }: Demand, types: readonly InstanceType[]): Cause {
  const offerings = types.flatMap((type) => type.offerings);
  const valuesOf = (key: string): readonly string[] =>
    [...new Set(offerings.flatMap((offering) => requirementsOf(offering).get(key).sorted))].sort();
  const both = poolRequirements.intersect(podRequirements);
  const key =
    OFFERING_KEYS.find(
      (each) =>
        both.has(each) && offerings.every((offering) => !requirementsOf(offering).get(each).intersects(both.get(each))),
    ) ?? ZONE_LABEL;
  const isOwn = !podRequirements.has(key);
  const set = isOwn ? poolRequirements.get(key) : podRequirements.get(key);
  const values = valuesOf(key);
  const nodeClass = pool.spec.template.spec.nodeClassRef;
  const wanted = isOwn ? `the NodePool requires ${requirementText(key, set)}` : requiredText(key, set);
  const place = `${nodeClass.kind} "${nodeClass.name}"`;
  return {
    code: 'not-offered',
    object: nodePoolOf(pool),
    field: key,
    wanted,
    offered: requirementText(key, ValueSet.in(values)),
    remedy:
      key === CAPACITY_TYPE_LABEL
        ? `Allow another capacity type in ${key}.`
        : `Correct ${key} in the ${isOwn ? 'NodePool' : 'pod'}, or select a subnet in this zone with ${place}.`,
    change: { of: isOwn ? 'NodePool' : 'Pod', fields: [key], values: [] },
  };
}

interface TypeOffering {
  readonly type: InstanceType;
  readonly offering: Offering;
}

/** Names the offering that is nearest to the maximum price. */
function aboveSpotPrice(pool: NodePool, offerings: readonly TypeOffering[]): Cause {
  const shareOf = ({ usdPerHour, spotLimit }: Offering): number =>
    usdPerHour / (spotLimit?.onDemandUsdPerHour ?? Number.NaN);
  const [nearest] = offerings.toSorted((a, b) => (shareOf(a.offering) || 1e9) - (shareOf(b.offering) || 1e9));
  const { type, offering } = nearest ?? {};
  const zone = offering ? requirementsOf(offering).get(ZONE_LABEL).any() : '';
  const text = offering?.spotLimit ? spotLimitText(offering.usdPerHour, offering.spotLimit) : '';
  return {
    code: 'spot-price',
    object: nodePoolOf(pool),
    field: 'spec.spot.maxPrice',
    wanted: someOf([...new Set(offerings.map((each) => each.type.name))]),
    offered: `for ${type?.name} in ${zone}, ${text}`,
    remedy: 'Raise the maximum price, or allow on-demand capacity or more instance types.',
  };
}

function soldOut(pool: NodePool, offerings: readonly TypeOffering[]): Cause {
  const names = [...new Set(offerings.map(({ type }) => type.name))];
  const valuesOf = (key: string): readonly string[] =>
    [...new Set(offerings.flatMap(({ offering }) => requirementsOf(offering).get(key).sorted))].sort();
  const capacityTypes = valuesOf(CAPACITY_TYPE_LABEL).join(' and ');
  const outages = offerings.flatMap(({ offering: { outage } }) => outage ?? []);
  const reasons = [...new Set(outages.flatMap(({ reason }) => reason ?? []))].sort();
  const ends = outages.flatMap(({ untilMs }) => untilMs ?? []);
  const next = ends.length === 0 ? {} : { nextAttempt: timestamp(Math.min(...ends)) };
  const place = `${someOf(names)} in ${someOf(valuesOf(ZONE_LABEL))}`;
  const when = next.nextAttempt === undefined ? 'in a few minutes' : `at ${next.nextAttempt}`;
  return {
    code: 'sold-out',
    object: nodePoolOf(pool),
    field: 'spec.template.spec.requirements',
    wanted: someOf(names),
    offered:
      reasons.length === 0
        ? `EC2 has no ${capacityTypes} capacity for ${place}`
        : `the last launches of ${capacityTypes} ${place} failed with ${someOf(reasons)}`,
    remedy: `The operator tries again ${when}; allow more instance types or zones to launch sooner.`,
    ...next,
  };
}
