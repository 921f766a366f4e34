/** Which running instances commitments cover, as AWS applies them: where they save most first. */
import { type Commitment, drawOf, type Usage } from './commitment.ts';

/** An instance that runs. */
export interface RunningInstance {
  /** Unlike that of any other: a provider id, or a name. */
  readonly id: string;
  readonly instanceType: string;
  readonly zone: string;
  readonly capacityType: string;
  /** Its price without commitments, USD per hour. */
  readonly usdPerHour: number;
  /** AWS's list price, where it differs. */
  readonly listUsdPerHour?: number | undefined;
}

interface Coverage {
  /** USD per hour of each instance's price that commitments cover, by id; those that have nothing are left out. */
  readonly covered: ReadonlyMap<string, number>;
  /** What is left of each commitment, in their order. */
  readonly left: readonly number[];
}

/** Instances that are equal to commitments, and how many there are. */
interface UsageGroup {
  readonly usage: Usage;
  readonly count: number;
}

interface GroupCoverage {
  /** How many instances of each group are covered; the last of them may be so in part. */
  readonly covered: readonly number[];
  readonly left: readonly number[];
}

/** Below this share of an instance or of a commitment nothing is left: sums of fractions are not exact. */
const TINY = 1e-9;

interface Match {
  readonly commitment: number;
  readonly group: number;
  readonly draw: number;
  /** The part of the price that the commitment takes for it: the less, the more it saves. */
  readonly part: number;
}

/**
 * Covers groups of instances. Zonal reserved instances go first, then regional ones from small sizes to large, then EC2
 * Instance Savings Plans, then Compute Savings Plans; of those the usage that saves the largest part of its price goes first,
 * and of equals the one with the lowest rate.
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
            // an instance that costs nothing has nothing to cover
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

/** Groups of on-demand instances, in the order of their names; others are not covered by commitments. */
export function groupsOf(instances: readonly RunningInstance[]): readonly (readonly RunningInstance[])[] {
  const onDemand = instances.filter(({ capacityType }) => capacityType === 'on-demand');
  const groups = Map.groupBy(onDemand, keyOf);
  return [...groups].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, group]) => group);
}

/**
 * Says per instance how many USD per hour commitments cover. Does the same for the same instances in whatever order: of equal
 * ones those with the lesser ids are covered first.
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
