/**
 * View with the effect of a change. The operator computes the effect without changing the cluster.
 * @import { ShownDrain, ShownEffect, ShownMove, WhatIfResponse } from '../responses.ts'
 */
import { el, link } from './dom.js';
import { counted, usdText } from './format.js';
import { ask, messageOf, table } from './parts.js';

/** @typedef {Record<string, string>} Values values of the fields by name */
/**
 * @typedef {object} Field
 * @property {string} name @property {string} label
 * @property {'workloads' | 'nodes' | 'nodePools'} [list] names that the field suggests
 * @property {string} [value] @property {string} [placeholder] @property {'text' | 'number'} [type] @property {boolean} [optional]
 */
/**
 * @typedef {object} Change
 * @property {string} label @property {RegExp} pattern @property {readonly Field[]} fields
 * @property {(values: Values) => string} textOf returns the text that the operator reads
 */

/** @satisfies {Record<string, Change>} */
const CHANGES = {
  scale: {
    label: 'Scale a workload',
    pattern: /^scale\s+([^\s=]+)=(\d+)$/,
    fields: [
      { name: 'workload', label: 'Workload', list: 'workloads', placeholder: 'namespace/Deployment/name' },
      { name: 'replicas', label: 'Replicas', type: 'number' },
    ],
    textOf: ({ workload, replicas }) => `scale ${workload}=${replicas}`,
  },
  drain: {
    label: 'Drain a node',
    pattern: /^drain\s+(\S+)$/,
    fields: [{ name: 'node', label: 'Node', list: 'nodes' }],
    textOf: ({ node }) => `drain ${node}`,
  },
  limit: {
    label: 'Change a limit of a NodePool',
    pattern: /^limit\s+(\S+)\s+([^=\s]+)=(\S+)$/,
    fields: [
      { name: 'pool', label: 'NodePool', list: 'nodePools' },
      { name: 'resource', label: 'Resource', value: 'cpu' },
      { name: 'amount', label: 'Limit' },
    ],
    textOf: ({ pool, resource, amount }) => `limit ${pool} ${resource}=${amount}`,
  },
  require: {
    label: 'Change a requirement of a NodePool',
    pattern: /^require\s+(\S+)\s+([^=\s]+)=(\S*)$/,
    fields: [
      { name: 'pool', label: 'NodePool', list: 'nodePools' },
      { name: 'key', label: 'Label', value: 'karpenter.k8s.aws/instance-family' },
      { name: 'values', label: 'Values, separated by commas', optional: true },
    ],
    textOf: ({ pool, key, values = '' }) => `require ${pool} ${key}=${values.replace(/\s/g, '')}`,
  },
};

/** @typedef {keyof typeof CHANGES} Kind */

/**
 * Returns the kind of a change and the values of its fields.
 * @param {string} text @returns {{ kind: string, values: Values }}
 */
export function readChange(text) {
  for (const [kind, { pattern, fields }] of Object.entries(CHANGES)) {
    const found = pattern.exec(text);
    if (found !== null)
      return { kind, values: Object.fromEntries(fields.map(({ name }, at) => [name, found[at + 1] ?? ''])) };
  }
  return { kind: 'scale', values: {} };
}

/** @param {string} change */
export async function whatIfView(change) {
  const intro = el(
    'p',
    { class: 'soft' },
    'Shows which nodes the operator would launch after a change, as karpenter simulate does. Nothing is changed.',
  );
  const form = formFor(readChange(change));
  form.append(...(await choiceLists()));
  if (change === '') return [intro, form];
  return [intro, form, el('div', { id: 'answer', role: 'status' }, ...(await answerTo(change)))];
}

/** @param {string} change */
async function answerTo(change) {
  try {
    return answerContent(await ask('what-if', { change }));
  } catch (error) {
    return [el('p', { class: 'problem' }, messageOf(error))];
  }
}

/** @param {ReturnType<typeof readChange>} change */
function formFor({ kind, values }) {
  const form = el('form', { id: 'what-if' });
  const select = el(
    'select',
    { name: 'change' },
    ...Object.entries(CHANGES).map(([each, { label }]) => el('option', { value: each }, label)),
  );
  select.value = kind;
  const inputs = el('div', { class: 'fields' });
  /** @returns {Change} */
  const chosen = () => CHANGES[/** @type {Kind} */ (select.value)];
  /** @param {Values} given */
  const show = (given) => inputs.replaceChildren(...chosen().fields.map((field) => fieldFor(field, given)));
  show(values);
  select.addEventListener('change', () => show({}));
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    const data = [...new FormData(form)];
    const text = chosen().textOf(Object.fromEntries(data.map(([name, value]) => [name, String(value).trim()])));
    const hash = `#/what-if/${encodeURIComponent(text)}`;
    // the same question again has no other address
    if (location.hash === hash) dispatchEvent(new HashChangeEvent('hashchange'));
    else location.hash = hash;
  });
  form.append(el('label', {}, 'Change', select), inputs, el('button', { type: 'submit' }, 'Show the effect'));
  return form;
}

