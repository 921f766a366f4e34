/**
 * Instance types of the conformance cases, with variations: fewer types, higher prices, no capacity, or reservations.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import type { TypeEntry } from '../validity.ts';
import type { Draw } from './draw.ts';
import type { Traits } from './kinds.ts';

const CASES = join(import.meta.dirname, '..', 'cases');

const CAPACITY_TYPE = 'karpenter.sh/capacity-type';
const ZONE = 'topology.kubernetes.io/zone';
const RESERVATION = 'karpenter.k8s.aws/capacity-reservation-id';

let whole: readonly (readonly TypeEntry[])[] | undefined;

function catalogues(): readonly (readonly TypeEntry[])[] {
  whole ??= readdirSync(CASES)
    .filter((name) => name.startsWith('types-'))
    .sort()
    .map((name) => (JSON.parse(gunzipSync(readFileSync(join(CASES, name))).toString()) as Entries).instanceTypes);
  return whole;
}

interface Entries {
  readonly instanceTypes: readonly TypeEntry[];
}

export type OfferingEntry = TypeEntry['offerings'][number];

/** Returns the only value of an offering's label. */
export const offered = ({ requirements }: OfferingEntry, key: string): string =>
  requirements.find((each) => each.key === key)?.values?.[0] ?? '';

export const zoneOf = (offering: OfferingEntry): string => offered(offering, ZONE);
export const capacityTypeOf = (offering: OfferingEntry): string => offered(offering, CAPACITY_TYPE);

/** Returns all types of a catalogue, or more often a few, so that behaviour that depends on their number occurs. */
export function catalogue(draw: Draw, { reserved, types }: Pick<Traits, 'reserved' | 'types'>): readonly TypeEntry[] {
  const all = draw.pick(catalogues());
  const count = draw.pick(types);
  const start = draw.int(0, all.length - 1);
  const some = Array.from({ length: Math.min(count, all.length) }, (_, at) => all[(start + at) % all.length]);
  const soldOut = draw.pick([0, 0, 0.3]);
  return some
    .filter((type) => type !== undefined)
    .map((type) => ({
      ...type,
      offerings: [
        ...type.offerings.map((each) => (draw.chance(soldOut) ? { ...each, available: false } : each)),
        ...(reserved && draw.chance(0.15) ? [reservation(type, draw)] : []),
      ],
      requirements: reserved ? type.requirements.map(withReserved) : type.requirements,
    }));
}

const withReserved = (requirement: TypeEntry['requirements'][number]): TypeEntry['requirements'][number] =>
  requirement.key === CAPACITY_TYPE
    ? { ...requirement, values: [...(requirement.values ?? []), 'reserved'] }
    : requirement;

function reservation({ name, offerings }: TypeEntry, draw: Draw): OfferingEntry {
  const [base] = offerings;
  const requirements = [
    { key: CAPACITY_TYPE, operator: 'In', values: ['reserved'] },
    { key: ZONE, operator: 'In', values: [base === undefined ? 'us-west-2a' : zoneOf(base)] },
    { key: RESERVATION, operator: 'In', values: [`cr-${name}`] },
  ];
  const capacity = { reservationCapacity: draw.int(1, 2) };
  return { requirements, price: (base?.price ?? 1) / 10_000_000, available: true, ...capacity };
}
