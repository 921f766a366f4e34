/** Number and price of the NodeClaims that a log of decisions knows, so that each entry can show its effect. */

/** Nodes of the operator, including nodes that are about to start and excluding nodes that are about to end. */
export interface FleetSize {
  readonly nodes: number;
  readonly usdPerHour: number;
}

export interface FleetChange {
  readonly added?: { readonly nodeClaim: string; readonly usdPerHour: number };
  /** Names of NodeClaims. Unknown names are ignored. */
  readonly removed?: readonly string[];
}

export class Fleet {
  /** USD per hour by the name of the NodeClaim. Undefined before the first measurement. */
  #prices: Map<string, number> | undefined;

  /**
   * Replaces all NodeClaims. A NodeClaim without a measured price keeps its planned price.
   * @param prices USD per hour by the name of the NodeClaim, or undefined
   */
  measured(prices: ReadonlyMap<string, number | undefined>): void {
    const known = this.#prices;
    this.#prices = new Map([...prices].map(([name, usd]) => [name, usd ?? known?.get(name) ?? 0]));
  }

  /** Returns the sizes before and after a change, or undefined before the first measurement. */
  apply({ added, removed = [] }: FleetChange): { readonly before: FleetSize; readonly after: FleetSize } | undefined {
    const prices = this.#prices;
    if (prices === undefined) return undefined;
    const before = sizeOf(prices);
    if (added !== undefined) prices.set(added.nodeClaim, added.usdPerHour);
    for (const name of removed) prices.delete(name);
    return { before, after: sizeOf(prices) };
  }
}

const MICRO = 1e6;

function sizeOf(prices: ReadonlyMap<string, number>): FleetSize {
  let usd = 0;
  for (const price of prices.values()) usd += price;
  return { nodes: prices.size, usdPerHour: Math.round(usd * MICRO) / MICRO };
}
