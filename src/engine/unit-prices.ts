/** Computes the worth of resources at the prices of the available nodes. */
import { remembering } from '#lib';
import { includedCpu, surplusUsdPerHour } from './cpu-burst.ts';
import type { InstanceType } from './model.ts';

/** USD per hour for a millicore and for a byte of memory. */
export interface UnitPrices {
  readonly cpu: number;
  readonly memory: number;
}

/** Possible node: its capacity for pods, and its full cost in USD per hour. */
export interface PricedRoom {
  readonly cpu: number;
  readonly memory: number;
  readonly usdPerHour: number;
}

/**
 * Returns the rooms that stand for a node of an instance type. A burstable type has two: with the CPU that its price includes,
 * and with all CPU and the surplus credits for it. A mix of the two has the price of any use between.
 */
export function pricedRooms(type: InstanceType, room: PricedRoom): readonly PricedRoom[] {
  const included = includedCpu(type);
  if (included >= room.cpu) return [room];
  const whole = { ...room, usdPerHour: room.usdPerHour + surplusUsdPerHour(type, room.cpu) };
  return [{ ...room, cpu: Math.max(1, included) }, whole];
}

const STEPS = 60;

/**
 * Returns the prices that maximize the worth of the demand under the condition that no node is worth more than its cost. This is
 * the dual of the linear program that launches fractions of nodes for the demand, so no actual set of nodes can be cheaper. The
 * worth is concave in the price of CPU, so a ternary search is sufficient.
 * @param rooms nodes, each with some CPU and memory; if empty, resources are worth 0
 */
export function unitPricesOf(
  rooms: readonly PricedRoom[],
  { cpu = 0, memory = 0 }: { readonly cpu?: number; readonly memory?: number },
): UnitPrices {
  if (rooms.length === 0) return { cpu: 0, memory: 0 };
  let low = 0;
  const { highest, limiting } = limitsOf(rooms);
  let high = highest;
  const memoryPriceAt = (cpuPrice: number): number => {
    let lowest = Number.POSITIVE_INFINITY;
    for (const room of limiting) lowest = Math.min(lowest, memoryPriceIn(room, cpuPrice));
    return Math.max(0, lowest);
  };
  const worthAt = (cpuPrice: number): number => cpuPrice * cpu + memoryPriceAt(cpuPrice) * memory;
  for (let step = 0; step < STEPS; step++) {
    const [left, right] = [low + (high - low) / 3, high - (high - low) / 3];
    if (worthAt(left) < worthAt(right)) low = left;
    else high = right;
  }
  return { cpu: low, memory: memoryPriceAt(low) };
}

/** Returns the highest price of CPU, and the rooms that limit prices. Cached, because many demands have the same rooms. */
const limitsOf = remembering((rooms: readonly PricedRoom[]) => {
  const highest = Math.min(...rooms.map((room) => room.usdPerHour / room.cpu));
  return { highest, limiting: limitingRooms(rooms, highest) };
});

/** Returns the price of memory at which the room is worth its cost. */
const memoryPriceIn = ({ usdPerHour, cpu, memory }: PricedRoom, cpuPrice: number): number =>
  (usdPerHour - cpuPrice * cpu) / memory;

/**
 * Returns the rooms that can have the lowest price of memory. This price is linear in the price of CPU, so a room is never the
 * lowest one if another room is lower at both ends of the range.
 */
function limitingRooms(rooms: readonly PricedRoom[], highestCpuPrice: number): readonly PricedRoom[] {
  const ends = rooms.map((room) => ({
    room,
    first: memoryPriceIn(room, 0),
    last: memoryPriceIn(room, highestCpuPrice),
  }));
  let lowestLast = Number.POSITIVE_INFINITY;
  return ends
    .sort((a, b) => a.first - b.first || a.last - b.last)
    .filter(({ last }) => {
      const isLower = last < lowestLast;
      lowestLast = Math.min(lowestLast, last);
      return isLower;
    })
    .map(({ room }) => room);
}
