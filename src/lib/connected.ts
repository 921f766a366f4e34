/** Components of a graph. */

/** Joins groups with common members. Takes nearly linear time, because groups can be a long chain. */
export function connected(groups: readonly (readonly string[])[]): readonly (readonly string[])[] {
  const parents = new Map<string, string>();
  const rootOf = (key: string): string => {
    let root = key;
    for (let parent = parents.get(root); parent !== undefined && parent !== root; parent = parents.get(root)) {
      // halves the path
      const grandparent = parents.get(parent) ?? parent;
      parents.set(root, grandparent);
      root = grandparent;
    }
    return root;
  };
  for (const [first = '', ...rest] of groups) {
    if (!parents.has(first)) parents.set(first, first);
    for (const key of rest) {
      if (!parents.has(key)) parents.set(key, key);
      parents.set(rootOf(key), rootOf(first));
    }
  }
  return [...Map.groupBy(parents.keys(), rootOf).values()];
}
