/** Renders the effect of a change, and the prediction of a drain. */
import type { Blocker } from '#engine/drain';
import type { ChangeEffect, DrainPlan, NewNode, NodeDrain } from '#engine/what-if';
import { counted, inShort, table, usdPerHour } from './table.ts';
import { indented, terminalWidth } from './wrap.ts';

/** Renders the difference to the cluster without the change. */
export const effectSummary = (effect: ChangeEffect): string => toWidth(`With the change: ${totalsText(effect)}`);

/** Renders the drains of a change and the places of pods. */
export const effectText = (effect: ChangeEffect): string =>
  sections([
    ...effect.drains.flatMap((drain) => [
      toWidth(`The drain of ${nodeText(drain)} ${endText(drain)}`),
      waitText(drain),
      blockersText(drain.blockers),
    ]),
    placesText(effect),
  ]);

/** Renders the prediction of one drain. */
export function drainText(plan: DrainPlan): string {
  const heading = toWidth(`The drain of ${nodeText(plan)} ${endText(plan)}: ${totalsText(plan)}`);
  const places = plan.pods.length === 0 ? 'no pod needs another node' : placesText(plan);
  return `${sections([heading, waitText(plan), blockersText(plan.blockers), places])}\n`;
}

const toWidth = (text: string): string => indented(text, '  ', terminalWidth());
const sections = (texts: readonly string[]): string => texts.filter((text) => text !== '').join('\n\n');

function nodeText({ node, nodePool, usdPerHour: usd }: NodeDrain): string {
  const pool = nodePool === undefined ? '' : ` of NodePool ${nodePool}`;
  return `Node ${node}${pool}${usd === undefined ? '' : ` (${usdPerHour(usd)})`}`;
}

function endText({ canFinish, terminationGracePeriod: grace, blockers }: NodeDrain): string {
  if (!canFinish) return 'cannot finish without a change';
  return grace !== undefined && blockers.some(({ ends }) => ends === 'never')
    ? `is blocked for at most ${grace}, the terminationGracePeriod, which then deletes the pods`
    : 'can finish';
}

function waitText({ canFinish, earliestEnd, podTerminationSeconds: seconds, blockers }: NodeDrain): string {
  if (!canFinish) return '';
  const isUntil = (end: Blocker['ends']): boolean => blockers.some(({ ends }) => ends === end);
  const waits = [
    ...(earliestEnd === undefined ? [] : [`not before ${earliestEnd}`]),
    ...(isUntil('pods-ready') ? ['once more pods are ready'] : []),
    ...(isUntil('detached') ? ['once all volumes are detached'] : []),
    ...(seconds === undefined ? [] : [`pods have up to ${seconds} s to end`]),
  ];
  return waits.length === 0 ? '' : toWidth(`Time: ${waits.join(', ')}`);
}

const blockersText = (blockers: readonly Blocker[]): string =>
  blockers.length === 0
    ? ''
    : table(
        ['CODE', 'IN THE WAY', 'PODS', 'ENDS'],
        blockers.map(({ code, text, pods = [], until, ends }) => [
          code,
          text,
          inShort(pods),
          until ?? ENDS[ends ?? 'never'],
        ]),
      );

const ENDS: Readonly<Record<NonNullable<Blocker['ends']>, string>> = {
  never: 'never',
  'pods-ready': 'when pods are ready',
  time: '',
  detached: 'when it is detached',
  'does-not-block': 'does not block',
};

function placesText({ pods, morePods = 0, newNodes }: Pick<ChangeEffect, 'pods' | 'morePods' | 'newNodes'>): string {
  if (pods.length === 0) return '';
  const rows = pods.map(({ pod, node, newNode, problem }) => [pod, problem ?? node ?? newNodeText(newNodes, newNode)]);
  const more = morePods === 0 ? '' : `\nand ${counted(morePods, 'pod')} more`;
  return `${table(['POD', 'GOES TO'], rows)}${more}`;
}

const newNodeText = (newNodes: readonly NewNode[], at = 0): string => {
  const found = newNodes[at];
  return `new node ${at + 1}${found === undefined ? '' : ` (${found.instanceType})`}`;
};

function totalsText({
  before,
  after,
  usdPerHourAdded: added,
}: Pick<ChangeEffect, 'before' | 'after' | 'usdPerHourAdded'>): string {
  const more = after.newNodes - before.newNodes;
  const launched =
    more === 0 ? 'no new node' : more > 0 ? counted(more, 'new node') : `${counted(-more, 'new node')} less`;
  const waiting = before.newNodes === 0 ? '' : `; ${counted(before.newNodes, 'node')} for pods that wait already`;
  const isEqual = added === undefined || added === 0;
  const cost = isEqual ? '' : `, ${added < 0 ? `saves ${usdPerHour(-added)}` : `adds ${usdPerHour(added)}`}`;
  const prices = `${counted(before.nodes, 'node')} for ${usdPerHour(before.usdPerHour)} before, ${after.nodes} for ${usdPerHour(after.usdPerHour)} after`;
  const pending = after.unschedulable - before.unschedulable;
  const refused =
    pending === 0 ? '' : `; ${counted(Math.abs(pending), 'pod')} ${pending > 0 ? 'more' : 'fewer'} unschedulable`;
  return `${launched}${cost}${waiting}${refused} (${prices})`;
}
