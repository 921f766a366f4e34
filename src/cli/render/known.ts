/** Formats messages about a missing name, with the existing names as far as they fit. */

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
