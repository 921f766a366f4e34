/** Renders the sections of a replay's page. */

import { own } from '#lib';
import type { ReplayResult, ReplayRun } from '#replay/run';
import { costDifference, sentences, unfinishedSentences } from '../compare.ts';
import { FIGURES, waitedPods } from '../figures.ts';
import { livesCost } from '../lives.ts';
import { amount, dateTime, dollars, signedPercent, spanText } from '../units.ts';
import { type Html, html } from './html.ts';
import { type Plot, svgOf } from './plot.ts';

export function headerOf(result: ReplayResult): Html {
  const { trace, world, runs } = result;
  const startMs = Date.parse(trace.start);
  return html`<header><p class="kind">Karpenter replay</p><h1>${trace.name}</h1><p class="soft">${dateTime(startMs)} to ${dateTime(startMs + trace.seconds * 1000)} UTC, ${spanText(trace.seconds)} · ${world.region} · ${runs.length === 1 ? '1 run' : `${runs.length} runs`}${trace.source === undefined ? '' : ` · ${trace.source}`}</p></header>`;
}

/** Renders the result in sentences and in large figures. */
export function verdictOf(result: ReplayResult): Html {
  const stopped = unfinishedSentences(result);
  const told = sentences(result).filter((sentence) => !stopped.includes(sentence));
  const [first] = result.runs;
  return html`<section class="verdict" aria-label="Summary">${stopped.map(
    (sentence) => html`<p class="warning" role="note">${sentence}</p>`,
  )}${told.map((sentence) => html`<p class="lead">${sentence}</p>`)}<div class="cards">${result.runs.map((run, index) =>
    card(run, index, cardFigures(result, run, first ?? run)),
  )}</div></section>`;
}

function card(run: ReplayRun, index: number, { usd, difference, facts }: CardFigures): Html {
  const badge = difference && html` <span class="badge ${difference.tone}">${difference.text}</span>`;
  return html`<article class="card run-${index}"><h2><span class="swatch"></span>${run.name}${incompleteMark(run)}</h2><p class="large">${dollars(usd)}${badge}</p><dl>${facts.map(
    ([name, value]) => html`<div><dt>${name}</dt><dd>${value}</dd></div>`,
  )}</dl></article>`;
}

const incompleteMark = ({ isComplete }: ReplayRun): Html =>
  isComplete ? html`` : html` <span class="mark">incomplete</span>`;

/** Renders checkboxes for the visible runs, which work without a script. */
export const legendOf = (runs: readonly ReplayRun[]): Html =>
  html`<fieldset class="legend"><legend>Runs shown</legend>${runs.map(
    (run, index) =>
      html`<label class="choice-${index}"><input type="checkbox" id="show-${index}" checked><span class="swatch"></span>${run.name}${incompleteMark(run)}</label>`,
  )}</fieldset>`;

export function summaryTable(runs: readonly ReplayRun[]): Html {
  const [first] = runs;
  return html`<section aria-labelledby="summary-title"><h2 id="summary-title">Figures</h2><div class="scroll" tabindex="0" role="group" aria-label="Figures of all runs"><table class="figures"><thead><tr><td></td>${runs.map(
    (run, index) =>
      html`<th scope="col" class="run-${index}"><span class="swatch"></span>${run.name}${incompleteMark(run)}</th>`,
  )}</tr></thead>${FIGURES.map(
    ({ title, figures }) =>
      html`<tbody><tr class="group"><th scope="rowgroup" colspan="${runs.length + 1}">${title}</th></tr>${figures.map(
        ({ label, of }) =>
          html`<tr><th scope="row">${label}</th>${runs.map((run, index) => html`<td class="run-${index}">${of(run, first ?? run)}</td>`)}</tr>`,
      )}</tbody>`,
  )}</table></div></section>`;
}

