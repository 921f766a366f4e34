/**
 * Renders tables of amounts by name, with a bar for each run: hours by instance type, nodes by reason, cost by
 * NodePool.
 */

import { own } from '../../../lib/own.ts';
import type { ReplayRun } from '../../../replay/result.ts';
import { type Html, html } from './html.ts';

interface ShareTable {
  readonly id: string;
  readonly title: string;
  /** Heading of the names: `Instance type`. */
  readonly noun: string;
  readonly of: (run: ReplayRun) => Readonly<Record<string, number>>;
  readonly text: (amount: number) => string;
}

/** Maximum number of rows. The remaining names are added up in one row. */
const MOST_ROWS = 12;
const OTHERS = 'others';

/** Returns undefined if the table is empty. */
export function shareTable({ id, title, noun, of, text }: ShareTable, runs: readonly ReplayRun[]): Html | undefined {
  const amounts = runs.map(of);
  const rows = rowsOf(amounts);
  if (rows.length === 0) return undefined;
  const most = Math.max(...rows.flatMap(({ values }) => values));
  return html`<section aria-labelledby="${id}-title"><h3 id="${id}-title">${title}</h3><div class="scroll" tabindex="0" role="group" aria-label="${title}"><table class="shares"><thead><tr><th scope="col">${noun}</th>${runs.map(
    ({ name }, run) => html`<th scope="col" class="run-${run}"><span class="swatch"></span>${name}</th>`,
  )}</tr></thead><tbody>${rows.map(
    (row) =>
      html`<tr><th scope="row">${row.name}</th>${row.values.map((value, run) => cell(value, { run, most, text }))}</tr>`,
  )}</tbody></table></div></section>`;
}

interface Bar {
  readonly run: number;
  readonly most: number;
  readonly text: (amount: number) => string;
}

const cell = (value: number, { run, most, text }: Bar): Html =>
  html`<td class="run-${run}"><svg class="bar" viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true"><rect width="${Number((most > 0 ? (100 * value) / most : 0).toFixed(1))}" height="8"/></svg><span>${text(value)}</span></td>`;

interface Row {
  readonly name: string;
  readonly values: readonly number[];
}

/** Returns rows with the largest amounts first, and one row for the rest. */
function rowsOf(amounts: readonly Readonly<Record<string, number>>[]): readonly Row[] {
  const names = new Set(amounts.flatMap((each) => Object.keys(each)));
  const rows = [...names]
    .map((name) => ({ name: name === '' ? 'none' : name, values: amounts.map((each) => own(each, name) ?? 0) }))
    .sort((a, b) => Math.max(...b.values) - Math.max(...a.values) || (a.name < b.name ? -1 : 1));
  if (rows.length <= MOST_ROWS) return rows;
  const [shown, rest] = [rows.slice(0, MOST_ROWS - 1), rows.slice(MOST_ROWS - 1)];
  const values = amounts.map((_, run) => rest.reduce((sum, row) => sum + (row.values[run] ?? 0), 0));
  return [...shown, { name: `${rest.length} ${OTHERS}`, values }];
}
