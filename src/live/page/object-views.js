/**
 * Content of the views of nodes, pods, NodePools and NodeClasses.
 * @import { ClassRow, NodeResponse, PodResponse, PoolRow, ShownUsage } from '../responses.ts'
 * @import { Child } from './dom.js'
 */
import { el, link } from './dom.js';
import { amountText, counted, spanText, surplusText, usdText } from './format.js';
import { ask, conditions, cut, events, facts, more, table } from './parts.js';
import { POD_PHASES, STATES, sentenceOf } from './sentences.js';

/** @param {string} name @param {number} nowMs */
export async function nodeView(name, nowMs) {
  return nodeContent(await ask('node', { name }), nowMs);
}

/** @param {string} name @param {number} nowMs */
export async function podView(name, nowMs) {
  return podContent(await ask('pod', { name }), nowMs);
}

/** @param {NodeResponse} response @param {number} nowMs */
function nodeContent({ node, labels, taints, conditions: given, methods, command, pods, morePods, decisions }, nowMs) {
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
      pods.map(({ pod, phase, requests }) => [link('pod', pod), POD_PHASES[phase] ?? phase, amounts(requests)]),
    ),
    morePods > 0 ? el('p', { class: 'soft' }, `and ${morePods} more`) : undefined,
    el(
      'p',
      {},
      el('a', { href: `#/what-if/${encodeURIComponent(`drain ${node.name}`)}` }, 'What if this node is drained?'),
    ),
    ...events(decisions, nowMs),
    conditions(given, nowMs),
    more('Taints', taints),
    more(
      'Labels',
      Object.entries(labels).map(([key, value]) => `${key}=${value}`),
    ),
  ];
}

/** @param {NodeResponse['pods'][number]['requests']} requests */
const amounts = (requests) =>
  Object.entries(requests)
    .filter(([name]) => name !== 'pods')
    .map(([name, amount]) => `${name} ${amountText(name, amount)}`)
    .join(', ');

/** @param {PodResponse} response @param {number} nowMs */
function podContent({ phase, node, nodeClaim, owner, sinceMs, scheduling, reason, requests }, nowMs) {
  return [
    facts([
      ['State', node === '' && phase === 'Pending' ? 'Pending' : (POD_PHASES[phase] ?? phase)],
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

/** @param {ShownUsage} usage */
const usageText = ({ resource, used, limit }) => {
  const amount = amountText(resource, used);
  return limit === undefined ? `${amount}, no limit` : `${amount} of ${amountText(resource, limit)}`;
};

/** Shows the limits of a NodePool with their use, as bars. @param {readonly ShownUsage[]} usage */
const usageBars = (usage) =>
  el(
    'div',
    { class: 'usage' },
    ...usage.map((each) => {
      const { resource, used, limit } = each;
      const part = limit === undefined ? undefined : limit > 0 ? Math.min(1, used / limit) : 1;
      const fill = el('div', { class: part === 1 ? 'fill full' : 'fill' });
      fill.style.width = `${((part ?? 0) * 100).toFixed(1)}%`;
      return el(
        'div',
        { class: 'limit' },
        el('span', {}, resource),
        part === undefined ? el('span') : el('div', { class: 'track' }, fill),
        el('span', {}, usageText(each)),
      );
    }),
  );

/** @param {Pick<PoolRow | ClassRow, 'ready' | 'problem'>} row @returns {Child} */
const readyText = ({ ready, problem }) =>
  ready === 'True'
    ? 'Ready'
    : cut(
        problem,
        el('span', { class: `status-${ready}` }, ready === 'False' ? 'Not ready' : 'Not known yet'),
        problem === '' ? '' : el('span', { class: 'soft' }, ` ${problem}`),
      );

/** @param {number} more @param {string} noun */
const rest = (more, noun) => (more > 0 ? [el('p', { class: 'soft' }, `and ${counted(more, noun)} more`)] : []);

/** Shows the limit with the highest use. The title has all. @param {PoolRow} row */
const limitsOf = ({ usage }) => {
  const limited = usage.filter(({ limit }) => limit !== undefined);
  /** @param {ShownUsage} usage */
  const part = ({ used, limit = 0 }) => (limit > 0 ? used / limit : 1);
  const [tightest] = limited.toSorted((a, b) => part(b) - part(a));
  if (tightest === undefined) return 'No limits';
  const bars = usageBars([tightest]);
  bars.title = limited.map((each) => `${each.resource}: ${usageText(each)}`).join('\n');
  return bars;
};

export async function nodePoolsView() {
  const { rows, more: left } = await ask('nodepools', {});
  if (rows.length === 0) return [el('p', { class: 'empty' }, 'The cluster has no NodePools.')];
  const lines = rows.map((row) => [
    cut(row.name, link('nodepool', row.name)),
    readyText(row),
    cut(row.nodeClass, link('nodeclass', row.nodeClass)),
    row.nodes.toLocaleString('en'),
    usdText(row.usdPerHour),
    limitsOf(row),
  ]);
  return [
    table('NodePools', ['NodePool', 'State', 'NodeClass', 'Nodes', 'USD/h', 'Limits'], lines, {
      cards: true,
      name: 'nodepools',
    }),
    ...rest(left, 'NodePool'),
  ];
}

/** @param {string} name @param {number} nowMs */
export async function nodePoolView(name, nowMs) {
  const found = await ask('nodepool', { name });
  return [
    facts([
      ['State', readyText(found)],
      ['NodeClass', link('nodeclass', found.nodeClass)],
      ['Nodes', found.replicas === undefined ? `${found.nodes}` : `${found.nodes}, fixed at ${found.replicas}`],
      ['Cost', `${usdText(found.usdPerHour)} an hour`],
      ['Weight', found.weight === 0 ? undefined : String(found.weight)],
      ['Consolidation', found.consolidation],
      ['Disruption budgets', found.budgets.join('; ')],
    ]),
    el('h3', {}, 'Usage and limits'),
    usageBars(found.usage),
    conditions(found.conditions, nowMs),
    ...events(found.decisions, nowMs),
    more('Requirements', found.requirements),
  ];
}

/** @param {string} name @param {readonly string[]} items @returns {readonly [string, Child]} */
const resolvedFact = (name, items) => [
  name,
  items.length === 0 ? undefined : el('span', {}, ...items.map((item) => el('div', {}, item))),
];

export async function nodeClassesView() {
  const { rows, more: left } = await ask('nodeclasses', {});
  if (rows.length === 0) return [el('p', { class: 'empty' }, 'The cluster has no NodeClasses.')];
  const lines = rows.map((row) => [
    cut(row.name, link('nodeclass', row.name)),
    readyText(row),
    cut(row.nodePools.join(' '), ...row.nodePools.flatMap((pool) => [link('nodepool', pool), ' '])),
    row.nodes.toLocaleString('en'),
  ]);
  return [
    table('NodeClasses', ['NodeClass', 'State', 'NodePools', 'Nodes'], lines, {
      cards: true,
      name: 'nodeclasses',
    }),
    ...rest(left, 'NodeClass'),
  ];
}

/** @param {string} name @param {number} nowMs */
export async function nodeClassView(name, nowMs) {
  const found = await ask('nodeclass', { name });
  return [
    facts([
      ['State', readyText(found)],
      ['NodePools', el('span', {}, ...found.nodePools.flatMap((pool) => [link('nodepool', pool), ' ']))],
      ['Nodes', String(found.nodes)],
      ...found.resolved.map(({ what, items }) => resolvedFact(what, items)),
    ]),
    conditions(found.conditions, nowMs),
    ...events(found.decisions, nowMs),
  ];
}
