/**
 * Regular expressions of users in patterns of CRDs and in rules. Like the API server, this module uses RE2 with linear time and
 * its syntax. JavaScript's engine backtracks, and needs minutes for some patterns (such as Karpenter's pattern for schedules) and
 * a text of a few kilobytes.
 */
import { RE2JS } from 're2js';
import { messageOf } from '#lib';

const MAX_REMEMBERED = 1_000;
const compiled = new Map<string, Pattern>();

export interface Pattern {
  /** Returns true if this pattern matches anywhere in the text. */
  test(text: string): boolean;
  /** Returns the matches from left to right. */
  matches(text: string, limit: number): string[];
}

/** Weight of a named class, which compiles to about a hundred ranges. */
const NAMED_CLASS_WEIGHT = 100;

/**
 * Returns an upper estimate of the size of a compiled pattern, in characters: repetitions such as `{1000}` are compiled
 * as copies, and RE2 limits their product to 1,000.
 */
export function patternWeight(pattern: string): number {
  let copies = 1;
  for (const [, least, most = least] of pattern.matchAll(/\{(\d{1,4})(?:,(\d{0,4}))?\}/g))
    copies += Math.max(Number(least), Number(most));
  const classes = pattern.match(/\\p|\[:/gi)?.length ?? 0;
  return (pattern.length + classes * NAMED_CLASS_WEIGHT) * copies;
}

/**
 * Compiles a pattern once.
 *
 * @throws {SyntaxError} if the pattern is not a regular expression.
 */
export function regularExpression(pattern: string): Pattern {
  const known = compiled.get(pattern);
  if (known) return known;
  const made = patternOf(pattern);
  if (compiled.size >= MAX_REMEMBERED) compiled.clear();
  compiled.set(pattern, made);
  return made;
}

function patternOf(pattern: string): Pattern {
  let expression: RE2JS;
  try {
    expression = RE2JS.compile(pattern);
  } catch (error) {
    throw new SyntaxError(messageOf(error), { cause: error });
  }
  return {
    test: (text) => expression.test(text),
    matches(text, limit) {
      const matcher = expression.matcher(text);
      const found: string[] = [];
      while (found.length < limit && matcher.find()) found.push(matcher.group() ?? '');
      return found;
    },
  };
}