/** @param {Field} field @param {Values} given */
function fieldFor({ name, label, value, list, placeholder, type = 'text', optional = false }, given) {
  const input = el('input', {
    name,
    type,
    placeholder,
    list: list && `choices-${list}`,
    required: !optional,
    autocomplete: 'off',
    spellcheck: 'false',
    ...(type === 'number' && { min: 0, max: 999_999 }),
  });
  input.value = given[name] ?? value ?? '';
  return el('label', {}, label, input);
}

/** Lists of the names in the cluster, from which the fields suggest. */
async function choiceLists() {
  const choices = await ask('choices', {}).catch(() => undefined);
  if (choices === undefined) return [];
  return Object.entries({ ...choices }).map(([list, names]) =>
    el('datalist', { id: `choices-${list}` }, ...names.map((each) => el('option', { value: each }))),
  );
}

/** @param {WhatIfResponse} answer */
function answerContent(answer) {
  const { addedPods, removedPods, launches, existing, unschedulable, moreUnschedulable, notEvaluated, usdPerHour } =
    answer;
  const { effect } = answer;
  const nodes = launches.reduce((sum, launch) => sum + launch.nodes, 0);
  const placed = existing.reduce((sum, { pods }) => sum + pods, 0);
  const refused = unschedulable.length + moreUnschedulable;
  const sentences = [
    addedPods > 0 && `${counted(addedPods, 'pod')} would be added.`,
    removedPods > 0 && `${counted(removedPods, 'pod')} would be removed.`,
    nodes > 0
      ? `${counted(nodes, 'node')} would be launched for ${usdText(usdPerHour)} an hour.`
      : 'No node would be launched.',
    effect.before.newNodes > 0 && `${counted(effect.before.newNodes, 'node')} would be launched without the change.`,
    ...effectSentences(effect),
    placed > 0 && `${counted(placed, 'pod')} would find room on ${counted(existing.length, 'existing node')}.`,
    refused > 0 && `${counted(refused, 'pod')} would stay pending.`,
    notEvaluated > 0 &&
      `${counted(notEvaluated, 'pod')} could not be evaluated in time; karpenter simulate has no time limit.`,
  ];
  return [
    el('h3', {}, 'Effect'),
    el('p', {}, sentences.filter(Boolean).join(' ')),
    ...effectTables(effect),
    table(
      'New nodes',
      ['NodePool', 'Cheapest instance type', 'Nodes', 'Pods', 'USD/h'],
      launches.map((each) => [
        link('nodepool', each.nodePool),
        each.instanceType,
        String(each.nodes),
        String(each.pods),
        usdText(each.usdPerHour),
      ]),
      { cards: true },
    ),
    table(
      'Pods on existing nodes',
      ['Node', 'Pods'],
      existing.map(({ node, pods }) => [link('node', node), String(pods)]),
    ),
    table(
      'Pods that would stay pending',
      ['Pod', 'Reason'],
      unschedulable.map(({ pod, reason }) => [pod, reason]),
    ),
    moreUnschedulable > 0 ? el('p', { class: 'soft' }, `and ${counted(moreUnschedulable, 'pod')} more`) : undefined,
  ];
}

/** @param {ShownMove} move @param {ShownEffect['newNodes']} newNodes */
function placeOf({ node, newNode = -1, problem }, newNodes) {
  if (problem !== undefined) return problem;
  return node === undefined ? `new node ${newNode + 1}, ${newNodes[newNode]?.instanceType}` : link('node', node);
}

/** @param {ShownEffect} effect */
function effectTables({ before, after, drains, pods, morePods = 0, newNodes }) {
  return [
    table(
      'Cluster',
      ['State', 'Nodes', 'New nodes', 'USD/h', 'Pods that stay pending'],
      /** @type {const} */ ([
        ['Without the change', before],
        ['With the change', after],
      ]).map(([name, { nodes, newNodes: launched, usdPerHour, unschedulable: pending }]) => [
        name,
        String(nodes),
        String(launched),
        usdText(usdPerHour),
        String(pending),
      ]),
    ),
    table(
      'Obstacles to the drain',
      ['Code', 'Obstacle', 'Pods', 'Ends'],
      drains.flatMap(({ blockers }) =>
        blockers.map(({ code, text, pods: held = [], ends = '', until }) => [
          code,
          text,
          held.join(', '),
          until ?? ends,
        ]),
      ),
    ),
    table(
      'Pods with another place',
      ['Pod', 'Place'],
      pods.map((move) => [move.pod, placeOf(move, newNodes)]),
    ),
    morePods > 0 ? el('p', { class: 'soft' }, `and ${counted(morePods, 'pod')} more`) : undefined,
  ];
}

/** @param {ShownEffect} effect */
function effectSentences({ usdPerHourAdded: added = 0, drains }) {
  const cost = added === 0 ? [] : [`The change ${added < 0 ? 'saves' : 'adds'} ${usdText(Math.abs(added))} an hour.`];
  return [...cost, ...drains.map(drainSentence)];
}

/** @param {ShownDrain} drain */
function drainSentence({ node, canFinish, terminationGracePeriod, blockers }) {
  if (!canFinish) return `The drain of ${node} cannot finish without a change.`;
  const isHeld = terminationGracePeriod !== undefined && blockers.some(({ ends }) => ends === 'never');
  return isHeld
    ? `The drain of ${node} is blocked for at most ${terminationGracePeriod}.`
    : `The drain of ${node} can finish.`;
}
