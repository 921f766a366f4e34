/** Prices that NodeOverlays set for instance types by name. They apply to types without an AWS price. */
import { INSTANCE_TYPE_LABEL, isTrue, NODE_OVERLAY, type NodeOverlay } from '#api/objects';
import type { Informers, Store } from '#kube/client';
import { monotonicMs, type Timepiece } from '#lib/clock';

const TTL_MS = 5 * 60_000;

/** Returns the types and prices of an overlay that only selects types by name and sets their price. */
function pricedTypes({ spec }: NodeOverlay): readonly (readonly [string, number])[] {
  const [requirement, ...others] = spec.requirements;
  if (spec.price === undefined || others.length > 0) return [];
  if (requirement?.key !== INSTANCE_TYPE_LABEL || requirement.operator !== 'In') return [];
  const price = Number.parseFloat(spec.price);
  return Number.isNaN(price) ? [] : (requirement.values ?? []).map((type) => [type, price] as const);
}

/** Reads the overlays every five minutes. Overlays that fail validation are left out. */
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

  /** Changes if a price has changed. */
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
