/** Renders lines over time, or over another axis, as SVG. */
import { type Html, html } from './html.ts';
import { type Tick, valueTicks } from './scale.ts';

/** Unit of values on the axis, in tooltips and in tables. */
export type Unit = 'usd' | 'count' | 'cores' | 'gib' | 'share';

export interface PlotLine {
  /** Index of the run, which determines its colour. */
  readonly run: number;
  /** Label if a run has several lines: `spot`. */
  readonly label?: string;
  /** True if this line is dashed, so that it differs from another line of the same run. */
  readonly isDashed?: boolean;
  /** Values by place on the x axis. Shorter if the run ended early. */
  readonly values: readonly number[];
}

export interface Plot {
  readonly id: string;
  readonly title: string;
  readonly unit: Unit;
  /** Note on an axis that differs from the axes of the other plots. */
  readonly note?: string;
  /** Places of the values, from 0 (left) to 1 (right). */
  readonly places: readonly number[];
  /** Ticks of the x axis. */
  readonly ticks: readonly Tick[];
  readonly lines: readonly PlotLine[];
  /** True if a value is valid until the next place. */
  readonly isStepped?: boolean;
}

const WIDTH = 640;
const HEIGHT = 240;
const LEFT = 58;
const RIGHT = 30;
const TOP = 10;
const BOTTOM = 26;

/** Area of the lines. The page's script uses it to convert the position of the pointer. */
export const BOX = {
  left: LEFT,
  width: WIDTH - LEFT - RIGHT,
  top: TOP,
  height: HEIGHT - TOP - BOTTOM,
  fullWidth: WIDTH,
};

const short = (value: number): string => String(Number(value.toFixed(1)));
const xOf = (place: number): number => LEFT + place * BOX.width;

const SUFFIXES: readonly (readonly [least: number, suffix: string])[] = [
  [1e6, 'M'],
  [1e3, 'k'],
];

/** Formats a value for an axis: `$1.5k`, `250`, `40 GiB`, `95 %`. */
function axisText(value: number, unit: Unit): string {
  if (unit === 'share') return `${Number((value * 100).toFixed(1))} %`;
  const [least, suffix] = SUFFIXES.find(([bound]) => value >= bound) ?? [1, ''];
  const text = `${Number((value / least).toPrecision(4))}${suffix}`;
  return unit === 'usd' ? `$${text}` : text;
}

export function svgOf(plot: Plot, label: string): Html {
  const most = Math.max(0, ...plot.lines.flatMap(({ values }) => values.filter(Number.isFinite)));
  const ticks = valueTicks(plot.unit === 'share' ? 1 : most, plot.unit === 'count');
  const top = ticks.at(-1) ?? 1;
  const yOf = (value: number): number => TOP + BOX.height * (1 - value / top);
  return html`<svg viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-label="${label}"><g class="rules">${ticks.map(
    (tick) => html`<path d="M${LEFT} ${short(yOf(tick))}H${WIDTH - RIGHT}"/>`,
  )}</g><g class="axis">${ticks.map(
    (tick) =>
      html`<text x="${LEFT - 8}" y="${short(yOf(tick) + 4)}" text-anchor="end">${axisText(tick, plot.unit)}</text>`,
  )}${plot.ticks.map((tick) => xTick(tick))}</g><path class="cursor" d="M0 ${TOP}V${TOP + BOX.height}"/>${plot.lines.map(
    (line) =>
      html`<path class="line run-${line.run}${line.isDashed ? ' dashed' : ''}" d="${pathOf(line.values, plot, yOf)}"/>`,
  )}</svg>`;
}

function xTick({ at, label }: Tick): Html {
  const x = short(xOf(at));
  return html`<path d="M${x} ${TOP + BOX.height}v4"/><text x="${x}" y="${HEIGHT - 8}" text-anchor="middle">${label}</text>`;
}

/** Returns a path with relative coordinates. This is shorter than a path with absolute coordinates. */
function pathOf(
  values: readonly number[],
  { places, isStepped = false }: Plot,
  yOf: (value: number) => number,
): string {
  let path = '';
  let [lastX, lastY] = [0, 0];
  for (const [index, value] of values.entries()) {
    if (!Number.isFinite(value)) continue;
    // integers in tenths, because rounding errors of differences would accumulate
    const [x, y] = [Math.round(xOf(places[index] ?? 1) * 10), Math.round(yOf(value) * 10)];
    if (path === '') path = `M${x / 10} ${y / 10}`;
    else if (isStepped) path += `h${(x - lastX) / 10}v${(y - lastY) / 10}`;
    else path += y === lastY ? `h${(x - lastX) / 10}` : `l${(x - lastX) / 10} ${(y - lastY) / 10}`;
    [lastX, lastY] = [x, y];
  }
  return path;
}
