/** Computes the difference of two texts in the format of `diff -u`. */

interface Edit {
  readonly sign: ' ' | '-' | '+';
  readonly line: string;
}

/** Lines of context around a change. */
const CONTEXT = 3;
/** Maximum number of edits. The search is quadratic, so more edits are shown as a replacement of all lines. */
const MOST_EDITS = 2000;

/** Splits a text into lines, including their newline. */
const linesOf = (text: string): readonly string[] => {
  const lines = text.split('\n');
  return lines.map((line, index) => (index < lines.length - 1 ? `${line}\n` : line)).filter((line) => line !== '');
};

/** Counts added and removed lines. */
export function changedLines(before: string, after: string): { readonly added: number; readonly removed: number } {
  const edits = editsOf(linesOf(before), linesOf(after));
  const count = (sign: Edit['sign']): number => edits.filter((edit) => edit.sign === sign).length;
  return { added: count('+'), removed: count('-') };
}

/** Returns an empty text if both texts are equal. */
export function unifiedDiff(name: string, before: string, after: string): string {
  if (before === after) return '';
  const edits = editsOf(linesOf(before), linesOf(after));
  return [`--- ${name}\n`, `+++ ${name}\n`, ...hunksOf(edits)].join('');
}

function editsOf(before: readonly string[], after: readonly string[]): readonly Edit[] {
  let head = 0;
  while (head < before.length && head < after.length && before[head] === after[head]) head += 1;
  let tail = 0;
  const most = Math.min(before.length, after.length) - head;
  while (tail < most && before[before.length - 1 - tail] === after[after.length - 1 - tail]) tail += 1;
  const [old, now] = [before.slice(head, before.length - tail), after.slice(head, after.length - tail)];
  const kept = (lines: readonly string[]): readonly Edit[] => lines.map((line) => ({ sign: ' ', line }));
  return [...kept(before.slice(0, head)), ...shortest(old, now), ...kept(before.slice(before.length - tail))];
}

/** Finds the shortest list of edits with Myers' algorithm. */
function shortest(before: readonly string[], after: readonly string[]): readonly Edit[] {
  const trace: Map<number, number>[] = [];
  const reach = new Map([[1, 0]]);
  const most = Math.min(before.length + after.length, MOST_EDITS);
  for (let count = 0; count <= most; count += 1) {
    trace.push(new Map(reach));
    for (let diagonal = -count; diagonal <= count; diagonal += 2) {
      const x = advance(before, after, { from: startOn(reach, diagonal, count), diagonal });
      reach.set(diagonal, x);
      if (x >= before.length && x - diagonal >= after.length) return walkBack(before, after, trace);
    }
  }
  return [...before.map((line): Edit => ({ sign: '-', line })), ...after.map((line): Edit => ({ sign: '+', line }))];
}

const at = (reach: ReadonlyMap<number, number>, diagonal: number): number => reach.get(diagonal) ?? -1;

const isDown = (reach: ReadonlyMap<number, number>, diagonal: number, count: number): boolean =>
  diagonal === -count || (diagonal !== count && at(reach, diagonal - 1) < at(reach, diagonal + 1));

const startOn = (reach: ReadonlyMap<number, number>, diagonal: number, count: number): number =>
  isDown(reach, diagonal, count) ? at(reach, diagonal + 1) : at(reach, diagonal - 1) + 1;

function advance(
  before: readonly string[],
  after: readonly string[],
  { from, diagonal }: { readonly from: number; readonly diagonal: number },
): number {
  let x = from;
  while (x < before.length && x - diagonal < after.length && before[x] === after[x - diagonal]) x += 1;
  return x;
}

function walkBack(
  before: readonly string[],
  after: readonly string[],
  trace: readonly ReadonlyMap<number, number>[],
): readonly Edit[] {
  const edits: Edit[] = [];
  let [x, y] = [before.length, after.length];
  for (let count = trace.length - 1; count >= 0; count -= 1) {
    const reach = trace[count] ?? new Map<number, number>();
    const diagonal = x - y;
    const down = isDown(reach, diagonal, count);
    const from = down ? diagonal + 1 : diagonal - 1;
    const startX = count === 0 ? 0 : at(reach, from);
    const startY = count === 0 ? 0 : startX - from;
    while (x > startX && y > startY) {
      x -= 1;
      y -= 1;
      edits.push({ sign: ' ', line: before[x] ?? '' });
    }
    if (count === 0) break;
    edits.push(down ? { sign: '+', line: after[startY] ?? '' } : { sign: '-', line: before[startX] ?? '' });
    [x, y] = [startX, startY];
  }
  return edits.reverse();
}

function hunksOf(edits: readonly Edit[]): readonly string[] {
  const changed = edits.flatMap(({ sign }, index) => (sign === ' ' ? [] : [index]));
  const groups: [first: number, last: number][] = [];
  for (const index of changed) {
    const last = groups.at(-1);
    if (last !== undefined && index - last[1] <= 2 * CONTEXT) last[1] = index;
    else groups.push([index, index]);
  }
  return groups.map(([first, last]) => hunkText(edits, Math.max(0, first - CONTEXT), last + 1 + CONTEXT));
}

function hunkText(edits: readonly Edit[], start: number, end: number): string {
  const length = (part: readonly Edit[], without: Edit['sign']): number =>
    part.filter(({ sign }) => sign !== without).length;
  const [head, part] = [edits.slice(0, start), edits.slice(start, end)];
  const range = (without: Edit['sign']): string => {
    const count = length(part, without);
    return `${length(head, without) + (count === 0 ? 0 : 1)},${count}`;
  };
  const lines = part.map(({ sign, line }) =>
    line.endsWith('\n') ? `${sign}${line}` : `${sign}${line}\n\\ No newline at end of file\n`,
  );
  return `@@ -${range('+')} +${range('-')} @@\n${lines.join('')}`;
}
