/** Details of the selected node or pod in `karpenter top`. */
import type { Verdict } from '#engine/disruption';
import { pendingGroups } from '#live/view';
import { verdictText } from '../render/verdicts.ts';
import { wrapped } from '../render/wrap.ts';
import type { ScreenChoices, TopNode, TopState } from './choices.ts';
import { ageText, bar, type StyledLine } from './spans.ts';

interface DetailsInput {
  readonly state: TopState;
  readonly choices: ScreenChoices;
  readonly columns: number;
  readonly verdictOf: (node: string) => Verdict | undefined;
}

const MOST_OTHERS = 20;

/** Explains the selected row. */
export function details({ state, choices, columns, verdictOf }: DetailsInput): readonly StyledLine[] {
  const { selected = '' } = choices;
  const node = state.nodes.find(({ name }) => name === selected);
  if (node !== undefined) return nodeDetails(node, state.summary.atMs, { columns, verdict: verdictOf(selected) });
  const pod = state.pending.find((each) => each.pod === selected);
  if (pod === undefined) return [[{ text: `${selected} is gone`, dim: true }]];
  const [namespace = '', name = ''] = selected.split('/');
  const others = pendingGroups(state.pending)
    .map(({ others: further, ...first }) => [first, ...further])
    .filter((group) => group.some((each) => each.pod === selected))
    .flatMap((group) => group.filter((each) => each.pod !== selected));
  const listed = others.slice(0, MOST_OTHERS).map(({ pod: other }) => other);
  const rest = others.length - listed.length;
  return plain(
    [
      `Pod ${selected}, pending for ${ageText(pod.sinceMs, state.summary.atMs)}`,
      '',
      pod.reason ?? 'The pod waits for kube-scheduler or for the first attempt of the operator.',
      '',
      ...(others.length === 0
        ? []
        : [`Other pods with this reason: ${listed.join(', ')}${rest > 0 ? ` and ${rest} more` : ''}`, '']),
      `kubectl describe pod -n ${namespace} ${name}`,
      `karpenter explain pod ${selected}`,
    ],
    columns,
  );
}

function nodeDetails(
  node: TopNode,
  nowMs: number,
  { columns, verdict }: { readonly columns: number; readonly verdict: Verdict | undefined },
): readonly StyledLine[] {
  const { name, nodeClaim, nodePool, instanceType, zone, capacityType, state, createdMs, usdPerHour, shares, used } =
    node;
  const price = usdPerHour === undefined ? 'unknown price' : `$${usdPerHour.toFixed(4)}/h`;
  const resources = Object.entries(shares).map(
    ([resource, [requested, allocatable]]): StyledLine => [
      { text: `  ${resource.padEnd(20)} ` },
      ...bar(allocatable > 0 ? requested / allocatable : 0, 20),
      { text: `  ${amount(resource, requested)} of ${amount(resource, allocatable)}`, dim: true },
      ...((resource === 'cpu' || resource === 'memory') && used
        ? [{ text: ` requested, ${Math.round(100 * used[resource])} % used`, dim: true }]
        : []),
    ],
  );
  return [
    [{ text: `Node ${name}`, bold: true }],
    ...plain(
      [
        `${instanceType}, ${capacityType}, ${zone}; ${price}; ${state}, created ${ageText(createdMs, nowMs)} ago`,
        `NodePool ${nodePool}${nodeClaim === undefined ? '' : `, NodeClaim ${nodeClaim}`}`,
        '',
      ],
      columns,
    ),
    ...resources,
    [],
    ...plain(
      verdict === undefined
        ? ['The operator has not published a verdict about the disruption of the node yet.']
        : // the heading has the name
          verdictText(verdict, nowMs, columns).trimEnd().split('\n').slice(1),
      columns,
    ),
    [],
    [{ text: `karpenter explain node ${name}`, dim: true }],
  ];
}

const GIB = 2 ** 30;

/** Formats an amount: cores, GiB, or a plain number. */
const amount = (resource: string, value: number): string =>
  resource === 'cpu'
    ? `${(value / 1000).toFixed(1)} cores`
    : resource === 'memory'
      ? `${(value / GIB).toFixed(1)} GiB`
      : String(value);

const plain = (lines: readonly string[], columns: number): readonly StyledLine[] =>
  lines.flatMap((line) => wrapped(line, columns).map((part): StyledLine => [{ text: part }]));
