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

/**
 * Returns the known name that is most similar to a name, or undefined if no name is similar. Case and punctuation do not
 * matter. Names are similar if one is a prefix of the other, or if at most a third of the letters of the known name differ.
 * If several names are equally similar, returns the first.
 */
export function nearestName(name: string, known: readonly string[]): string | undefined {
  const plain = (text: string): string => text.toLowerCase().replace(/[^a-z0-9]/g, '');
  const wanted = plain(name);
  if (wanted.length < SHORTEST || name.length > LONGEST) return undefined;
  const beginning = known.find((each) => plain(each).startsWith(wanted) || wanted.startsWith(plain(each)));
  if (beginning !== undefined) return beginning;
  const distances = known.map((each) => ({ each, distance: editDistance(wanted, plain(each)) }));
  const [nearest] = distances.toSorted((a, b) => a.distance - b.distance);
  return nearest !== undefined && nearest.distance <= plain(nearest.each).length / 3 ? nearest.each : undefined;
}
