/**
 * Shows tooltips of the plots, and searches the log. Text from a cluster is never parsed as HTML.
 * @import { LogEntry, PageData, PlotData } from '../data.ts'
 */

/**
 * Returns an element of the page, which `page.ts` and `plot.ts` render.
 * @template {Element} E
 * @param {string} selector @param {ParentNode} [place]
 * @returns {E}
 */
const find = (selector, place = document) => {
  const element = place.querySelector(selector);
  if (element === null) throw new Error(`The page has no element ${selector}`);
  return /** @type {E} */ (element);
};

/** @type {PageData} */
const data = JSON.parse(find('#data').textContent);

/**
 * @template {keyof HTMLElementTagNameMap} Name
 * @param {Name} name @param {string} className @param {...(Node | string)} children
 */
const el = (name, className, ...children) => {
  const element = document.createElement(name);
  if (className !== '') element.className = className;
  element.append(...children);
  return element;
};

/** @param {number} seconds */
const timeText = (seconds) => new Date(data.startMs + seconds * 1000).toISOString().slice(0, 16).replace('T', ' ');

/** @param {number} value @param {PlotData['unit']} unit */
const digitsOf = (value, unit) => {
  if (unit === 'usd') return value > 0 && value < 0.1 ? 4 : 2;
  return Number.isInteger(value) || value >= 100 ? 0 : value >= 10 ? 1 : 2;
};

/** @param {number} value @param {PlotData['unit']} unit */
const valueText = (value, unit) => {
  if (unit === 'share') return `${(value * 100).toFixed(1)} %`;
  const digits = digitsOf(value, unit);
  const text = value.toLocaleString('en-US', { minimumFractionDigits: digits, maximumFractionDigits: digits });
  return unit === 'usd' ? `$${text}` : unit === 'gib' ? `${text} GiB` : text;
};

/** @param {number} seconds */
const spanText = (seconds) => {
  if (seconds < 120) return `${seconds} s`;
  return seconds < 7200 ? `${Number((seconds / 60).toFixed(1))} min` : `${Number((seconds / 3600).toFixed(1))} h`;
};

/** @param {number} run */
const isShown = (run) => document.querySelector(`#show-${run}:not(:checked)`) === null;

/** @typedef {{ readonly place: number, readonly label: string }} Point */

/**
 * Returns the place of each point of a plot, from 0 to 1, and its label.
 * @param {PlotData} plot @returns {readonly Point[]}
 */
const pointsOf = (plot) => {
  if (plot.at !== undefined)
    return plot.at.map(([seconds, place]) => ({ place, label: `at most ${spanText(seconds)}` }));
  const { step = 0 } = plot;
  const count = Math.max(0, ...plot.lines.map(([, , values]) => values.length));
  return Array.from({ length: count }, (_, index) => ({
    place: Math.min(1, (index * step) / Math.max(1, data.seconds)),
    label: timeText(index * step),
  }));
};

/**
 * Returns the index of the point with the least distance, or of the first of them.
 * @param {readonly Point[]} points @param {number} place
 */
const nearest = (points, place) => {
  const distances = points.map((point) => Math.abs(point.place - place));
  return Math.max(0, distances.indexOf(Math.min(...distances)));
};

/** Returns a row for each visible run that has a value at this point. @param {PlotData} plot @param {number} at */
const tipRows = ({ lines, unit }, at) =>
  lines.flatMap(([run, label, values]) => {
    const value = values[at];
    if (value === undefined || !isShown(run)) return [];
    const text = data.runs[run] + (label === '' ? '' : `, ${label}`);
    const name = el('span', `run-${run}`, el('span', 'swatch'), text);
    return [el('span', 'row', name, el('span', '', valueText(value, unit)))];
  });

class Tooltip {
  #at = -1;

