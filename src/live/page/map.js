/**
 * Map of the nodes: a box for each node, with a block for each pod. A large cluster is drawn on a canvas, so that the number of
 * elements stays limited.
 * @import { LiveNode, PendingGroup } from '../model.ts'
 * @import { Tones } from './map-layout.js'
 */
import { byId, el, svg, tint } from './dom.js';
import { byPool, counted, matches, nodeText } from './format.js';
import { boxSide, cellSide, flow, MOST_BOXES, POOL_TONES, podPaths, scaleFor, tonesFor } from './map-layout.js';
import { POD_STATES, STATES } from './sentences.js';

/** Area of the map in pixels: its width, and this part of the height of the window. */
const HEIGHT_PART = 0.55;
/** Duration of the animation of removed nodes, as in the style sheet. */
const LEAVE_MS = 600;
/** Maximum number of squares for pending pods. */
const MOST_WAITING = 60;
const TITLE_HEIGHT = 22;

/**
 * @typedef {object} Box
 * @property {LiveNode} node @property {string} tone @property {number} side
 * @property {HTMLLIElement} item @property {HTMLAnchorElement} link @property {HTMLElement} caption
 * @property {string} blocks shown blocks as JSON
 */
/** @typedef {{ title: HTMLElement, list: HTMLElement, element: HTMLElement, shown: string }} Group */

/** Elements and shown data, by the name of the node. @type {Map<string, Box>} */
const boxes = new Map();
/** Sections by the name of the NodePool. @type {Map<string, Group>} */
const groups = new Map();
let isFirst = true;
/** Positions of the nodes on the canvas. @type {{ x: number, y: number, side: number, node: LiveNode }[]} */
let hits = [];

const isMoving = () => !matchMedia('(prefers-reduced-motion: reduce)').matches && !document.hidden;

/**
 * @param {ReadonlyMap<string, LiveNode>} nodes @param {string} query
 * @param {{ readonly choice: string, readonly width: number }} options
 */
export function showMap(nodes, query, { choice, width }) {
  const all = [...nodes.values()];
  const shown = all.filter((node) => matches(node, query));
  const tones = tonesFor(choice, all, POOL_TONES);
  const place = byId('boxes');
  const scale = scaleFor(shown, { width, height: Math.max(300, innerHeight * HEIGHT_PART) });
  const isLarge = shown.length > MOST_BOXES;
  place.classList.toggle('large', isLarge);
  showLegend(tones, shown, isLarge);
  if (isLarge) drawAll(place, shown, { tones, scale, width });
  else showBoxes(place, shown, { tones, scale, nodes });
  if (all.length > 0) isFirst = false;
}

/** @param {Tones} tones @param {readonly LiveNode[]} shown @param {boolean} isLarge */
function showLegend({ toneOf, labels }, shown, isLarge) {
  const counts = Map.groupBy(shown, toneOf);
  const present = labels.filter(([tone]) => counts.has(tone));
  const states = isLarge ? [] : Object.entries(POD_STATES);
  byId('legend').replaceChildren(
    ...present.map(([tone, label]) =>
      el('li', {}, tint(el('i', { class: 'swatch' }), tone), `${label} `, el('small', {}, counts.get(tone)?.length)),
    ),
    ...states.map(([state, label]) =>
      el('li', { class: 'pods' }, el('i', { class: `swatch pod-${state}` }), `${label} pod`),
    ),
    ...(isLarge ? [] : [el('li', { class: 'pods' }, el('i', { class: 'swatch free' }), 'Free room')]),
  );
}

/**
 * @param {HTMLElement} place @param {readonly LiveNode[]} shown
 * @param {{ readonly tones: Tones, readonly scale: number, readonly nodes: ReadonlyMap<string, LiveNode> }} options
 */
function showBoxes(place, shown, { tones, scale, nodes }) {
  place.querySelector('canvas')?.parentElement?.remove();
  place.querySelector('.empty')?.remove();
  const pools = byPool(shown);
  removeBoxes(new Set(shown.map(({ name }) => name)), nodes);
  removeGroups(new Set(pools.map(([name]) => name)));
  for (const [name, members] of pools) {
    const { element, list } = groupOf(place, name, members);
    place.append(element);
    arrange(
      list,
      members.map((node) => boxOf(node, { tone: tones.toneOf(node), side: boxSide(node, scale) })),
    );
  }
  if (shown.length === 0 && boxes.size === 0)
    place.append(el('p', { class: 'empty' }, nodes.size === 0 ? 'No nodes.' : 'No matching nodes.'));
  keepOneTabStop(place);
}

/**
 * Puts the items into the list in order. Items that are leaving keep their place.
 * @param {HTMLElement} list @param {readonly HTMLElement[]} items
 */
function arrange(list, items) {
  let before = list.firstElementChild;
  for (const item of items) {
    while (before?.classList.contains('leaves')) before = before.nextElementSibling;
    if (item === before) before = item.nextElementSibling;
    else list.insertBefore(item, before);
  }
}

