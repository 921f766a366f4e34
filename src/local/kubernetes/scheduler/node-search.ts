/** In clusters of more than a hundred nodes, the scheduler scores only some of the feasible nodes. */

/** Minimum number of feasible nodes with which a search may end. */
const FEWEST = 100;
const FEWEST_PERCENT = 5;

/** Returns the number of feasible nodes after which a search ends: 50 % of all nodes, and less in large clusters. */
function enoughOf(nodes: number): number {
  const percent = Math.max(FEWEST_PERCENT, 50 - Math.floor(nodes / 125));
  return Math.max(FEWEST, Math.floor((nodes * percent) / 100));
}

/** Each search starts at the node at which the previous search ended, so that all nodes have the same chance. */
export class NodeSearch {
  #start = 0;

  /** Returns feasible nodes, up to this number. */
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
