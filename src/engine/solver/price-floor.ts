/** Computes a lower bound of the cost of the nodes for some pods, for any distribution of the pods, before a packing search. */
import { CAPACITY_TYPE_LABEL } from '#api/objects';
import type { InstanceType } from '../model.ts';
import { Requirements } from '../requirements.ts';
import { type PricedRoom, pricedRooms, unitPricesOf } from '../unit-prices.ts';
import type { Claim } from './claim.ts';
import { type Amounts, type Dimensions, sum } from './dimensions.ts';
import type { Shape } from './shape.ts';
import type { Template } from './template.ts';

/**
 * Returns the lower bound in USD per hour of the cost of nodes for the pods of claims, if each pod stays in its NodePool. The
 * bound is the cost of fractions of nodes with enough CPU and memory for the pods, without daemons.
 * @param avoided capacity type that no node may have; the result is Infinity if nothing else is available
 */
export function priceFloor(claims: readonly Claim[], dimensions: Dimensions, avoided?: string): number {
  const positions = positionsIn(dimensions);
  if (positions === undefined) return 0;
  let floor = 0;
  for (const [template, own] of Map.groupBy(claims, ({ state }) => state.template))
    floor += floorOf(template, own.map(({ state }) => state.amounts).reduce(sum), positions, avoided);
  return floor;
}

/** Returns the lower bound of the cost of a NodePool's nodes for pods with these amounts in total, in USD per hour. */
export function floorOf(template: Template, total: Amounts, positions: Positions, avoided?: string): number {
  const rooms = roomsOf(template, positions, avoided);
  if (rooms.length === 0) return Number.POSITIVE_INFINITY;
  const [cpu, memory] = [total[positions.cpuAt] ?? 0, total[positions.memoryAt] ?? 0];
  const prices = unitPricesOf(rooms, { cpu, memory });
  return cpu * prices.cpu + memory * prices.memory;
}

/** Positions of resources in amounts. */
export interface Positions {
  readonly cpuAt: number;
  readonly memoryAt: number;
}

/** Returns undefined if no node has CPU or memory. */
export function positionsIn(dimensions: Dimensions): Positions | undefined {
  const [cpuAt, memoryAt] = [dimensions.position('cpu'), dimensions.position('memory')];
  return cpuAt === undefined || memoryAt === undefined ? undefined : { cpuAt, memoryAt };
}

/** Returns the node sizes that a NodePool can launch, each at its best price. */
function roomsOf(template: Template, { cpuAt, memoryAt }: Positions, avoided?: string): readonly PricedRoom[] {
  const { catalogue, rows, extrasUsdPerHour } = template;
  const shape = withoutCapacityType(template.root, avoided);
  const prices = shape?.offerings.prices;
  const rooms: PricedRoom[] = [];
  for (const row of rows.members) {
    const usdPerHour = (prices?.[catalogue.typeAt(row)] ?? Number.POSITIVE_INFINITY) + extrasUsdPerHour;
    const amounts = catalogue.allocatableAt(row);
    if (amounts === undefined || !Number.isFinite(usdPerHour)) continue;
    // at least one unit, because the amount is a divisor
    const room = { cpu: Math.max(1, amounts[cpuAt] ?? 0), memory: Math.max(1, amounts[memoryAt] ?? 0), usdPerHour };
    rooms.push(...pricedRooms(catalogue.types[catalogue.typeAt(row)] as InstanceType, room));
  }
  return rooms;
}

/** Returns undefined if no requirements are left. */
function withoutCapacityType(root: Shape, avoided: string | undefined): Shape | undefined {
  if (avoided === undefined) return root;
  const others = Requirements.fromRequirements([{ key: CAPACITY_TYPE_LABEL, operator: 'NotIn', values: [avoided] }]);
  const shape = root.narrow(others);
  return 'code' in shape ? undefined : shape;
}
