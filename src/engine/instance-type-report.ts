/** Instance types as a file or an endpoint reports them; `--instance-types` of the command line reads it. */
import type { InstanceType, Requirement } from './model.ts';
import { quantityList } from './resources.ts';

type Quantities = Readonly<Record<string, string>>;

interface ReportedOffering {
  readonly requirements: readonly Requirement[];
  /** USD per hour. */
  readonly price: number;
  /** AWS's list price, where the price book makes it another. */
  readonly listPrice?: number;
  /** USD per hour that interruptions are expected to cost, where the operator counts them. */
  readonly spotRisk?: number;
  readonly available: boolean;
  readonly reservationCapacity?: number;
}

/** Of public form. */
interface ReportedInstanceType {
  readonly name: string;
  readonly requirements: readonly Requirement[];
  readonly capacity: Quantities;
  readonly overhead: Readonly<Record<'kubeReserved' | 'systemReserved' | 'evictionThreshold', Quantities>>;
  readonly offerings: readonly ReportedOffering[];
}

/** Of public form once it is JSON. NodePools whose NodeClass shows them other types than most have their own list. */
export interface InstanceTypeReport {
  readonly instanceTypes: ReportedTypes;
  readonly nodePools?: Readonly<Record<string, ReportedTypes>>;
}

/** Each type is made when it is written, so that hundreds of them can be written in steps. */
interface ReportedTypes extends Iterable<ReportedInstanceType> {
  toJSON(): readonly ReportedInstanceType[];
}

const reportedType = ({ name, requirements, capacity, overhead, offerings }: InstanceType): ReportedInstanceType => ({
  name,
  requirements,
  capacity: quantityList(capacity),
  overhead: {
    kubeReserved: quantityList(overhead.kubeReserved),
    systemReserved: quantityList(overhead.systemReserved),
    evictionThreshold: quantityList(overhead.evictionThreshold),
  },
  offerings: offerings.map(
    ({ requirements: own, usdPerHour: price, listUsdPerHour, spotRiskUsdPerHour, available, reservationCapacity }) => ({
      requirements: own,
      price,
      ...(listUsdPerHour === undefined ? {} : { listPrice: listUsdPerHour }),
      ...(spotRiskUsdPerHour === undefined ? {} : { spotRisk: spotRiskUsdPerHour }),
      available,
      ...(reservationCapacity === undefined ? {} : { reservationCapacity }),
    }),
  ),
});

const reportedTypes = (types: readonly InstanceType[]): ReportedTypes => ({
  *[Symbol.iterator]() {
    for (const type of types) yield reportedType(type);
  },
  toJSON: () => types.map(reportedType),
});

/** Lists that are one and the same are reported once; that which most NodePools see comes first. Empty ones are left out. */
export function instanceTypeReport(pools: ReadonlyMap<string, readonly InstanceType[]>): InstanceTypeReport {
  const known = [...pools].filter(([, types]) => types.length > 0);
  const [most, ...others] = [...Map.groupBy(known, ([, types]) => types)].sort(([, a], [, b]) => b.length - a.length);
  const own = others.flatMap(([types, seenBy]) => {
    const reported = reportedTypes(types);
    return seenBy.map(([name]) => [name, reported] as const);
  });
  return {
    instanceTypes: reportedTypes(most?.[0] ?? []),
    ...(own.length === 0 ? {} : { nodePools: Object.fromEntries(own) }),
  };
}
