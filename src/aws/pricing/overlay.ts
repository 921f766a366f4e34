/** Prices that NodeOverlays give to instance types by name; they stand in where AWS tells none. */
import { isTrue } from '../../api/conditions.ts';
import { NODE_OVERLAY } from '../../api/kinds.ts';
import { INSTANCE_TYPE_LABEL } from '../../api/labels.ts';
import type { NodeOverlay } from '../../api/nodeoverlay.ts';
import type { Informers } from '../../kube/client.ts';
import { monotonicMs, type Timepiece } from '../../kube/clock.ts';

const TTL_MS = 5 * 60_000;

/** The types that an overlay names, when it does nothing but name types and give their price. */
function pricedTypes({ spec }: NodeOverlay): readonly (readonly [string, number])[] {
  const [requirement, ...others] = spec.requirements;
  if (spec.price === undefined || others.length > 0) return [];
  if (requirement?.key !== INSTANCE_TYPE_LABEL || requirement.operator !== 'In') return [];
  const price = Number.parseFloat(spec.price);
  return Number.isNaN(price) ? [] : (requirement.values ?? []).map((type) => [type, price] as const);
}

export type OverlayPrices = (instanceType: string) => number | undefined;

/** Read every five minutes; overlays that do not pass validation are left out. */
export function overlayPrices(informers: Informers, clock: Timepiece): OverlayPrices {
  const overlays = informers.store(NODE_OVERLAY, {}, { optional: true });
  let prices: ReadonlyMap<string, number> = new Map();
  let readMs = Number.NEGATIVE_INFINITY;
  return (instanceType) => {
    if (monotonicMs(clock) - readMs >= TTL_MS) {
      const valid = overlays.list().filter((overlay) => isTrue(overlay, 'ValidationSucceeded'));
      prices = new Map(valid.flatMap(pricedTypes));
      readMs = monotonicMs(clock);
    }
    return prices.get(instanceType);
  };
}