  /** @param {PlotData} plot */
  constructor(plot) {
    this.plot = plot;
    this.points = pointsOf(plot);
    /** @type {HTMLElement} */
    this.box = find(`#${plot.id} .box`);
    /** @type {SVGSVGElement} */
    this.svg = find('svg', this.box);
    this.cursor = find('.cursor', this.svg);
    /** @type {HTMLElement} */
    this.tip = find('.tip', this.box);
    for (const event of /** @type {const} */ (['pointermove', 'pointerdown']))
      this.svg.addEventListener(event, ({ clientX }) => this.#follow(clientX));
    for (const event of ['pointerleave', 'blur']) this.box.addEventListener(event, () => this.#hide());
    this.box.addEventListener('keydown', (event) => this.#key(event));
  }

  #hide() {
    this.#at = -1;
    this.tip.hidden = true;
    this.cursor.classList.remove('on');
  }

  /** @param {number} clientX */
  #follow(clientX) {
    const { left, width } = this.svg.getBoundingClientRect();
    const x = ((clientX - left) / width) * data.box.fullWidth;
    this.#show(nearest(this.points, (x - data.box.left) / data.box.width));
  }

  /** @param {KeyboardEvent} event */
  #key(event) {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    if (event.key === 'Escape') this.#hide();
    const step = event.shiftKey ? 10 : 1;
    const next = new Map([
      ['ArrowRight', this.#at + step],
      ['ArrowLeft', this.#at - step],
      ['Home', 0],
      ['End', this.points.length - 1],
    ]).get(event.key);
    if (next === undefined) return;
    event.preventDefault();
    this.#show(next);
  }

  /** @param {number} index */
  #show(index) {
    this.#at = Math.min(this.points.length - 1, Math.max(0, index));
    const point = this.points[this.#at];
    if (point === undefined) return;
    const x = data.box.left + point.place * data.box.width;
    this.cursor.setAttribute('transform', `translate(${x.toFixed(1)} 0)`);
    this.cursor.classList.add('on');
    this.tip.replaceChildren(el('b', '', point.label), ...tipRows(this.plot, this.#at));
    this.tip.hidden = false;
    const width = this.box.clientWidth;
    const px = (x / data.box.fullWidth) * width;
    const left = px > width / 2 ? px - this.tip.offsetWidth - 10 : px + 10;
    this.tip.style.left = `${Math.max(0, Math.min(width - this.tip.offsetWidth, left))}px`;
  }
}

/** Number of log rows that are shown first, and the number that each click adds. */
const FIRST = 50;
const MORE = 500;

/** @param {LogEntry} entry */
const cellsOf = ([at, run, words, name, usd]) => {
  const [what = '', pool = '', type = '', zone = '', capacity = '', reason = ''] = words.map(
    (word) => data.log.words[word],
  );
  return [timeText(at), data.runs[run] ?? '', what, pool, name, type, zone, capacity, usd.toFixed(4), reason];
};

class Log {
  #limit = FIRST;

  /** @param {Element} body */
  constructor(body) {
    this.body = body;
    /** @type {HTMLInputElement} */
    this.query = find('#query');
    this.found = find('#found');
    /** @type {HTMLElement} */
    this.more = find('#more');
    this.rows = data.log.entries.map((entry) => {
      const cells = cellsOf(entry);
      return { run: entry[1], cells, text: cells.join(' ').toLowerCase() };
    });
    this.query.addEventListener('input', () => this.#list(FIRST));
    this.more.addEventListener('click', () => this.#list(this.#limit + MORE));
    find('#search').addEventListener('submit', (event) => event.preventDefault());
    for (const choice of document.querySelectorAll('.legend input'))
      choice.addEventListener('change', () => this.#list(this.#limit));
    this.#list(FIRST);
  }

  /** @param {number} limit */
  #list(limit) {
    this.#limit = limit;
    const wanted = this.query.value
      .toLowerCase()
      .split(/\s+/)
      .filter((word) => word !== '');
    const matches = this.rows.filter(({ run, text }) => isShown(run) && wanted.every((word) => text.includes(word)));
    const shown = matches.slice(0, limit);
    this.body.replaceChildren(
      ...shown.map(({ run, cells }) => el('tr', `run-${run}`, ...cells.map((cell) => el('td', '', cell)))),
    );
    const all = this.rows.length.toLocaleString('en-US');
    const found = matches.length.toLocaleString('en-US');
    this.found.textContent =
      wanted.length === 0
        ? `${shown.length} of ${all} events.`
        : `${shown.length} of ${found} matching events, ${all} in total.`;
    this.more.hidden = matches.length <= limit;
  }
}

document.documentElement.classList.add('scripted');
for (const plot of data.plots) new Tooltip(plot);
const body = document.querySelector('#log tbody');
if (body !== null) new Log(body);
