/**
 * Renders a replay as one self-contained HTML page. The page sends no requests. Only tooltips and search need its
 * script.
 */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { LivesSummary, NodeEvent, ReplayResult, ReplayRun } from '#replay/run';
import { lifeRows } from '../lives.ts';
import { amount, dateTime, spanText } from '../units.ts';
import type { Log, LogEntry, PageData, PlotData } from './data.ts';
import { Html, html, json } from './html.ts';
import { BOX, type Plot } from './plot.ts';
import { timePlots, waitPlot } from './plots.ts';
import { breakdowns, figureOf, headerOf, legendOf, settingsOf, summaryTable, verdictOf } from './sections.ts';

const FIRST_ROWS = 30;
/** Headings of the columns. The page's script creates the same cells. */
const HEADINGS = [
  'Time (UTC)',
  'Run',
  'Event',
  'NodePool',
  'NodeClaim',
  'Instance type',
  'Zone',
  'Capacity',
  'USD/h',
  'Reason',
];

/** Renders the log of nodes. The page's script adds the remaining rows and the search. */
function logSection({ words, entries, total }: Log, { trace, runs }: ReplayResult): Html {
  if (entries.length === 0)
    return html`<section aria-labelledby="log-title"><h2 id="log-title">Nodes launched and removed</h2><p class="soft">No node was launched.</p></section>`;
  const startMs = Date.parse(trace.start);
  const cells = (entry: LogEntry): readonly string[] => {
    const [at, run, [what = 0, pool = 0, type = 0, zone = 0, capacity = 0, reason = 0], name, usd] = entry;
    const word = (place: number): string => words[place] ?? '';
    return [
      dateTime(startMs + at * 1000),
      runs[run]?.name ?? '',
      word(what),
      word(pool),
      name,
      word(type),
      word(zone),
      word(capacity),
      usd.toFixed(4),
      word(reason),
    ];
  };
  const left = total - entries.length;
  return html`<section aria-labelledby="log-title" class="log"><h2 id="log-title">Nodes launched and removed</h2><form id="search" class="script" role="search"><label for="query">Search</label> <input id="query" type="search" autocomplete="off" spellcheck="false" placeholder="type, zone, reason, name"></form><p id="found" class="soft" role="status">The first ${Math.min(FIRST_ROWS, entries.length)} of ${amount(total)} events.</p>${
    left > 0
      ? html`<p class="soft">${amount(left)} later events are not on this page; use -o json for all events.</p>`
      : ''
  }<div class="scroll" tabindex="0" role="group" aria-label="Log of nodes"><table id="log"><thead><tr>${HEADINGS.map((heading) => html`<th scope="col">${heading}</th>`)}</tr></thead><tbody>${entries
    .slice(0, FIRST_ROWS)
    .map(
      (entry) => html`<tr class="run-${entry[1]}">${cells(entry).map((cell) => html`<td>${cell}</td>`)}</tr>`,
    )}</tbody></table></div><p class="script"><button type="button" id="more" hidden>Show more</button></p></section>`;
}

/** Renders means of all sets and differences from the first set. Returns undefined if a single life was played. */
function livesSection(lives: LivesSummary | undefined): Html | undefined {
  if (lives === undefined) return undefined;
  const [first, ...others] = lives.sets;
  const title = html`<h2 id="lives-title">Means of ${lives.count} lives</h2>`;
  const head = html`<tr><td></td>${lives.sets.map(
    ({ name, lives: played }, index) =>
      html`<th scope="col" class="run-${index}"><span class="swatch"></span>${name}, ${played.length} lives</th>`,
  )}${others.map(
    ({ name }, index) =>
      html`<th scope="col" class="run-${index + 1}"><span class="swatch"></span>${name} compared with ${first?.name}</th>`,
  )}</tr>`;
  const body = lifeRows(lives).map(
    ({ label, means, differences }) =>
      html`<tr><th scope="row">${label}</th>${means.map((cell, index) => html`<td class="run-${index}">${cell}</td>`)}${differences.map(
        (cell, index) => html`<td class="run-${index + 1}">${cell}</td>`,
      )}</tr>`,
  );
  return html`<section aria-labelledby="lives-title">${title}<p class="soft">Lives differ in boot times and in the choice between equally suitable nodes. Differences are those between the same lives, with the 95 % confidence interval of their mean. If the interval contains zero, the lives show no difference. The plots and figures below are of a single life.</p><div class="scroll" tabindex="0" role="group" aria-label="Means and differences of all lives"><table class="figures"><thead>${head}</thead><tbody>${body}</tbody></table></div></section>`;
}

/** Reads a file that is stored beside the sources and, in a bundle, beside the program. */
const asset = (name: string): string => readFileSync(new URL(`./assets/${name}`, import.meta.url), 'utf8');

/** Number of colours in the style sheet. */
const COLOURS = 6;

