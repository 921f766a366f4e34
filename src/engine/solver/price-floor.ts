/** What the nodes for some pods cost at least, however the pods share them: known before any packing is searched for. */
import { CAPACITY_TYPE_LABEL } from '../../api/labels.ts';
import { Requirements } from '../requirements.ts';
import { type PricedRoom, unitPricesOf } from '../unit-prices.ts';
import type { Claim } from './claim.ts';
import type { Dimensions } from './dimensions.ts';
import type { Shape } from './shape.ts';
import type { Template } from './template.ts';

/**
 * USD per hour below which no nodes can be bought for the pods of claims, each pod in the NodePool that it is in: what
 * fractions of nodes would cost that have room for the pods' CPU and memory, and no daemons to keep up.
 * @param avoided a capacity type that none of the nodes may have; infinite when nothing else is for sale
 */
export function priceFloor(claims: readonly Claim[], dimensions: Dimensions, avoided?: string): number {
  const [cpuAt, memoryAt] = [dimensions.position('cpu'), dimensions.position('memory')];
  if (cpuAt === undefined || memoryAt === undefined) return 0;
  let floor = 0;
  for (const [template, own] of Map.groupBy(claims, ({ state }) => state.template)) {
    const rooms = roomsOf(template, { cpuAt, memoryAt }, avoided);
    if (rooms.length === 0) return Number.POSITIVE_INFINITY;
    const totalAt = (at: number): number => own.reduce((sum, { state }) => sum + (state.amounts[at] ?? 0), 0);
    const [cpu, memory] = [totalAt(cpuAt), totalAt(memoryAt)];
    const prices = unitPricesOf(rooms, { cpu, memory });
    floor += cpu * prices.cpu + memory * prices.memory;
  }
  return floor;
}

interface Positions {
  readonly cpuAt: number;
  readonly memoryAt: number;
}

/** What a NodePool can buy, each at its best price. */
function roomsOf(template: Template, { cpuAt, memoryAt }: Positions, avoided?: string): readonly PricedRoom[] {
  const { catalogue, rows, extrasUsdPerHour } = template;
  const shape = withoutCapacityType(template.root, avoided);
  const prices = shape?.offerings.prices;
  const rooms: PricedRoom[] = [];
  for (const row of rows.members) {
    const usdPerHour = (prices?.[catalogue.typeAt(row)] ?? Number.POSITIVE_INFINITY) + extrasUsdPerHour;
    const amounts = catalogue.allocatableAt(row);
    if (amounts === undefined || !Number.isFinite(usdPerHour)) continue;
    // at least one unit, to divide by
    rooms.push({ cpu: Math.max(1, amounts[cpuAt] ?? 0), memory: Math.max(1, amounts[memoryAt] ?? 0), usdPerHour });
  }
  return rooms;
}

/** Undefined when nothing is left. */
function withoutCapacityType(root: Shape, avoided: string | undefined): Shape | undefined {
  if (avoided === undefined) return root;
  const others = Requirements.fromRequirements([{ key: CAPACITY_TYPE_LABEL, operator: 'NotIn', values: [avoided] }]);
  const shape = root.narrow(others);
  return 'code' in shape ? undefined : shape;
}