/** Renders a plot with a legend, and its values as a table for screen readers. */
export function figureOf(plot: Plot, runs: readonly ReplayRun[]): Html {
  const labels = [...new Map(plot.lines.map(({ label, isDashed }) => [label, isDashed])).entries()];
  const keys = labels.flatMap(([label, isDashed]) =>
    label === undefined
      ? []
      : [
          html`<span class="key"><svg viewBox="0 0 24 4" aria-hidden="true"><path class="line${isDashed ? ' dashed' : ''}" d="M0 2h24"/></svg>${label}</span>`,
        ],
  );
  return html`<figure id="${plot.id}" class="plot"><figcaption><span class="title">${plot.title}</span>${plot.note === undefined ? '' : html` <span class="soft">${plot.note}</span>`}<span class="keys">${keys}</span></figcaption><div class="box" tabindex="0" role="group" aria-label="${plot.title}: the arrow keys move through the plot">${svgOf(plot, altOf(plot, runs))}<output class="tip" hidden></output></div>${plot.unit === 'share' ? waitFigures(plot, runs) : valueFigures(plot, runs)}</figure>`;
}

const nameOf = ({ run, label }: Plot['lines'][number], runs: readonly ReplayRun[]): string =>
  `${runs[run]?.name ?? ''}${label === undefined ? '' : `, ${label}`}`;

function altOf(plot: Plot, runs: readonly ReplayRun[]): string {
  if (plot.unit === 'share') return `${plot.title}; the table below has the figures`;
  const parts = plot.lines.map((line) => {
    const { least, most } = extremes(line.values);
    return `${nameOf(line, runs)}: ${valueText(least, plot)} to ${valueText(most, plot)}`;
  });
  return `${plot.title} over time. ${parts.join('; ')}`;
}

interface Extremes {
  readonly least: number;
  readonly mean: number;
  readonly most: number;
  readonly last: number;
}

function extremes(values: readonly number[]): Extremes {
  if (values.length === 0) return { least: 0, mean: 0, most: 0, last: 0 };
  const sum = values.reduce((before, value) => before + value, 0);
  return {
    least: Math.min(...values),
    mean: sum / values.length,
    most: Math.max(...values),
    last: values.at(-1) ?? 0,
  };
}

const valueText = (value: number, { unit }: Plot): string => (unit === 'usd' ? dollars(value) : amount(value));

const valueFigures = (plot: Plot, runs: readonly ReplayRun[]): Html =>
  figuresOf(
    ['', 'Minimum', 'Mean', 'Maximum', 'At the end'],
    plot.lines.map((line) => {
      const { least, mean, most, last } = extremes(line.values);
      return {
        run: line.run,
        cells: [nameOf(line, runs), ...[least, mean, most, last].map((value) => valueText(value, plot))],
      };
    }),
  );

const waitFigures = (_: Plot, runs: readonly ReplayRun[]): Html =>
  figuresOf(
    ['', 'Half of the pods', '95 %', '99 %', 'All'],
    runs.map(({ name, waiting }, run) => ({
      run,
      cells: [
        name,
        ...(waitedPods(waiting) === 0 ? [] : [waiting.p50, waiting.p95, waiting.p99, waiting.longest].map(spanText)),
      ],
    })),
  );

interface FigureRow {
  readonly run: number;
  readonly cells: readonly string[];
}

const figuresOf = ([corner = '', ...headings]: readonly string[], rows: readonly FigureRow[]): Html =>
  html`<details><summary>In figures</summary><div class="scroll" tabindex="0" role="group" aria-label="The plot in figures"><table><thead><tr><td>${corner}</td>${headings.map((heading) => html`<th scope="col">${heading}</th>`)}</tr></thead><tbody>${rows.map(
    ({ run, cells: [name = '', ...cells] }) =>
      html`<tr class="run-${run}"><th scope="row">${name}</th>${cells.map((cell) => html`<td>${cell}</td>`)}</tr>`,
  )}</tbody></table></div></details>`;

/** Renders tables of costs and node hours. */
export const breakdowns = (runs: readonly ReplayRun[]): Html => {
  const hours = (value: number): string => `${amount(value)} h`;
  const tables = [
    {
      id: 'reasons',
      title: 'Removed nodes by reason',
      noun: 'Reason',
      of: ({ nodes }: ReplayRun) => nodes.byReason,
      text: amount,
    },
    {
      id: 'types',
      title: 'Hours by instance type',
      noun: 'Instance type',
      of: ({ nodes }: ReplayRun) => nodes.hoursByType,
      text: hours,
    },
    {
      id: 'capacity',
      title: 'Cost by capacity type',
      noun: 'Capacity type',
      of: ({ cost }: ReplayRun) => cost.byCapacityType,
      text: dollars,
    },
    {
      id: 'pools',
      title: 'Cost by NodePool',
      noun: 'NodePool',
      of: ({ cost }: ReplayRun) => cost.byNodePool,
      text: dollars,
    },
  ].flatMap((each) => shareTable(each, runs) ?? []);
  return html`<div>${tables}</div>`;
};

