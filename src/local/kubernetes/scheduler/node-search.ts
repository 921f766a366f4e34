/** In clusters of more than a hundred nodes, the scheduler rates only some of the nodes that fit. */

/** Fewest nodes that fit with which a search may end. */
const FEWEST = 100;
const FEWEST_PERCENT = 5;

/** Number of nodes that fit after which a search ends: 50 % of all nodes, in large clusters less. */
function enoughOf(nodes: number): number {
  const percent = Math.max(FEWEST_PERCENT, 50 - Math.floor(nodes / 125));
  return Math.max(FEWEST, Math.floor((nodes * percent) / 100));
}

/** Each search begins at the node at which the one before ended, so that all nodes have the same chance. */
export class NodeSearch {
  #start = 0;

  /** Returns the nodes that fit, up to the number that is enough. */
  find<T>(nodes: readonly T[], fits: (node: T) => boolean): readonly T[] {
    const enough = enoughOf(nodes.length);
    const found: T[] = [];
    const start = this.#start % nodes.length;
    let looked = 0;
    while (looked < nodes.length && found.length < enough) {
      const node = nodes[(start + looked) % nodes.length] as T;
      if (fits(node)) found.push(node);
      looked += 1;
    }
    this.#start = (start + looked) % nodes.length;
    return found;
  }
}
