/** Finds the ceiling that has no room for a node. */
import { type CountedLaunch, ceilingText, countedLaunches, launchAmount, USD } from '../ceilings.ts';
import type { Ceiling, InstanceType } from '../model.ts';
import { NODES } from '../pool-usage.ts';
import type { Requirements } from '../requirements.ts';
import { amountIn } from '../resources.ts';
import type { Cause } from './cause.ts';

interface CeilingDemand {
  /** Requirements of the NodePool and of the pod. */
  readonly requirements: Requirements;
  /** Instance types that can run the pod. */
  readonly types: readonly InstanceType[];
  readonly chargesUsdPerHour: number;
}

interface Exceeded {
  readonly ceiling: Ceiling;
  /** Resource. */
  readonly name: string;
}

/**
 * Returns the cause for the first ceiling that each launch of the instance types exceeds, with the cheapest of them. If different
 * ceilings exclude different launches, returns the ceiling that excludes the cheapest one.
 */
export function ceilingCause(
  ceilings: readonly Ceiling[],
  { requirements, types, chargesUsdPerHour }: CeilingDemand,
): Cause | undefined {
  const byCeiling = ceilings.map((ceiling) => ({
    ceiling,
    launches: types.flatMap((type) =>
      countedLaunches(ceiling.selector, type, { requirements, chargesUsdPerHour }).map((launch) => ({
        type,
        ...launch,
      })),
    ),
  }));
  const limits = byCeiling.flatMap(({ ceiling, launches }) =>
    Object.keys(ceiling.limits).map((name) => ({ ceiling, name, launches })),
  );
  const whole = limits.find(
    ({ ceiling, name, launches }) => launches.length > 0 && launches.every((each) => exceeds(ceiling, name, each)),
  );
  const partial = (): typeof whole => {
    const [cheapest] = cheapestFirst(byCeiling[0]?.launches ?? []);
    return limits.find(({ ceiling, name, launches }) => {
      const same = launches.find(({ type, offering }) => type === cheapest?.type && offering === cheapest.offering);
      return same !== undefined && exceeds(ceiling, name, same);
    });
  };
  const found = whole ?? partial();
  return found && causeOf(found, found.launches);
}

type Launch = CountedLaunch & { readonly type: InstanceType };

function exceeds({ limits, used }: Ceiling, name: string, launch: Launch): boolean {
  const amount = launchAmount(launch.type, launch, name);
  return amount > 0 && amount > amountIn(limits, name) - amountIn(used, name);
}

const cheapestFirst = (launches: readonly Launch[]): readonly Launch[] =>
  launches.toSorted((a, b) => Number(b.offering.available) - Number(a.offering.available) || a.usd - b.usd);

function causeOf({ ceiling, name }: Exceeded, launches: readonly Launch[]): Cause {
  const { object, field, limits, used } = ceiling;
  const path = `${field}.${name}`;
  const [cheapest] = cheapestFirst(launches.filter((launch) => exceeds(ceiling, name, launch)));
  return {
    code: 'ceiling',
    object,
    field: path,
    wanted: cheapest === undefined ? 'the pod needs one more node' : refusedText(cheapest, name),
    offered: `${name} ${ceilingText(name, amountIn(used, name))} of ${ceilingText(name, amountIn(limits, name))} in use`,
    remedy: `Increase ${path} of the ${object.kind}, or remove nodes.`,
  };
}

function refusedText(launch: Launch, name: string): string {
  const { type, offering } = launch;
  const size =
    name === USD || name === NODES ? '' : ` with ${name} ${ceilingText(name, launchAmount(type, launch, name))}`;
  return `the cheapest node for the pod is ${type.name}${size} for $${offering.usdPerHour.toFixed(4)}/h`;
}