/** Renders the settings of each run, the world, and the warnings of the operator. */
export const settingsOf = ({ runs, world }: ReplayResult): Html =>
  html`<h2>Configuration</h2><div class="grid"><section aria-labelledby="settings-title"><h3 id="settings-title">Settings</h3>${runs.map(
    (run, index) =>
      html`<div class="setting run-${index}"><h4><span class="swatch"></span>${run.name}${incompleteMark(run)}</h4>${
        run.settings.length === 0
          ? html`<p class="soft">defaults</p>`
          : html`<ul>${run.settings.map((each) => html`<li><code>${each}</code></li>`)}</ul>`
      }<p class="soft">replayed ${spanText(run.playedSeconds)} in ${spanText(run.took.seconds)}, with ${amount(Math.round(run.took.rssBytes / 2 ** 20))} MiB</p></div>`,
  )}</section><section aria-labelledby="world-title"><h3 id="world-title">World</h3><ul><li>region ${world.region}, seed ${world.seed}</li>${world.says.map((each) => html`<li>${each}</li>`)}</ul>${complaintsOf(runs)}</section></div>`;

function complaintsOf(runs: readonly ReplayRun[]): Html {
  const all = runs.flatMap(({ name, complaints }) => complaints.map((each) => ({ name, ...each })));
  if (all.length === 0) return html`<p class="soft">The operator logged no errors and warnings.</p>`;
  return html`<h3>Errors and warnings in the log</h3><ul class="complaints">${all.map(
    ({ name, message, count, example }) =>
      html`<li><b>${name}</b>, ${count} ×: ${message}<br><code>${example}</code></li>`,
  )}</ul>`;
}

/** Relative difference below which two costs are shown as equal. */
const SAME_SHARE = 0.0005;
const NONE = '–';

interface CardFigures {
  readonly usd: number;
  readonly difference?: { readonly text: string; readonly tone: 'same' | 'less' | 'more' };
  readonly facts: readonly (readonly [name: string, value: string])[];
}

/** Returns the means of all lives if several lives were played, and otherwise the figures of the run. */
function cardFigures({ lives }: ReplayResult, run: ReplayRun, first: ReplayRun): CardFigures {
  const set = lives?.sets.find(({ name }) => name === run.name);
  if (set?.mean !== undefined) {
    const cost = livesCost(set);
    return {
      usd: set.mean.usd,
      ...(cost && { difference: cost.isShown ? toneOf(cost.fraction) : { text: 'no difference shown', tone: 'same' } }),
      facts: [
        ['p95 wait', spanText(set.mean.waitingP95)],
        ['Evictions', amount(set.mean.evictions)],
        ['Nodes launched', amount(set.mean.nodesBought)],
      ],
    };
  }
  const difference = run === first ? undefined : costDifference(first, run);
  return {
    usd: run.cost.effectiveUsd,
    ...(difference !== undefined && { difference: toneOf(difference) }),
    facts: [
      ['p95 wait', waitedPods(run.waiting) === 0 ? NONE : spanText(run.waiting.p95)],
      ['Evictions', amount(run.evictions)],
      ['Nodes, average', run.nodes.average.toFixed(1)],
    ],
  };
}

function toneOf(fraction: number): CardFigures['difference'] & object {
  const tone = Math.abs(fraction) < SAME_SHARE ? 'same' : fraction < 0 ? 'less' : 'more';
  return { text: signedPercent(fraction), tone };
}

/**
 * Renders tables of amounts by name, with a bar for each run: hours by instance type, nodes by reason, cost by
 * NodePool.
 */
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
function shareTable({ id, title, noun, of, text }: ShareTable, runs: readonly ReplayRun[]): Html | undefined {
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
