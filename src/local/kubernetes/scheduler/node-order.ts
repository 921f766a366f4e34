/** Order in which the scheduler evaluates nodes: zones alternate, and within a zone the oldest node comes first. */
export class NodeOrder<T> {
  /** Zones by the age of their oldest node. */
  readonly #zones = new Map<string, Set<T>>();
  readonly #zoneOf = new Map<T, string>();

  /** Adds a node or moves it to another zone. Returns whether this order changed. */
  put(node: T, zone: string): boolean {
    if (this.#zoneOf.get(node) === zone) return false;
    this.remove(node);
    const nodes = this.#zones.get(zone) ?? new Set();
    this.#zones.set(zone, nodes.add(node));
    this.#zoneOf.set(node, zone);
    return true;
  }

  remove(node: T): void {
    const zone = this.#zoneOf.get(node);
    if (zone === undefined) return;
    this.#zoneOf.delete(node);
    const nodes = this.#zones.get(zone);
    nodes?.delete(node);
    if (nodes?.size === 0) this.#zones.delete(zone);
  }

  list(): readonly T[] {
    const zones = [...this.#zones.values()].map((nodes) => [...nodes]);
    const longest = Math.max(0, ...zones.map((nodes) => nodes.length));
    return Array.from({ length: longest }, (_, index) =>
      zones.flatMap((nodes) => nodes.slice(index, index + 1)),
    ).flat();
  }
}