/** @param {ReadonlySet<string>} present @param {ReadonlyMap<string, LiveNode>} nodes */
function removeBoxes(present, nodes) {
  for (const [name, box] of boxes) if (!present.has(name)) leave(name, box, nodes.has(name));
}

/**
 * Removes the empty sections. A section with a box that is leaving is removed later.
 * @param {ReadonlySet<string>} present
 */
function removeGroups(present) {
  for (const [name, { element, list }] of groups) {
    if (present.has(name) || list.childElementCount > 0) continue;
    element.remove();
    groups.delete(name);
  }
}

/** @param {HTMLElement} place @param {string} name @param {readonly LiveNode[]} members */
function groupOf(place, name, members) {
  let group = groups.get(name);
  if (group === undefined) {
    const title = el('h3');
    const list = el('ul', { class: 'boxes' });
    group = { title, list, element: el('div', { class: 'group' }, title, list), shown: '' };
    groups.set(name, group);
    place.append(group.element);
  }
  const text = `${poolTitle(name)} · ${counted(members.length, 'node')}`;
  if (group.shown !== text) group.title.textContent = text;
  group.shown = text;
  return group;
}

/** @param {string} name */
export const poolTitle = (name) => (name === '' ? 'Nodes without NodePool' : `NodePool ${name}`);

/** @param {LiveNode} node @param {{ readonly tone: string, readonly side: number }} look */
function boxOf(node, { tone, side }) {
  const known = boxes.get(node.name);
  if (known !== undefined && known.node === node && known.tone === tone && known.side === side) return known.item;
  const link = known?.link ?? el('a', { href: `#/node/${encodeURIComponent(node.name)}`, tabindex: '-1' });
  const caption = known?.caption ?? el('span', { class: 'caption', 'aria-hidden': 'true' });
  const item = known?.item ?? el('li', { class: isFirst || !isMoving() ? '' : 'arrives' }, link, caption);
  const text = nodeText(node, STATES);
  tint(link, tone).className = `box ${node.state}`;
  link.title = text;
  link.setAttribute('aria-label', text);
  link.style.width = `${side}px`;
  link.style.height = `${side}px`;
  item.style.maxWidth = `${side}px`;
  caption.textContent = side >= 56 ? node.instanceType : '';
  if (known === undefined || known.blocks !== JSON.stringify(node.blocks)) link.replaceChildren(podPicture(node));
  boxes.set(node.name, { node, tone, side, item, link, caption, blocks: JSON.stringify(node.blocks) });
  return item;
}

/** @param {LiveNode} node */
function podPicture({ blocks }) {
  const paths = Object.entries(podPaths(blocks));
  const picture = svg('svg', { viewBox: '0 0 100 100', preserveAspectRatio: 'none', 'aria-hidden': 'true' });
  picture.append(...paths.map(([state, d]) => svg('path', { class: `pod-${state}`, d })));
  return picture;
}

/**
 * Removes a box. The box of a removed node shrinks first. The box of a hidden node is removed immediately.
 * @param {string} name @param {Box} box @param {boolean} isHidden
 */
function leave(name, { item, link }, isHidden) {
  boxes.delete(name);
  if (isHidden || !isMoving()) return item.remove();
  item.classList.remove('arrives');
  item.classList.add('leaves');
  link.tabIndex = -1;
  setTimeout(() => item.remove(), LEAVE_MS);
}

/** Links of the boxes that are not leaving. @param {HTMLElement} place @returns {readonly HTMLAnchorElement[]} */
const linksIn = (place) => [...place.querySelectorAll('a')].filter((each) => each.matches('li:not(.leaves) > a'));

/** The map is one stop of the Tab key. Arrow keys move within it. @param {HTMLElement} place */
function keepOneTabStop(place) {
  const [first, ...others] = linksIn(place);
  if (first !== undefined && ![first, ...others].some((link) => link.tabIndex === 0)) first.tabIndex = 0;
}

/** @type {Readonly<Record<string, number>>} */
const STEPS = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 };

/** @param {KeyboardEvent} event */
export function moveInMap(event) {
  const links = linksIn(byId('boxes'));
  const at = links.indexOf(/** @type {HTMLAnchorElement} */ (document.activeElement));
  const to = event.key === 'Home' ? 0 : event.key === 'End' ? links.length - 1 : at + (STEPS[event.key] ?? 0);
  const target = links[to];
  if (at < 0 || to === at || target === undefined) return;
  event.preventDefault();
  for (const link of links) link.tabIndex = -1;
  target.tabIndex = 0;
  target.focus();
}

