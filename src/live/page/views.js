/** Views other than the map, each with its own address, and search results. */
import { byId, el, link } from './dom.js';
import { amountText, spanText, surplusText, usdText } from './format.js';
import { line } from './panels.js';
import { STATES, sentenceOf } from './sentences.js';

const ask = async (path, parameters) => {
  const answer = await fetch(`/api/${path}?${new URLSearchParams(parameters)}`);
  if (!answer.ok) throw new Error(await answer.text());
  return answer.json();
};

/** Views by the first part of the address: heading, view in the navigation, and function that loads and shows the content. */
const VIEWS = {
  node: {
    title: (name) => `Node ${name}`,
    tab: '',
    load: async (name, nowMs) => nodeContent(await ask('node', { name }), nowMs),
  },
  pod: {
    title: (name) => `Pod ${name}`,
    tab: '',
    load: async (name, nowMs) => podContent(await ask('pod', { name }), nowMs),
  },
};

/** Returns the view and the name in an address such as `#/node/NAME`. */
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

/** Shows the view of an address. Shows the map for other addresses. */
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
    content = [el('p', { class: 'problem' }, `${view.name} ${error.message}`.trim())];
  }
  // the user may have opened another view in the meantime
  if (location.hash !== hash) return;
  const open = isShown ? [...place.querySelectorAll('details[open] > summary')].map((each) => each.textContent) : [];
  place.dataset.shown = hash;
  const close = view.tab === '' ? el('a', { class: 'close', href: '#/' }, 'Close') : undefined;
  place.replaceChildren(...[close, el('h2', {}, view.title(view.name)), ...content].filter(Boolean));
  for (const summary of place.querySelectorAll('details > summary'))
    if (open.includes(summary.textContent)) summary.parentElement.open = true;
  if (focus) {
    place.focus();
    scrollTo(0, 0);
  }
}

/** Marks the current view in the navigation. */
function markTab(tab) {
  for (const each of byId('views').children) {
    if (each.getAttribute('href') === `#/${tab}`) each.setAttribute('aria-current', 'page');
    else each.removeAttribute('aria-current');
  }
}

const facts = (pairs) =>
  el(
    'dl',
    {},
    ...pairs
      .filter(([, value]) => value !== '' && value !== undefined)
      .flatMap(([name, value]) => [el('dt', {}, name), el('dd', {}, value)]),
  );

function nodeContent({ node, labels, taints, conditions, methods, command, pods, morePods, decisions }, nowMs) {
  const price =
    node.usdPerHour === undefined ? 'unknown price' : `${usdText(node.usdPerHour)} an hour${surplusText(node)}`;
  return [
    facts([
      ['Instance', [node.instanceType, node.zone, node.capacityType, price].filter(Boolean).join(', ')],
      ['NodePool', node.nodePool],
      ['NodeClaim', node.nodeClaim],
      ['State', STATES[node.state]],
      [
        'Would it be disrupted?',
        node.verdict === undefined ? 'not known yet' : `${sentenceOf(node.verdict.code)}: ${node.verdict.text}`,
      ],
      ['Blocked by', node.verdict?.object],
      [
        'Command',
        command && `${command.method} of ${command.nodes.join(', ')} saves ${usdText(command.savings)} an hour`,
      ],
    ]),
    table(
      'Disruption methods',
      ['Method', 'Result', 'Details'],
      methods.map(({ method, code, text }) => [method, sentenceOf(code), text]),
    ),
    table(
      'Pods',
      ['Pod', 'Phase', 'Requests'],
      pods.map(({ pod, phase, requests }) => [link('pod', pod), phase, amounts(requests)]),
    ),
    morePods > 0 ? el('p', { class: 'soft' }, `and ${morePods} more`) : undefined,
    el('h3', {}, 'Decisions'),
    el('ol', { class: 'rows' }, ...decisions.toReversed().map((one) => line(one, nowMs))),
    more('Conditions', conditions),
    more('Taints', taints),
    more(
      'Labels',
      Object.entries(labels).map(([key, value]) => `${key}=${value}`),
    ),
  ].filter(Boolean);
}

const amounts = (requests) =>
  Object.entries(requests)
    .filter(([name]) => name !== 'pods')
    .map(([name, amount]) => `${name} ${amountText(name, amount)}`)
    .join(', ');

function podContent({ phase, node, nodeClaim, owner, sinceMs, scheduling, reason, requests }, nowMs) {
  return [
    facts([
      ['Phase', phase],
      ['Owner', owner],
      ['Requests', amounts(requests)],
      ['Node', node === '' ? undefined : link('node', node)],
      ['NodeClaim for the pod', nodeClaim && link('node', nodeClaim)],
      ['Waiting for', node === '' && sinceMs > 0 ? spanText(nowMs - sinceMs) : undefined],
      ['kube-scheduler', scheduling],
      ['Operator', reason ?? (node === '' ? 'no reason reported' : undefined)],
    ]),
  ];
}

function table(title, headings, lines) {
  if (lines.length === 0) return undefined;
  const head = el('thead', {}, el('tr', {}, ...headings.map((text) => el('th', { scope: 'col' }, text))));
  const body = el('tbody', {}, ...lines.map((cells) => el('tr', {}, ...cells.map((cell) => el('td', {}, cell)))));
  return el(
    'div',
    { class: 'scroll', tabindex: '0', role: 'region', 'aria-label': title },
    el('h3', {}, title),
    el('table', {}, head, body),
  );
}

const more = (title, lines) =>
  lines.length === 0
    ? undefined
    : el('details', {}, el('summary', {}, `${title} (${lines.length})`), el('pre', {}, lines.join('\n')));

/** Shows search results. They include pods, which the page does not store. */
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
    place.replaceChildren(el('p', { class: 'problem' }, error.message));
  }
}
