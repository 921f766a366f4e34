/** Views other than the map, each with its own address, and search results. */
import { byId, el, link } from './dom.js';
import { efficiencyView } from './efficiency-view.js';
import { logView } from './log-view.js';
import { nodeClassesView, nodeClassView, nodePoolsView, nodePoolView, nodeView, podView } from './object-views.js';
import { ask, messageOf } from './parts.js';
import { timelineView } from './timeline-view.js';
import { whatIfView } from './what-if-view.js';

/**
 * @typedef {object} View
 * @property {(name: string) => string} title heading
 * @property {string} tab view in the navigation
 * @property {(name: string, nowMs: number) => Promise<readonly (HTMLElement | SVGElement | undefined)[]>} load loads the content
 * @property {boolean} [isForm]
 */

/** Views by the first part of the address. @type {Readonly<Record<string, View>>} */
const VIEWS = {
  node: { title: (name) => `Node ${name}`, tab: '', load: nodeView },
  pod: { title: (name) => `Pod ${name}`, tab: '', load: podView },
  nodepools: { title: () => 'NodePools', tab: 'nodepools', load: nodePoolsView },
  nodepool: { title: (name) => `NodePool ${name}`, tab: 'nodepools', load: nodePoolView },
  nodeclasses: { title: () => 'NodeClasses', tab: 'nodeclasses', load: nodeClassesView },
  nodeclass: { title: (name) => `NodeClass ${name}`, tab: 'nodeclasses', load: nodeClassView },
  efficiency: { title: () => 'Requests and use', tab: 'efficiency', load: efficiencyView },
  log: { title: () => 'Log', tab: 'log', load: logView },
  timeline: { title: () => 'Timeline', tab: 'timeline', load: timelineView },
  'what-if': { title: () => 'What if', tab: 'what-if', load: whatIfView, isForm: true },
};

/** Returns the view and the name in an address such as `#/node/NAME`. @param {string} hash */
function viewAt(hash) {
  const [, kind = '', name = ''] = /^#\/([a-z-]+)(?:\/(.+))?$/.exec(hash) ?? [];
  const view = Object.hasOwn(VIEWS, kind) ? VIEWS[kind] : undefined;
  if (view === undefined) return undefined;
  try {
    return { ...view, kind, name: decodeURIComponent(name) };
  } catch {
    return undefined;
  }
}

/**
 * Shows the view of an address. Shows the map for other addresses.
 * @param {string} hash @param {number} nowMs
 */
export async function showView(hash, nowMs, { focus = false } = {}) {
  const place = byId('details');
  const view = viewAt(hash);
  place.hidden = view === undefined;
  byId('home').hidden = view !== undefined;
  markTab(view?.tab ?? '');
  if (view === undefined) {
    place.dataset.shown = '';
    return place.replaceChildren();
  }
  const isShown = place.dataset.shown === hash;
  // do not replace the content while the user reads it
  const isInUse = place.contains(document.activeElement) && document.activeElement !== place;
  if (isShown && ((isInUse && !focus) || view.isForm)) return;
  let content;
  try {
    content = await view.load(view.name, nowMs);
  } catch (error) {
    content = [el('p', { class: 'problem' }, `${view.name} ${messageOf(error)}`.trim())];
  }
  // the user may have opened another view in the meantime
  if (location.hash !== hash) return;
  /** @param {HTMLDetailsElement} details */
  const summaryOf = (details) => details.querySelector('summary')?.textContent;
  const details = isShown ? [...place.querySelectorAll('details')] : [];
  const open = details.filter((each) => each.open).map(summaryOf);
  place.dataset.shown = hash;
  const close = view.tab === '' ? el('a', { class: 'close', href: '#/' }, 'Close') : undefined;
  place.replaceChildren(
    ...[close, el('h2', {}, view.title(view.name)), ...content].filter((each) => each !== undefined),
  );
  for (const each of place.querySelectorAll('details')) if (open.includes(summaryOf(each))) each.open = true;
  if (focus) {
    place.focus();
    scrollTo(0, 0);
  }
}

/** Marks the current view in the navigation. @param {string} tab */
function markTab(tab) {
  for (const each of byId('views').children) {
    if (each.getAttribute('href') === `#/${tab}`) each.setAttribute('aria-current', 'page');
    else each.removeAttribute('aria-current');
  }
}

/** Shows search results. They include pods, which the page does not store. @param {string} query */
export async function showFound(query) {
  const place = byId('found');
  place.hidden = query.trim() === '';
  if (place.hidden) return place.replaceChildren();
  try {
    const found = await ask('search', { q: query });
    const items = found.map(({ kind, name, text }) =>
      el('li', {}, `${kind} `, link(kind, name), ' ', el('span', { class: 'soft' }, text)),
    );
    place.replaceChildren(
      el('h2', {}, `Results for “${query}”`),
      el('ul', { class: 'rows' }, ...(items.length > 0 ? items : [el('li', { class: 'empty' }, 'No results.')])),
    );
  } catch (error) {
    place.replaceChildren(el('p', { class: 'problem' }, messageOf(error)));
  }
}
