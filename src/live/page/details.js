/** Details of one node or pod, and search results. */
import { byId, el, link } from './dom.js';
import { amountText, spanText, surplusText, usdText } from './format.js';
import { line } from './panels.js';

const ask = async (path, parameters) => {
  const answer = await fetch(`/api/${path}?${new URLSearchParams(parameters)}`);
  if (!answer.ok) throw new Error(await answer.text());
  return answer.json();
};

/** Shows the object of `#/node/NAME` or `#/pod/NAMESPACE/NAME`. Hides the details for other addresses. */
export async function showDetails(hash, nowMs, { focus = false } = {}) {
  const place = byId('details');
  const [, kind, name] = /^#\/(node|pod)\/(.+)$/.exec(hash) ?? [];
  place.hidden = kind === undefined;
  if (kind === undefined) return place.replaceChildren();
  // do not replace the content while the user reads it
  const isInUse = place.contains(document.activeElement) && document.activeElement !== place;
  if (isInUse && !focus && place.dataset.shown === hash) return;
  const wanted = decodeURIComponent(name);
  let content;
  try {
    const found = await ask(kind, { name: wanted });
    content = kind === 'node' ? nodeContent(found, nowMs) : podContent(found, nowMs);
  } catch (error) {
    content = [el('p', { class: 'problem' }, `${wanted}: ${error.message}`)];
  }
  const close = el('a', { class: 'close', href: '#/' }, 'Close');
  place.dataset.shown = hash;
  place.replaceChildren(close, el('h2', {}, `${kind === 'node' ? 'Node' : 'Pod'} ${wanted}`), ...content);
  if (focus) place.focus();
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
      ['State', node.state],
      ['Would it be disrupted?', node.verdict === undefined ? 'unknown' : `${node.verdict.code}: ${node.verdict.text}`],
      ['Blocked by', node.verdict?.object],
      [
        'Command',
        command && `${command.method} of ${command.nodes.join(', ')} saves ${usdText(command.savings)} an hour`,
      ],
    ]),
    table(
      'Disruption methods',
      ['Method', 'Code', 'Because'],
      methods.map(({ method, code, text }) => [method, code, text]),
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
