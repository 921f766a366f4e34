/** The table of docs/replay.md with the results of `npm run bench -- life`. */
import { lifeRows } from '../../../src/cli/replay/lives.ts';
import { compareLives, LIFE_AMOUNTS } from '../../../src/replay/lives/life-runs.ts';
import type { LifeAmount, LifeFigures, LivesSummary } from '../../../src/replay/lives/lives-result.ts';

/** Lives of one trace with every setting. */
export interface LivesOfTrace {
  readonly trace: string;
  readonly lives: LivesSummary;
}

export const BEGIN = '<!-- life -->';
export const END = '<!-- /life -->';
const FIGURES: readonly string[] = ['cost', 'evictions', 'launches', 'p95 waiting', 'hours waiting', 'unfinished'];
const AVERAGED: readonly LifeAmount[] = ['waitingP50', 'waitingP95'];

/** Returns the table. Each set is compared with the first. */
export function lifeTable(results: readonly LivesOfTrace[]): string {
  const [first] = results;
  if (first === undefined) return '';
  const names = first.lives.sets.map(({ name }) => name);
  const together = results.length > 1 ? [{ trace: 'all traces together', lives: togetherOf(results) }] : [];
  const rows = [...together, ...results].flatMap(({ trace, lives }) =>
    lifeRows(lives)
      .filter(({ label }) => FIGURES.includes(label))
      .map(({ label, means, differences }, at) => [at === 0 ? trace : '', label, ...cells(means, differences)]),
  );
  const line = (row: readonly string[]): string => `| ${row.join(' | ')} |`;
  return [line(['trace', 'figure', ...names]), `|---|---|${'---|'.repeat(names.length)}`, ...rows.map(line)].join('\n');
}

const cells = (means: readonly string[], differences: readonly string[]): readonly string[] =>
  means.map((mean, at) => (at === 0 ? mean : `${mean}; ${differences[at - 1]}`));

/** Compares the sums over all traces of each life. Waiting times are means over the traces. */
export function togetherOf(results: readonly LivesOfTrace[]): LivesSummary {
  const names = results[0]?.lives.sets.map(({ name }) => name) ?? [];
  const sets = names.map((name) => {
    const ofTraces = results.map(({ lives }) => lives.sets.find((set) => set.name === name)?.lives ?? []);
    return { name, lives: livesInAll(ofTraces).map((same) => sumOf(same)) };
  });
  const failures = results.flatMap(({ lives }) => lives.failures);
  return { count: Math.max(0, ...results.map(({ lives }) => lives.count)), sets: compareLives(sets), failures };
}

/** Returns the figures of each life that all traces have, one for each trace. */
function livesInAll(ofTraces: readonly (readonly LifeFigures[])[]): readonly (readonly LifeFigures[])[] {
  const byLife = Map.groupBy(ofTraces.flat(), ({ life }) => life);
  return [...byLife.values()].filter(({ length }) => length === ofTraces.length);
}

function sumOf(same: readonly LifeFigures[]): LifeFigures {
  const amounts = LIFE_AMOUNTS.map((amount) => {
    const sum = same.reduce((total, figures) => total + figures[amount], 0);
    return [amount, AVERAGED.includes(amount) ? sum / same.length : sum] as const;
  });
  return { life: same[0]?.life ?? 0, ...(Object.fromEntries(amounts) as Record<LifeAmount, number>) };
}

/** Replaces the table of a page. @throws Error if the page has no place for the table */
export function withTable(page: string, table: string, begin = BEGIN, end = END): string {
  const [from, to] = [page.indexOf(begin), page.indexOf(end)];
  if (from < 0 || to < from)
    throw new Error(`the page has no lines ${JSON.stringify(begin)} and ${JSON.stringify(end)}`);
  return `${page.slice(0, from + begin.length)}\n\n${table}\n\n${page.slice(to)}`;
}
