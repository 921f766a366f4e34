/** What room is worth at the prices of the nodes that are for sale. */

/** USD per hour for a milli-core and for a byte of memory. */
export interface UnitPrices {
  readonly cpu: number;
  readonly memory: number;
}

/** A node that can be bought: the room for pods, and what it costs with everything, USD per hour. */
export interface PricedRoom {
  readonly cpu: number;
  readonly memory: number;
  readonly usdPerHour: number;
}

const STEPS = 60;

/**
 * The prices at which the demand is worth most while no node is worth more than it costs: the dual of the linear
 * program that buys fractions of nodes for the demand, so that no purchase can be cheaper. It is concave in the price of
 * CPU, which makes a ternary search enough.
 * @param rooms all with some CPU and memory; without any, room is worth nothing
 */
export function unitPricesOf(
  rooms: readonly PricedRoom[],
  { cpu = 0, memory = 0 }: { readonly cpu?: number; readonly memory?: number },
): UnitPrices {
  if (rooms.length === 0) return { cpu: 0, memory: 0 };
  const memoryPriceAt = (cpuPrice: number): number =>
    Math.max(0, Math.min(...rooms.map((room) => (room.usdPerHour - cpuPrice * room.cpu) / room.memory)));
  const worthAt = (cpuPrice: number): number => cpuPrice * cpu + memoryPriceAt(cpuPrice) * memory;
  let low = 0;
  let high = Math.min(...rooms.map((room) => room.usdPerHour / room.cpu));
  for (let step = 0; step < STEPS; step++) {
    const [left, right] = [low + (high - low) / 3, high - (high - low) / 3];
    if (worthAt(left) < worthAt(right)) low = left;
    else high = right;
  }
  return { cpu: low, memory: memoryPriceAt(low) };
}