/** Replaces the boxes by a canvas. @param {HTMLElement} place */
function newCanvas(place) {
  boxes.clear();
  groups.clear();
  const canvas = el('canvas', { role: 'img' });
  canvas.addEventListener('mousemove', (event) => {
    canvas.title = hitAt(event)?.text ?? '';
  });
  canvas.addEventListener('click', (event) => {
    const name = hitAt(event)?.name;
    if (name !== undefined) location.hash = `#/node/${encodeURIComponent(name)}`;
  });
  const note = el(
    'p',
    { class: 'soft' },
    `With more than ${MOST_BOXES} nodes, the map shows nodes without pods; the filled part is the requested share. Search to see fewer nodes with their pods.`,
  );
  place.replaceChildren(el('div', {}, canvas, note));
  return canvas;
}

/**
 * Draws a rectangle for each node, without pods.
 * @param {HTMLElement} place @param {readonly LiveNode[]} shown
 * @param {{ readonly tones: Tones, readonly scale: number, readonly width: number }} options
 */
function drawAll(place, shown, { tones, scale, width }) {
  const canvas = place.querySelector('canvas') ?? newCanvas(place);
  const pools = byPool(shown).map(([name, members]) => {
    const { places, height } = flow(
      members.map((node) => cellSide(node, scale)),
      width,
    );
    return { name, squares: members.map((node, at) => ({ node, x: 0, y: 0, side: 0, ...places[at] })), height };
  });
  const height = pools.reduce((sum, pool) => sum + TITLE_HEIGHT + pool.height, 0);
  const ratio = Math.min(2, devicePixelRatio || 1);
  canvas.width = width * ratio;
  canvas.height = height * ratio;
  canvas.style.width = `${width}px`;
  canvas.style.height = `${height}px`;
  canvas.setAttribute(
    'aria-label',
    `${counted(shown.length, 'node')} in ${counted(pools.length, 'NodePool')}. The table lists them.`,
  );
  const context = canvas.getContext('2d');
  if (context !== null) paint(context, pools, { tones, ratio });
}

/**
 * @typedef {object} DrawnPool
 * @property {string} name @property {number} height
 * @property {readonly { readonly x: number, readonly y: number, readonly side: number, readonly node: LiveNode }[]} squares
 */

/**
 * @param {CanvasRenderingContext2D} context @param {readonly DrawnPool[]} pools
 * @param {{ readonly tones: Tones, readonly ratio: number }} options
 */
function paint(context, pools, { tones, ratio }) {
  const styles = getComputedStyle(context.canvas);
  /** @type {Map<string, string>} */
  const colours = new Map();
  /** @param {string} name */
  const colourOf = (name) => {
    const known = colours.get(name);
    if (known !== undefined) return known;
    // the canvas cannot resolve light-dark(), but a CSS property can
    context.canvas.style.color = `var(${name})`;
    colours.set(name, styles.color);
    return styles.color;
  };
  context.scale(ratio, ratio);
  context.font = '12px system-ui, sans-serif';
  hits = [];
  let top = 0;
  for (const { name, squares, height } of pools) {
    context.globalAlpha = 1;
    context.fillStyle = colourOf('--soft');
    context.fillText(`${poolTitle(name)} · ${counted(squares.length, 'node')}`, 0, top + 15);
    top += TITLE_HEIGHT;
    for (const { x, y, side, node } of squares) {
      const used = Math.min(1, node.blocks.reduce((sum, [share, , pods]) => sum + share * pods, 0) / 1000);
      context.fillStyle = colourOf(`--${tones.toneOf(node)}`);
      context.globalAlpha = 0.3;
      context.fillRect(x, top + y, side, side);
      context.globalAlpha = 1;
      context.fillRect(x, top + y + side * (1 - used), side, side * used);
      hits.push({ x, y: top + y, side, node });
    }
    top += height;
  }
}

/** @param {MouseEvent} event */
function hitAt({ offsetX, offsetY }) {
  const hit = hits.find(({ x, y, side }) => offsetX >= x && offsetX <= x + side && offsetY >= y && offsetY <= y + side);
  return hit && { name: hit.node.name, text: nodeText(hit.node, STATES) };
}

/**
 * Shows pending pods as squares above the map. The list of pending pods has their reasons.
 * @param {readonly PendingGroup[]} groups @param {number} count
 */
export function showWaiting(groups, count) {
  const pods = groups.flatMap(({ others, ...first }) => [
    first,
    ...others.map((other) => ({ ...other, reason: first.reason })),
  ]);
  const squares = pods.slice(0, MOST_WAITING).map(({ pod, reason }) =>
    el('a', {
      class: 'square',
      href: `#/pod/${encodeURIComponent(pod)}`,
      tabindex: '-1',
      title: reason ? `${pod}\n${reason}` : pod,
    }),
  );
  byId('waiting').replaceChildren(
    el('h3', {}, count === 0 ? 'No pending pods' : counted(count, 'pending pod')),
    el('div', { class: 'squares', 'aria-hidden': 'true' }, ...squares),
  );
}