/** Returns the styles that depend on the number of runs: their colours, and the rules that hide deselected runs. */
const runStyle = (runs: number): string =>
  Array.from(
    { length: runs },
    (_, run) =>
      `.run-${run},.choice-${run}{--run:var(--run-${run % COLOURS})}` +
      `body:has(#show-${run}:not(:checked)) :is(.plot,.log) .run-${run}{display:none}`,
  ).join('\n');

const hashOf = (text: string): string => `'sha256-${createHash('sha256').update(text).digest('base64')}'`;

/** Returns a content security policy that allows no requests and only the page's own style and script. */
const policyOf = (style: string, script: string): string =>
  [
    "default-src 'none'",
    `style-src ${hashOf(style)}`,
    `script-src ${hashOf(script)}`,
    'img-src data:',
    "base-uri 'none'",
    "form-action 'none'",
  ].join('; ');

/**
 * Renders the page.
 *
 * @throws Error if files of the installation are missing
 */
export function pageOf(result: ReplayResult): string {
  const style = `${asset('style.css')}${runStyle(result.runs.length)}`;
  const script = asset('page.js');
  const time = timePlots(result);
  const waits = waitPlot(result);
  const log = logOf(result.runs);
  const { runs, trace } = result;
  const page = html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policyOf(style, script)}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<title>Replay of ${trace.name}</title>
<link rel="icon" href="data:,">
<style>${new Html(style)}</style>
</head>
<body>
<a class="skip" href="#main">Skip to the content</a>
${headerOf(result)}
<main id="main" tabindex="-1">
${verdictOf(result)}
${livesSection(result.lives)}
${runs.length > 1 ? html`<div class="sticky">${legendOf(runs)}</div>` : ''}
<h2>Over time</h2>
<p class="soft">Times are UTC. Each point of a plot covers ${spanText(time.stepSeconds)}.</p>
<div class="grid plots">${time.plots.map((plot) => figureOf(plot, runs))}${waits === undefined ? '' : figureOf(waits.plot, runs)}</div>
<div class="split">${summaryTable(runs)}${breakdowns(runs)}</div>
${logSection(log, result)}
${settingsOf(result)}
</main>
<footer><p class="soft">Made by karpenter replay: the operator's own controllers, in virtual time. Costs are those of the world that was played.</p></footer>
<script type="application/json" id="data">${json(pageData(result, time, waits, log))}</script>
<script type="module">${new Html(script)}</script>
</body>
</html>
`;
  return page.text;
}

const FIGURES = 4;
const short = (value: number): number => (Number.isInteger(value) ? value : Number(value.toPrecision(FIGURES)));

const linesOf = ({ lines }: Plot): PlotData['lines'] =>
  lines.map(({ run, label = '', values }) => [run, label, values.map(short)]);

function pageData(
  { trace, runs }: ReplayResult,
  { plots, stepSeconds }: { readonly plots: readonly Plot[]; readonly stepSeconds: number },
  waits: { readonly plot: Plot; readonly seconds: readonly number[] } | undefined,
  log: Log,
): PageData {
  const ofTime = plots.map((plot) => ({ id: plot.id, unit: plot.unit, step: stepSeconds, lines: linesOf(plot) }));
  const ofWaits = waits && {
    id: waits.plot.id,
    unit: waits.plot.unit,
    at: waits.seconds.map((seconds, index) => [short(seconds), short(waits.plot.places[index] ?? 0)] as const),
    lines: linesOf(waits.plot),
  };
  return {
    startMs: Date.parse(trace.start),
    seconds: trace.seconds,
    runs: runs.map(({ name }) => name),
    box: BOX,
    plots: [...ofTime, ...(ofWaits === undefined ? [] : [ofWaits])],
    log,
  };
}

/** Maximum number of events of all runs together. This is enough for a month of fifty nodes. */
const MOST_EVENTS = 4_000;

/** Builds the log. All runs have the same maximum number of events, and later events are omitted. */
export function logOf(runs: readonly ReplayRun[]): Log {
  const each = Math.floor(MOST_EVENTS / Math.max(1, runs.length));
  const places = new Map<string, number>();
  const placeOf = (word: string): number => {
    const known = places.get(word) ?? places.size;
    places.set(word, known);
    return known;
  };
  const entryOf = (run: number, event: NodeEvent): LogEntry => {
    const { at, what, name, nodePool, instanceType, zone, capacityType, reason = '', usdPerHour } = event;
    const words = [what, nodePool, instanceType, zone, capacityType, reason].map(placeOf);
    return [Math.round(at), run, words, name, Number(usdPerHour.toFixed(4))];
  };
  const entries = runs
    .flatMap(({ log }, run) => log.slice(0, each).map((event) => entryOf(run, event)))
    .sort(([a, runA], [b, runB]) => a - b || runA - runB);
  return { words: [...places.keys()], entries, total: runs.reduce((sum, { log }) => sum + log.length, 0) };
}
