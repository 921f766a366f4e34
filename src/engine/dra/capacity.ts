/** Capacity of devices that a request consumes. */
import type { Alternative } from './claim-requests.ts';
import { roundedUp } from './exact-amounts.ts';
import type { Capacity, PoolDevice } from './pool-device.ts';

const NOTHING: ReadonlyMap<string, bigint> = new Map();

/**
 * Returns the capacity that a request consumes of a device, or undefined if the device cannot satisfy the request. Names of
 * capacity must be written as the driver publishes them, because kube-scheduler adds no domain to a name.
 */
export function consumptionOf(
  { look: { capacity, isShared } }: PoolDevice,
  { capacity: wanted }: Alternative,
): ReadonlyMap<string, bigint> | undefined {
  for (const [name, amount] of wanted) {
    const own = capacity.get(name);
    if (own === undefined || (!isShared && amount > own.value)) return undefined;
  }
  return isShared ? sharedConsumption(capacity, wanted) : NOTHING;
}

function sharedConsumption(
  capacity: ReadonlyMap<string, Capacity>,
  wanted: ReadonlyMap<string, bigint>,
): ReadonlyMap<string, bigint> | undefined {
  const consumed = new Map<string, bigint>();
  for (const [name, own] of capacity) {
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
