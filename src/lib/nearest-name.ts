/** Finds the known name that a misspelled name stands for. */

/** Minimum length of a name. Shorter prefixes match too many names. */
const SHORTEST = 3;

/** Maximum length of a name. Longer texts are not misspelled names, and comparing them would cost too much. */
const LONGEST = 64;

/** Returns the number of letters to insert, delete or replace, or of neighbours to swap, to turn one text into the other. */
function editDistance(a: string, b: string): number {
  let before: readonly number[] = [];
  let row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const replaced = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      const isSwapped = a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      const swapped = isSwapped ? (before[j - 2] ?? replaced) + 1 : replaced;
      next.push(Math.min(replaced, swapped, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    [before, row] = [row, next];
  }
  return row[b.length] ?? 0;
}

/** Sorts known names by their similarity to a name, the most similar first. */
export const sortByCloseness = (name: string, known: readonly string[]): readonly string[] =>
  name.length > LONGEST
    ? known
    : known
        .map((each) => ({ each, distance: editDistance(plain(name), plain(each)) }))
        .toSorted((a, b) => a.distance - b.distance)
        .map(({ each }) => each);

/** Terms with opposite meanings. The second term may contain the first. */
const OPPOSITES: readonly (readonly [string, string])[] = [
  ['min', 'max'],
  ['enable', 'disable'],
  ['available', 'unavailable'],
  ['include', 'exclude'],
  ['allow', 'deny'],
  ['allow', 'forbid'],
  ['allow', 'disallow'],
  ['accept', 'reject'],
  ['required', 'preferred'],
  ['before', 'after'],
  ['first', 'last'],
  ['lower', 'upper'],
  ['least', 'most'],
  ['start', 'stop'],
  ['create', 'delete'],
  ['attach', 'detach'],
  ['public', 'private'],
  ['internal', 'external'],
  ['ingress', 'egress'],
  ['input', 'output'],
  ['read', 'write'],
  ['healthy', 'unhealthy'],
  ['schedulable', 'unschedulable'],
  ['managed', 'unmanaged'],
  ['exist', 'notexist'],
  ['with', 'without'],
];

/** Words that negate a name, and prefixes that negate a word. */
const NEGATIONS: readonly string[] = ['not', 'no', 'non', 'without', 'never', 'anti'];
const NEGATIVE_PREFIXES: readonly string[] = ['un', 'dis', 'non', 'in', 'de', 'anti'];

const plain = (text: string): string => text.toLowerCase().replace(/[^a-z0-9]/g, '');

/** Returns 0 or 1 if the name contains only the first or only the second term of a pair. */
function sideOf(name: string, [left, right]: readonly [string, string]): 0 | 1 | undefined {
  const hasRight = name.includes(right);
  const hasLeft = name.replaceAll(right, '').includes(left);
  if (hasLeft === hasRight) return undefined;
  return hasRight ? 1 : 0;
}

/** Splits a name at punctuation and capital letters. */
const wordsOf = (name: string): readonly string[] =>
  name
    .replace(/([a-z0-9])([A-Z])/g, '$1 $2')
    .toLowerCase()
    .split(/[^a-z0-9]+/)
    .filter((word) => word !== '');

/** Returns true if a name has a word that negates the other name. */
function isNegated(name: string, other: string): boolean {
  const others = new Set(wordsOf(other));
  return wordsOf(name).some(
    (word) =>
      !others.has(word) &&
      (NEGATIONS.includes(word) ||
        NEGATIVE_PREFIXES.some((prefix) => word.startsWith(prefix) && others.has(word.slice(prefix.length)))),
  );
}

/** Returns true if two names contain terms with opposite meanings. */
const areOpposite = (a: string, b: string): boolean =>
  isNegated(a, b) ||
  isNegated(b, a) ||
  OPPOSITES.some((pair) => {
    const [left, right] = [sideOf(plain(a), pair), sideOf(plain(b), pair)];
    return left !== undefined && right !== undefined && left !== right;
  });

/**
 * Returns the known name that is most similar to a name, or undefined if no name is similar. Case and punctuation do not
 * matter. Names are similar if one is a prefix of the other, or if at most a third of the letters of the known name differ.
 * If several names are equally similar, returns the first. Never returns a name with the opposite meaning, such as
 * `maxUnavailable` for `minAvailable`.
 */
export function nearestName(name: string, known: readonly string[]): string | undefined {
  const wanted = plain(name);
  if (wanted.length < SHORTEST || name.length > LONGEST) return undefined;
  const isMeant = (each: string): boolean => !areOpposite(name, each);
  const beginning = known.find(
    (each) => (plain(each).startsWith(wanted) || wanted.startsWith(plain(each))) && isMeant(each),
  );
  if (beginning !== undefined) return beginning;
  return known
    .map((each) => ({ each, distance: editDistance(wanted, plain(each)) }))
    .filter(({ each, distance }) => distance <= plain(each).length / 3)
    .toSorted((a, b) => a.distance - b.distance)
    .find(({ each }) => isMeant(each))?.each;
}
