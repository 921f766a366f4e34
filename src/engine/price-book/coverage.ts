/** Computes the running instances that commitments cover. Like AWS, applies commitments first where they save most. */
import { type Commitment, drawOf, type Usage } from './commitment.ts';

/** Running instance. */
export interface RunningInstance {
  /** Unique id: a provider id or a name. */
  readonly id: string;
  readonly instanceType: string;
  readonly zone: string;
  readonly capacityType: string;
  /** Price without commitments, in USD per hour. */
  readonly usdPerHour: number;
  /** AWS list price, if it differs. */
  readonly listUsdPerHour?: number | undefined;
}

interface Coverage {
  /** Covered part of each instance's price in USD per hour, by id. Instances without coverage are absent. */
  readonly covered: ReadonlyMap<string, number>;
  /** Unused part of each commitment, in the order of the commitments. */
  readonly left: readonly number[];
}

/** Number of instances that are equal for commitments. */
interface UsageGroup {
  readonly usage: Usage;
  readonly count: number;
}

interface GroupCoverage {
  /** Number of covered instances of each group. The last instance may be partly covered. */
  readonly covered: readonly number[];
  readonly left: readonly number[];
}

/** Share of an instance or of a commitment below which the rest counts as zero, because sums of fractions are not exact. */
const TINY = 1e-9;

interface Match {
  readonly commitment: number;
  readonly group: number;
  readonly draw: number;
  /** Part of the price that the commitment charges for the instance. A lower part means higher savings. */
  readonly part: number;
}

/**
 * Covers groups of instances. Applies zonal reserved instances first, then regional ones from small to large sizes, then
 * plans for a family, then plans for all types. Within plans, the usage that saves the largest part of its price comes
 * first. Ties are sorted by rate, lowest first.
 */
export function coverGroups(groups: readonly UsageGroup[], commitments: readonly Commitment[]): GroupCoverage {
  const open = groups.map(({ count }) => count);
  const left = commitments.map(({ amount }) => amount);
  for (const kind of new Set(commitments.map((commitment) => commitment.kind))) {
    for (const { commitment, group, draw } of matchesOf(kind, groups, commitments)) {
      const rest = left[commitment] as number;
      const waiting = open[group] as number;
      const taken = draw <= 0 ? waiting : Math.min(waiting, rest / draw);
      if (taken <= TINY) continue;
      open[group] = settled(waiting - taken);
      left[commitment] = settled(rest - taken * draw);
    }
  }
  return { covered: groups.map(({ count }, at) => count - (open[at] as number)), left };
}

const settled = (amount: number): number => (amount <= TINY ? 0 : amount);

function matchesOf(
  kind: Commitment['kind'],
  groups: readonly UsageGroup[],
  commitments: readonly Commitment[],
): readonly Match[] {
  const isPlan = kind === 'ec2-instance-savings-plan' || kind === 'compute-savings-plan';
  return commitments
    .flatMap((commitment, at) =>
      commitment.kind !== kind
        ? []
        : groups.flatMap(({ usage }, group): readonly Match[] => {
            const draw = drawOf(commitment, usage);
            // an instance without a price has no cost to cover
            if (draw === undefined || usage.usdPerHour <= 0) return [];
            return [{ commitment: at, group, draw, part: isPlan ? draw / usage.listUsdPerHour : 0 }];
          }),
    )
    .sort((a, b) => a.part - b.part || a.draw - b.draw || a.commitment - b.commitment || a.group - b.group);
}

export const usageOf = ({ instanceType, zone, usdPerHour, listUsdPerHour = usdPerHour }: RunningInstance): Usage => ({
  instanceType,
  zone,
  usdPerHour,
  listUsdPerHour,
});

const keyOf = ({ instanceType, zone, usdPerHour, listUsdPerHour }: RunningInstance): string =>
  `${instanceType} ${zone} ${usdPerHour} ${listUsdPerHour ?? ''}`;

/** Returns groups of on-demand instances, sorted by name. Commitments do not cover other capacity types. */
export function groupsOf(instances: readonly RunningInstance[]): readonly (readonly RunningInstance[])[] {
  const onDemand = instances.filter(({ capacityType }) => capacityType === 'on-demand');
  const groups = Map.groupBy(onDemand, keyOf);
  return [...groups].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, group]) => group);
}

/**
 * Returns the covered USD per hour of each instance. The result does not depend on the order of the instances: within equal
 * instances, lower ids are covered first.
 */
export function coverageOf(instances: readonly RunningInstance[], commitments: readonly Commitment[]): Coverage {
  const groups = groupsOf(instances).map((group) => group.toSorted((a, b) => (a.id < b.id ? -1 : 1)));
  const { covered, left } = coverGroups(
    groups.map((group) => ({ usage: usageOf(group[0] as RunningInstance), count: group.length })),
    commitments,
  );
  const byId = new Map<string, number>();
  for (const [at, group] of groups.entries()) {
    let rest = covered[at] as number;
    for (const { id, usdPerHour } of group) {
      const part = Math.min(1, rest);
      if (part <= TINY) break;
      byId.set(id, part * usdPerHour);
      rest -= part;
    }
  }
  return { covered: byId, left };
}
