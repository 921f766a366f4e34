/** Capacity of shared devices that a request consumes. */
import type { Alternative } from './claim-requests.ts';
import { roundedUp } from './exact-amounts.ts';
import { type Capacity, type PoolDevice, qualifiedName } from './pool-device.ts';

/** Returns true if an exclusive device has at least the requested capacity. */
export function hasCapacity({ look, driver }: PoolDevice, { capacity }: Alternative): boolean {
  for (const [name, wanted] of capacity) {
    const own = look.capacity.get(qualifiedName(name, driver));
    if (own === undefined || wanted > own.value) return false;
  }
  return true;
}

/** Returns the capacity that a request consumes of a shared device, or undefined if the device cannot satisfy the request. */
export function consumptionOf(
  { look, driver }: PoolDevice,
  { capacity }: Alternative,
): ReadonlyMap<string, bigint> | undefined {
  const wanted = new Map([...capacity].map(([name, amount]) => [qualifiedName(name, driver), amount]));
  for (const name of wanted.keys()) if (!look.capacity.has(name)) return undefined;
  const consumed = new Map<string, bigint>();
  for (const [name, own] of look.capacity) {
    const amount = wanted.get(name);
    const rounded = amount === undefined ? own.default : roundedAmount(amount, own);
    if (rounded === undefined || rounded > own.value) return undefined;
    consumed.set(name, rounded);
  }
  return consumed;
}

/** Returns the smallest amount that the policy allows, or undefined if it allows none. */
function roundedAmount(wanted: bigint, { validValues, range }: Capacity): bigint | undefined {
  if (validValues !== undefined) return validValues.find((value) => value >= wanted);
  if (range === undefined) return wanted;
  const { min, max, step } = range;
  const amount = wanted <= min ? min : step === undefined ? wanted : roundedUp(wanted, min, step);
  return max !== undefined && amount > max ? undefined : amount;
}
