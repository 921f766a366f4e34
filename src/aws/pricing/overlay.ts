/** Prices that NodeOverlays give to instance types by name; they stand in where AWS has none. */
import { isTrue } from '../../api/conditions.ts';
import { NODE_OVERLAY } from '../../api/kinds.ts';
import { INSTANCE_TYPE_LABEL } from '../../api/labels.ts';
import type { NodeOverlay } from '../../api/nodeoverlay.ts';
import type { Informers, Store } from '../../kube/client.ts';
import { monotonicMs, type Timepiece } from '../../lib/clock.ts';

const TTL_MS = 5 * 60_000;

/** The types that an overlay names, when it does nothing but name types and give their price. */
function pricedTypes({ spec }: NodeOverlay): readonly (readonly [string, number])[] {
  const [requirement, ...others] = spec.requirements;
  if (spec.price === undefined || others.length > 0) return [];
  if (requirement?.key !== INSTANCE_TYPE_LABEL || requirement.operator !== 'In') return [];
  const price = Number.parseFloat(spec.price);
  return Number.isNaN(price) ? [] : (requirement.values ?? []).map((type) => [type, price] as const);
}

/** Read every five minutes; overlays that do not pass validation are left out. */
export class OverlayPrices {
  readonly #overlays: Store<NodeOverlay>;
  readonly #clock: Timepiece;
  #prices: ReadonlyMap<string, number> = new Map();
  #readMs = Number.NEGATIVE_INFINITY;
  #version = 0;

  constructor(informers: Informers, clock: Timepiece) {
    this.#overlays = informers.store(NODE_OVERLAY, {}, { optional: true });
    this.#clock = clock;
  }

  /** Changes whenever some price did. */
  get version(): number {
    this.#read();
    return this.#version;
  }

  of(instanceType: string): number | undefined {
    this.#read();
    return this.#prices.get(instanceType);
  }

  #read(): void {
    const nowMs = monotonicMs(this.#clock);
    if (nowMs - this.#readMs < TTL_MS) return;
    const valid = this.#overlays.list().filter((overlay) => isTrue(overlay, 'ValidationSucceeded'));
    const prices = new Map(valid.flatMap(pricedTypes));
    this.#readMs = nowMs;
    if (prices.size === this.#prices.size && [...prices].every(([type, price]) => this.#prices.get(type) === price))
      return;
    this.#prices = prices;
    this.#version++;
  }
}
