/** Report of instance types in a file or an endpoint. `--instance-types` of the command line reads this format. */
import { defined, timeOf, timestamp } from '#lib';
import type { CpuBurst } from './cpu-burst.ts';
import type { InstanceType, Offering, Outage, Requirement } from './model.ts';
import { quantityList, resourcesOf } from './resources.ts';
import type { VolumeLimits } from './volume-limits.ts';

type Quantities = Readonly<Record<string, string>>;

interface ReportedOffering {
  readonly requirements: readonly Requirement[];
  /** USD per hour. */
  readonly price: number;
  /** AWS list price, if the price book has a different price. */
  readonly listPrice?: number;
  /** Expected cost of interruptions in USD per hour, if the operator computes it. */
  readonly spotRisk?: number;
  readonly available: boolean;
  /** Present only if the offering is not available because launches failed. */
  readonly outage?: ReportedOutage;
  readonly reservationCapacity?: number;
}

interface ReportedOutage {
  /** Error code of EC2. */
  readonly reason?: string;
  /** Time of the next attempt, RFC 3339. */
  readonly until?: string;
}

/** Reported instance type. This type is a public format. */
export interface ReportedInstanceType {
  readonly name: string;
  readonly requirements: readonly Requirement[];
  readonly capacity: Quantities;
  /** Present only for burstable types whose surplus CPU count. */
  readonly cpuCredits?: CpuBurst;
  readonly overhead: Readonly<Record<'kubeReserved' | 'systemReserved' | 'evictionThreshold', Quantities>>;
  /** Predicted maximum number of volumes that a node attaches, by CSI driver. */
  readonly volumeLimits?: VolumeLimits;
  readonly offerings: readonly ReportedOffering[];
}

/** Report. Its JSON is a public format. NodePools have a separate list if their NodeClass provides other types than most. */
export interface InstanceTypeReport {
  readonly instanceTypes: ReportedTypes;
  readonly nodePools?: Readonly<Record<string, ReportedTypes>>;
}

/** List of types. Each type is created while it is written, so that hundreds of types can be written in steps. */
interface ReportedTypes extends Iterable<ReportedInstanceType> {
  toJSON(): readonly ReportedInstanceType[];
}

/** Entry of a file. Users may omit the overhead or parts of it. */
export type InstanceTypeEntry = Omit<ReportedInstanceType, 'overhead'> & {
  readonly overhead?: Partial<ReportedInstanceType['overhead']>;
};

const reportedOutage = (outage: Outage | undefined): ReportedOutage | undefined =>
  outage &&
  defined({ reason: outage.reason, until: outage.untilMs === undefined ? undefined : timestamp(outage.untilMs) });

const outageOf = ({ reason, until }: ReportedOutage): Outage => {
  const untilMs = timeOf(until);
  return defined({ reason, untilMs: Number.isNaN(untilMs) ? undefined : untilMs });
};

const reportedType = (type: InstanceType): ReportedInstanceType => ({
  name: type.name,
  requirements: type.requirements,
  capacity: quantityList(type.capacity),
  ...defined({ cpuCredits: type.cpuBurst }),
  overhead: {
    kubeReserved: quantityList(type.overhead.kubeReserved),
    systemReserved: quantityList(type.overhead.systemReserved),
    evictionThreshold: quantityList(type.overhead.evictionThreshold),
  },
  ...defined({ volumeLimits: type.volumeLimits }),
  offerings: type.offerings.map(({ requirements, usdPerHour, available, ...offering }) => ({
    requirements,
    price: usdPerHour,
    ...defined({ listPrice: offering.listUsdPerHour, spotRisk: offering.spotRiskUsdPerHour }),
    available,
    ...defined({ outage: reportedOutage(offering.outage), reservationCapacity: offering.reservationCapacity }),
  })),
});

/** Returns the instance type of a valid entry of the report. */
export const instanceTypeOf = (entry: InstanceTypeEntry): InstanceType => ({
  name: entry.name,
  requirements: entry.requirements,
  capacity: resourcesOf(entry.capacity),
  ...(entry.cpuCredits === undefined || entry.cpuCredits.utilization === 0 ? {} : { cpuBurst: entry.cpuCredits }),
  overhead: {
    kubeReserved: resourcesOf(entry.overhead?.kubeReserved),
    systemReserved: resourcesOf(entry.overhead?.systemReserved),
    evictionThreshold: resourcesOf(entry.overhead?.evictionThreshold),
  },
  ...defined({ volumeLimits: entry.volumeLimits }),
  offerings: entry.offerings.map(
    ({ requirements, price, listPrice, spotRisk, available, outage, reservationCapacity }): Offering => ({
      requirements,
      usdPerHour: price,
      ...defined({ listUsdPerHour: listPrice, spotRiskUsdPerHour: spotRisk }),
      available: available !== false,
      ...defined({ outage: outage && outageOf(outage), reservationCapacity }),
    }),
  ),
});

const reportedTypes = (types: readonly InstanceType[]): ReportedTypes => ({
  *[Symbol.iterator]() {
    for (const type of types) yield reportedType(type);
  },
  toJSON: () => types.map(reportedType),
});

/** Returns the report. Reports identical lists once, starting with the list that most NodePools use. Omits empty lists. */
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
