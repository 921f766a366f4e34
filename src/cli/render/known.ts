/** Finds nodes by name, and formats messages about a missing name, with the existing names as far as they fit. */

const MOST_NAMES = 10;

/** Formats `NodePool "a" not found in now.yaml; existing names: b, c and 3 more`. `where` is for example `in now.yaml`. */
export function notAmong(
  noun: string,
  name: string,
  { known, where }: { readonly known: readonly string[]; readonly where: string },
): string {
  if (known.length === 0) return `${noun} "${name}" not found ${where}; none exist`;
  const more = known.length - MOST_NAMES;
  const names = known.slice(0, MOST_NAMES).join(', ');
  return `${noun} "${name}" not found ${where}; existing names: ${names}${more > 0 ? ` and ${more} more` : ''}`;
}

interface NamedNode {
  readonly node: string;
  readonly nodeClaim?: string | undefined;
}

/**
 * Finds a node by its name, by its NodeClaim's name, or by the part of its name before the first dot.
 *
 * @throws Error with the known names
 */
export function nodeNamed<T extends NamedNode>(name: string, nodes: readonly T[], where: string): T {
  const found =
    nodes.find(({ node }) => node === name) ??
    nodes.find(({ node, nodeClaim }) => nodeClaim === name || node.startsWith(`${name}.`));
  if (found !== undefined) return found;
  throw new Error(notAmong('node', name, { known: nodes.map(({ node }) => node), where }));
}
