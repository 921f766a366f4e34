/**
 * Renders a replay as one self-contained HTML page. The page sends no requests. Only tooltips and search need its
 * script.
 */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { ReplayResult } from '../../../replay/result.ts';
import { spanText } from '../units.ts';
import { pageData } from './data.ts';
import { Html, html, json } from './html.ts';
import { livesSection } from './lives-section.ts';
import { logOf } from './log.ts';
import { logSection } from './log-section.ts';
import { timePlots, waitPlot } from './plots.ts';
import { breakdowns, figureOf, headerOf, legendOf, settingsOf, summaryTable, verdictOf } from './sections.ts';

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
