/** View with the requests of pods beside their use, by workload, namespace or label. */
import { el } from './dom.js';
import { amountText, counted } from './format.js';
import { wholeUsd } from './panels.js';
import { ask, cut, table } from './parts.js';

const CHOICES = ['workload', 'namespace'];
const RESOURCES = /** @type {const} */ (['cpu', 'memory']);
const LABEL = 'label:';
const HEADINGS = [
  'Pods',
  'CPU requested',
  'CPU used',
  'CPU that fits',
  'Memory requested',
  'Memory used',
  'Memory that fits',
  'USD per month',
  'Idle per month',
];

/** @param {string} given dimension, or `label:` with a key */
export async function efficiencyView(given) {
  const label = given.startsWith(LABEL) ? given.slice(LABEL.length) : '';
  const by = label === '' ? (CHOICES.find((each) => each === given) ?? 'workload') : 'label';
  const found = await ask('efficiency', { by, label });
  const intro = [choices(by), labelForm(label)];
  if (found.problem !== undefined) return [...intro, el('p', { class: 'problem' }, found.problem)];
  const { groups, more, idleUsdPerMonth, measured, pods, source = '' } = found;
  const rows = groups.map((group) => [
    cut(group.name, group.name === '__none__' ? 'without the label' : group.name),
    group.measured === group.pods ? String(group.pods) : `${group.pods} (${group.measured} measured)`,
    ...RESOURCES.flatMap((resource) => [
      amountText(resource, group.requested[resource]),
      group.measured === 0 ? '' : amountText(resource, group.usedP95[resource]),
      amountText(resource, group.right[resource]),
    ]),
    wholeUsd(group.usdPerMonth),
    wholeUsd(group.idleUsdPerMonth),
  ]);
  return [
    ...intro,
    el(
      'p',
      {},
      `Pods request ${wholeUsd(idleUsdPerMonth)} a month that they do not use. `,
      el('span', { class: 'soft' }, `${counted(measured, 'pod')} of ${pods.toLocaleString('en')} measured; ${source}.`),
    ),
    table('Requests and use', [headingOf(by, label), ...HEADINGS], rows, { cards: true, name: 'efficiency' }) ??
      el('p', { class: 'empty' }, 'No pods run on the nodes.'),
    more > 0 ? el('p', { class: 'soft' }, `and ${counted(more, 'group')} with less idle cost`) : undefined,
    el(
      'p',
      { class: 'soft' },
      'Run karpenter efficiency for the cost with requests that fit, and with --prometheus before you reduce requests.',
    ),
  ];
}

/** @param {string} by @param {string} label */
const headingOf = (by, label) => (by === 'label' ? label : by === 'namespace' ? 'Namespace' : 'Workload');

/** @param {string} by */
const choices = (by) =>
  el(
    'p',
    { class: 'choices' },
    'By ',
    ...CHOICES.flatMap((each) => [
      el('a', { href: `#/efficiency/${each}`, 'aria-current': each === by ? 'true' : false }, each),
      ' ',
    ]),
  );

/** @param {string} label */
function labelForm(label) {
  const input = el('input', { name: 'label', placeholder: 'team', autocomplete: 'off', spellcheck: 'false' });
  input.value = label;
  const form = el(
    'form',
    { class: 'fields' },
    el('label', {}, 'Label', input),
    el('button', { type: 'submit' }, 'Group'),
  );
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    const key = input.value.trim();
    location.hash = `#/efficiency/${key === '' ? 'workload' : encodeURIComponent(`${LABEL}${key}`)}`;
  });
  return form;
}
