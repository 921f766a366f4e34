/**
 * Renders the summary of a replay for a terminal: sentences, figures side by side, and sparklines of cost and nodes.
 */
import type { LivesSummary, ReplayResult, ReplayRun } from '#replay/run';
import { sparkline } from '../render/cost.ts';
import { indented } from '../render/wrap.ts';
import { sentences } from './compare.ts';
import { type Downsampling, downsample, rowsPerPoint } from './downsample.ts';
import { FIGURES } from './figures.ts';
import { lifeRows } from './lives.ts';
import { amount, dateTime, dollars, spanText } from './units.ts';

/** Width of the labels of differences. */
const LIFE_LABEL = 14;

/** Returns paragraphs: the means of several lives of all sets, and the differences from the first set. */
function livesTexts(lives: LivesSummary, width: number, bold: (text: string) => string): readonly string[] {
  const rows = lifeRows(lives);
  const indexes = lives.sets.map((_, index) => index);
  const means = blocks(indexes, width).map((block) => {
    const row = rowsOf(block.length, width);
    const head = row(
      '',
      block.map((index) => lives.sets[index]?.name ?? ''),
    );
    const body = rows.map(({ label, means: cells }) =>
      row(
        `  ${label}`,
        block.map((index) => cells[index] ?? ''),
      ),
    );
    return [bold(head), `MEANS OF ${lives.count} LIVES`, ...body].join('\n');
  });
  const [first, ...others] = lives.sets;
  if (first === undefined || others.length === 0) return means;
  const title = indented(`DIFFERENCE FROM ${first.name}, WITH 95 % CONFIDENCE INTERVAL`, '', width);
  const differences = others.flatMap(({ name, difference }, index) => [
    `  ${indented(`${name}, ${difference?.pairs ?? 0} lives`, '    ', width - 2)}`,
    ...rows.map(
      ({ label, differences: cells }) =>
        `    ${indented(label.padEnd(LIFE_LABEL) + (cells[index] ?? ''), '      ', width - 4)}`,
    ),
  ]);
  return [...means, [title, ...differences].join('\n')];
}

interface SummaryStyle {
  /** Available columns. */
  readonly width: number;
  /** True if the output supports bold text. */
  readonly isStyled: boolean;
}

/** Width in a pipe, and maximum width, because wider lines are hard to read. */
export const SUMMARY_WIDTH = 80;

/** Width of the names beside sparklines and columns. */
const LABEL = 17;
const GAP = 2;

/** Returns the summary. It ends with a newline. */
export function summaryText(result: ReplayResult, { width, isStyled }: SummaryStyle): string {
  const bold = (text: string): string => (isStyled ? `\u001b[1m${text}\u001b[22m` : text);
  const { runs, lives } = result;
  const parts = [
    headText(result, width),
    sentences(result)
      .map((sentence) => bold(indented(sentence, '', width)))
      .join('\n'),
    ...(lives === undefined ? [] : livesTexts(lives, width, bold)),
    ...blocks(runs, width).map((block) => figuresText(block, runs[0], { width, bold })),
    ...(runs.some(({ series }) => series.nodes.length > 1) ? sparkTexts(result, width) : []),
    settingsText(runs, width),
    complaintsText(runs, width),
  ];
  return `${parts.filter((part) => part !== '').join('\n\n')}\n`;
}

function headText({ trace, world }: ReplayResult, width: number): string {
  const source = trace.source === undefined ? '' : ` (${trace.source})`;
  return [
    `Trace ${trace.name}: ${spanText(trace.seconds)} from ${dateTime(Date.parse(trace.start))} UTC${source}`,
    `World ${world.region}, seed ${world.seed}${world.says.length === 0 ? '' : `: ${world.says.join('; ')}`}`,
  ]
    .map((line) => indented(line, '  ', width))
    .join('\n');
}

interface Layout {
  readonly width: number;
  readonly bold: (text: string) => string;
}

function figuresText(runs: readonly ReplayRun[], first: ReplayRun | undefined, { width, bold }: Layout): string {
  const row = rowsOf(runs.length, width);
  const head = row(
    '',
    runs.map(({ name }) => name),
  );
  const lives = runs.some(({ life }) => life !== undefined)
    ? [
        row(
          '',
          runs.map(({ life }) => (life === undefined ? '' : `life ${life}`)),
        ),
      ]
    : [];
  const marks = runs.some(({ isComplete }) => !isComplete)
    ? [
        row(
          '',
          runs.map(({ isComplete }) => (isComplete ? '' : 'UNFINISHED')),
        ),
      ]
    : [];
  const groups = FIGURES.flatMap(({ title, figures }) => [
    title.toUpperCase(),
    ...figures.map(({ label, of }) =>
      row(
        `  ${label}`,
        runs.map((run) => of(run, first ?? run)),
      ),
    ),
  ]);
  return [bold(head), ...lives, ...marks, ...groups].join('\n');
}

