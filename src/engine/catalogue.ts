/** Instance types as a file or an endpoint tells them; `--instance-types` of the command line reads it. */
import type { InstanceType, Requirement } from './model.ts';
import { quantityList } from './resources.ts';

type Quantities = Readonly<Record<string, string>>;

export interface ToldOffering {
  readonly requirements: readonly Requirement[];
  /** USD per hour. */
  readonly price: number;
  readonly available: boolean;
  readonly reservationCapacity?: number;
}

/** Of public form. */
export interface ToldInstanceType {
  readonly name: string;
  readonly requirements: readonly Requirement[];
  readonly capacity: Quantities;
  readonly overhead: Readonly<Record<'kubeReserved' | 'systemReserved' | 'evictionThreshold', Quantities>>;
  readonly offerings: readonly ToldOffering[];
}

/** Of public form once it is JSON. NodePools whose NodeClass shows them other types than most have their own list. */
export interface ToldCatalogue {
  readonly instanceTypes: ToldTypes;
  readonly nodePools?: Readonly<Record<string, ToldTypes>>;
}

/** Each type is made when it is asked for, so that hundreds of them can be written in steps. */
export interface ToldTypes extends Iterable<ToldInstanceType> {
  toJSON(): readonly ToldInstanceType[];
}

const toldType = ({ name, requirements, capacity, overhead, offerings }: InstanceType): ToldInstanceType => ({
  name,
  requirements,
  capacity: quantityList(capacity),
  overhead: {
    kubeReserved: quantityList(overhead.kubeReserved),
    systemReserved: quantityList(overhead.systemReserved),
    evictionThreshold: quantityList(overhead.evictionThreshold),
  },
  offerings: offerings.map(({ requirements: own, usdPerHour: price, available, reservationCapacity }) => ({
    requirements: own,
    price,
    available,
    ...(reservationCapacity === undefined ? {} : { reservationCapacity }),
  })),
});

const toldTypes = (types: readonly InstanceType[]): ToldTypes => ({
  *[Symbol.iterator]() {
    for (const type of types) yield toldType(type);
  },
  toJSON: () => types.map(toldType),
});

/** Lists that are one and the same are told once; that which most NodePools see comes first. Empty ones are left out. */
export function toldCatalogue(pools: ReadonlyMap<string, readonly InstanceType[]>): ToldCatalogue {
  const known = [...pools].filter(([, types]) => types.length > 0);
  const [most, ...others] = [...Map.groupBy(known, ([, types]) => types)].sort(([, a], [, b]) => b.length - a.length);
  const own = others.flatMap(([types, seenBy]) => {
    const told = toldTypes(types);
    return seenBy.map(([name]) => [name, told] as const);
  });
  return {
    instanceTypes: toldTypes(most?.[0] ?? []),
    ...(own.length === 0 ? {} : { nodePools: Object.fromEntries(own) }),
  };
}
