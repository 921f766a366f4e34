/** Regular expressions in Go's syntax, as patterns and rules are written, run by JavaScript's engine. */

const compiled = new Map<string, RegExp>();

/**
 * Compiles a pattern once.
 *
 * @throws {SyntaxError} when the pattern is not a regular expression.
 */
export function regularExpression(pattern: string): RegExp {
  const known = compiled.get(pattern);
  if (known) return known;
  const expression = translate(pattern);
  compiled.set(pattern, expression);
  return expression;
}

function translate(pattern: string): RegExp {
  const flags = /^\(\?([ims]+)\)/.exec(pattern);
  const source = (flags ? pattern.slice(flags[0].length) : pattern)
    .replaceAll('(?P<', '(?<')
    .replaceAll('\\A', '^')
    .replaceAll('\\z', '$');
  // with the flag u, characters beyond 16 bits count as one; it refuses some harmless escapes that Go admits
  try {
    return new RegExp(source, `u${flags?.[1] ?? ''}`);
  } catch {
    return new RegExp(source, flags?.[1] ?? '');
  }
}
