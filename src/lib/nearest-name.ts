/** Which known name a misspelt one stands for. */

/** Shorter beginnings stand for anything. */
const SHORTEST = 3;

/** Longer texts are no misspelt names, and would cost too much to compare. */
const LONGEST = 64;

/** How many letters must be inserted, deleted or replaced to make one text of the other. */
function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const replaced = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(replaced, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[b.length] ?? 0;
}

/**
 * The known name that is most like another: but for case and punctuation it begins with it or the other way round, or
 * differs in at most a third of its letters. Undefined when there is none. The first of several wins.
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
