/** Finds the ceiling that has no room for a node. */
import { amountsUnder, ceilingText, highestUsd } from '../ceilings.ts';
import { cheapestOffering } from '../instance-types.ts';
import type { Ceiling, InstanceType } from '../model.ts';
import type { Requirements } from '../requirements.ts';
import { amountIn } from '../resources.ts';
import type { Cause } from './cause.ts';

/**
 * Returns the cause for the first ceiling that each of the instance types exceeds, with the cheapest of them.
 * @param requirements requirements of the NodePool and of the pod
 */
export function ceilingCause(
  ceilings: readonly Ceiling[],
  requirements: Requirements,
  types: readonly InstanceType[],
): Cause | undefined {
  for (const { object, field, limits, used } of ceilings) {
    const name = Object.keys(limits).find((each) =>
      types.every(
        (type) => amountIn(amountsUnder(type, requirements), each) > amountIn(limits, each) - amountIn(used, each),
      ),
    );
    if (name === undefined) continue;
    const path = `${field}.${name}`;
    return {
      code: 'ceiling',
      object,
      field: path,
      wanted: cheapestText(types, requirements),
      offered: `${name} ${ceilingText(name, amountIn(used, name))} of ${ceilingText(name, amountIn(limits, name))} in use`,
      remedy: `Increase ${path} of the ${object.kind}, or remove nodes.`,
    };
  }
  return undefined;
}

/** Returns the node that counts with the lowest price, which is that of its most expensive offering. */
function cheapestText(types: readonly InstanceType[], requirements: Requirements): string {
  const priced = types.flatMap((type) => {
    const offering = cheapestOffering(type, requirements);
    return offering === undefined
      ? []
      : [{ type, usd: offering.usdPerHour, countedUsd: highestUsd([type], requirements, 0) }];
  });
  const [cheapest] = priced.sort((a, b) => a.countedUsd - b.countedUsd || a.usd - b.usd);
  if (cheapest === undefined) return 'the pod needs one more node';
  const { type, usd, countedUsd } = cheapest;
  const counts = countedUsd > usd ? `, and counts with $${countedUsd.toFixed(4)}/h until its offering is known` : '';
  return `the cheapest node for the pod is ${type.name} for $${usd.toFixed(4)}/h${counts}`;
}