const SPARKS: readonly {
  readonly title: string;
  readonly of: (run: ReplayRun) => readonly number[];
  readonly text: (most: number) => string;
  readonly keep?: Downsampling;
}[] = [
  { title: 'USD PER HOUR', of: ({ series }) => series.usdPerHour, text: dollars },
  { title: 'NODES', of: ({ series }) => series.nodes, text: amount, keep: 'most' },
];

function sparkTexts({ runs, trace }: ReplayResult, width: number): readonly string[] {
  const label = Math.min(LABEL, Math.max(4, ...runs.map(({ name }) => name.length + 2)));
  const room = Math.max(10, width - label - GAP);
  const rows = Math.max(...runs.map(({ series }) => series.nodes.length));
  const each = rowsPerPoint(rows, room);
  const startMs = Date.parse(trace.start);
  const endMs = startMs + Math.min(trace.seconds, rows * (runs[0]?.series.stepSeconds ?? 0)) * 1000;
  return SPARKS.map(({ title, of, text, keep }) => {
    // all lines have the same step, so that a column is the same time in each line
    const lines = runs.map((run) => downsample(of(run), each, keep));
    const most = Math.max(0, ...lines.flat());
    const drawn = runs.map(({ name }, index) =>
      `  ${shortenTo(name, label - 2).padEnd(label)}${sparkline(lines[index] ?? [], most)}`.trimEnd(),
    );
    const times = axis(startMs, endMs, { label, width: Math.ceil(rows / each) });
    return [`${title}, 0 to ${text(most)}`, ...drawn, times].join('\n');
  });
}

function axis(
  startMs: number,
  endMs: number,
  { label, width }: { readonly label: number; readonly width: number },
): string {
  const [from, to] = [dateTime(startMs), dateTime(endMs)];
  const indent = ' '.repeat(label + GAP);
  return width > from.length + to.length ? indent + from + to.padStart(width - from.length) : indent + from;
}

function settingsText(runs: readonly ReplayRun[], width: number): string {
  const lines = runs.flatMap(({ name, settings }) =>
    settings.length === 0 ? [] : [`  ${indented(`${name}: ${settings.join('; ')}`, '    ', width - 2)}`],
  );
  return lines.length === 0 ? '' : ['SETTINGS', ...lines].join('\n');
}

const MOST_COMPLAINTS = 5;

function complaintsText(runs: readonly ReplayRun[], width: number): string {
  const lines = runs.flatMap(({ name, complaints }) => [
    ...complaints
      .slice(0, MOST_COMPLAINTS)
      .map(({ message, count }) => `  ${indented(`${name}: ${count} × ${message}`, '    ', width - 2)}`),
    ...(complaints.length > MOST_COMPLAINTS
      ? [`  ${name}: and ${complaints.length - MOST_COMPLAINTS} more messages`]
      : []),
  ]);
  return lines.length === 0 ? '' : ['ERRORS AND WARNINGS IN THE LOG', ...lines].join('\n');
}

const NARROWEST = 12;
const WIDEST = 20;

/** Splits columns into blocks that fit the width. */
function blocks<T>(columns: readonly T[], width: number): readonly (readonly T[])[] {
  const most = Math.max(1, Math.floor((width - LABEL) / (NARROWEST + GAP)));
  return Array.from({ length: Math.ceil(columns.length / most) }, (_, index) =>
    columns.slice(index * most, (index + 1) * most),
  );
}

/** Returns a function that formats a row of a block. Longer cells are truncated. */
function rowsOf(columns: number, width: number): (label: string, cells: readonly string[]) => string {
  const column = Math.min(WIDEST, Math.floor((width - LABEL) / columns) - GAP);
  return (label, cells) =>
    `${label.padEnd(LABEL)}${cells.map((cell) => ' '.repeat(GAP) + shortenTo(cell, column).padStart(column)).join('')}`.trimEnd();
}

const shortenTo = (text: string, width: number): string =>
  text.length > width ? `${text.slice(0, width - 1)}…` : text;
