/** Log of nodes. Its first rows are visible without a script. The script adds the remaining rows and the search. */
import type { ReplayResult } from '../../../replay/result.ts';
import { amount, dateTime } from '../units.ts';
import { type Html, html } from './html.ts';
import type { Log, LogEntry } from './log.ts';

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

export function logSection({ words, entries, total }: Log, { trace, runs }: ReplayResult): Html {
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
