/** Shows tooltips of the plots, and searches the log. Text from a cluster is never parsed as HTML. */

const data = JSON.parse(document.getElementById('data').textContent);

/** @param {string} name @param {string} className @param {...(Node | string)} children */
const el = (name, className, ...children) => {
  const element = document.createElement(name);
  if (className !== '') element.className = className;
  element.append(...children);
  return element;
};

const timeText = (seconds) => new Date(data.startMs + seconds * 1000).toISOString().slice(0, 16).replace('T', ' ');

const digitsOf = (value, unit) => {
  if (unit === 'usd') return value > 0 && value < 0.1 ? 4 : 2;
  return Number.isInteger(value) || value >= 100 ? 0 : value >= 10 ? 1 : 2;
};

const valueText = (value, unit) => {
  if (unit === 'share') return `${(value * 100).toFixed(1)} %`;
  const digits = digitsOf(value, unit);
  const text = value.toLocaleString('en-US', { minimumFractionDigits: digits, maximumFractionDigits: digits });
  return unit === 'usd' ? `$${text}` : unit === 'gib' ? `${text} GiB` : text;
};

const spanText = (seconds) => {
  if (seconds < 120) return `${seconds} s`;
  return seconds < 7200 ? `${Number((seconds / 60).toFixed(1))} min` : `${Number((seconds / 3600).toFixed(1))} h`;
};

const isShown = (run) => document.getElementById(`show-${run}`)?.checked !== false;

/** Returns the place of each point of a plot, from 0 to 1, and its label. */
const pointsOf = (plot) => {
  if (plot.at !== undefined)
    return plot.at.map(([seconds, place]) => ({ place, label: `at most ${spanText(seconds)}` }));
  const count = Math.max(0, ...plot.lines.map(([, , values]) => values.length));
  return Array.from({ length: count }, (_, index) => ({
    place: Math.min(1, (index * plot.step) / Math.max(1, data.seconds)),
    label: timeText(index * plot.step),
  }));
};

const nearest = (points, place) => {
  let best = 0;
  for (let index = 1; index < points.length; index += 1)
    if (Math.abs(points[index].place - place) < Math.abs(points[best].place - place)) best = index;
  return best;
};

/** Returns a row for each visible run that has a value at this point. */
const tipRows = ({ lines, unit }, at) =>
  lines
    .filter(([run, , values]) => isShown(run) && values[at] !== undefined)
    .map(([run, label, values]) => {
      const text = data.runs[run] + (label === '' ? '' : `, ${label}`);
      const name = el('span', `run-${run}`, el('span', 'swatch'), text);
      return el('span', 'row', name, el('span', '', valueText(values[at], unit)));
    });

class Tooltip {
  #at = -1;

  constructor(plot) {
    this.plot = plot;
    this.points = pointsOf(plot);
    this.box = document.querySelector(`#${plot.id} .box`);
    this.svg = this.box.querySelector('svg');
    this.cursor = this.svg.querySelector('.cursor');
    this.tip = this.box.querySelector('.tip');
    for (const event of ['pointermove', 'pointerdown'])
      this.svg.addEventListener(event, ({ clientX }) => this.#follow(clientX));
    for (const event of ['pointerleave', 'blur']) this.box.addEventListener(event, () => this.#hide());
    this.box.addEventListener('keydown', (event) => this.#key(event));
  }

  #hide() {
    this.#at = -1;
    this.tip.hidden = true;
    this.cursor.classList.remove('on');
  }

  #follow(clientX) {
    const { left, width } = this.svg.getBoundingClientRect();
    const x = ((clientX - left) / width) * data.box.fullWidth;
    this.#show(nearest(this.points, (x - data.box.left) / data.box.width));
  }

  #key(event) {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    if (event.key === 'Escape') this.#hide();
    const step = event.shiftKey ? 10 : 1;
    const next = { ArrowRight: this.#at + step, ArrowLeft: this.#at - step, Home: 0, End: this.points.length - 1 };
    if (!Object.hasOwn(next, event.key)) return;
    event.preventDefault();
    this.#show(next[event.key]);
  }

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

const cellsOf = ([at, run, [what, pool, type, zone, capacity, reason], name, usd]) => {
  const { words } = data.log;
  const place = [words[type], words[zone], words[capacity]];
  return [timeText(at), data.runs[run], words[what], words[pool], name, ...place, usd.toFixed(4), words[reason]];
};

class Log {
  #limit = FIRST;

  constructor(body) {
    this.body = body;
    this.query = document.getElementById('query');
    this.found = document.getElementById('found');
    this.more = document.getElementById('more');
    this.rows = data.log.entries.map((entry) => {
      const cells = cellsOf(entry);
      return { run: entry[1], cells, text: cells.join(' ').toLowerCase() };
    });
    this.query.addEventListener('input', () => this.#list(FIRST));
    this.more.addEventListener('click', () => this.#list(this.#limit + MORE));
    document.getElementById('search').addEventListener('submit', (event) => event.preventDefault());
    for (const choice of document.querySelectorAll('.legend input'))
      choice.addEventListener('change', () => this.#list(this.#limit));
    this.#list(FIRST);
  }

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
    const [all, found] = [this.rows.length, matches.length].map((count) => count.toLocaleString('en-US'));
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
