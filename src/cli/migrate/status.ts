/** Reports the progress of a cluster's migration to Karpenter v1 and this operator. */
import { messageOf } from '#lib';
import { commandOrText } from '../render/shell.ts';
import { counted } from '../render/table.ts';
import { indented, terminalWidth } from '../render/wrap.ts';
import { installationItems, stageIn } from './checks/installation.ts';
import { kindItems } from './checks/kinds.ts';
import { nodeItems } from './checks/nodes.ts';
import { objectItems } from './checks/objects.ts';
import { workloadItems } from './checks/workloads.ts';
import type { Facts } from './facts.ts';
import { AREAS, type Area, type Item, itemsIn, type State } from './items.ts';
import type { ApiStage } from './versions.ts';

/** Status in a public format. */
export interface Status {
  /** API stage of the running version. Null if no controller runs or its version is unknown. */
  readonly stage: ApiStage | null;
  /** `namespace/name` and version of each controller. */
  readonly controllers: readonly { readonly name: string; readonly version: string; readonly isKarpenter: boolean }[];
  readonly items: readonly Item[];
  readonly counts: Readonly<Record<State, number>>;
  /** First action to take, or null if nothing is left to do. */
  readonly next: string | null;
}

const STATES: readonly State[] = ['ok', 'todo', 'blocked', 'unknown'];

const CHECKS: Readonly<Record<Exclude<Area, 'account'>, (facts: Facts) => readonly Item[]>> = {
  installation: installationItems,
  kinds: kindItems,
  objects: objectItems,
  nodes: nodeItems,
  workloads: workloadItems,
};

/**
 * Runs a check. A file may contain objects that an API server would reject, so an error becomes an unknown item and
 * the remaining areas are still checked.
 */
function runCheck(area: Area, check: () => readonly Item[]): readonly Item[] {
  try {
    return check();
  } catch (error) {
    const next = 'create a new file with karpenter snapshot, or remove the object';
    return [
      itemsIn(area).unknown(
        HEADINGS[area].toLowerCase(),
        `an object does not match the schema of its kind: ${messageOf(error)}`,
        next,
      ),
    ];
  }
}

export function statusOf(facts: Facts, account: readonly Item[]): Status {
  const items = [
    ...Object.entries(CHECKS).flatMap(([area, check]) => runCheck(area as Area, () => check(facts))),
    ...account,
  ];
  const count = (state: State): number => items.filter((item) => item.state === state).length;
  const first = items.find(({ state }) => state === 'todo') ?? items.find(({ state }) => state !== 'ok');
  return {
    stage: stageIn(facts) ?? null,
    controllers: facts.controllers.map(({ deployment: { metadata }, version, isKarpenter }) => ({
      name: `${metadata.namespace ?? 'default'}/${metadata.name}`,
      version,
      isKarpenter,
    })),
    items,
    counts: Object.fromEntries(STATES.map((state) => [state, count(state)])) as Record<State, number>,
    next: first?.next ?? null,
  };
}

export const isDone = ({ counts }: Status): boolean => counts.todo + counts.blocked + counts.unknown === 0;

const MARKS: Readonly<Record<State, string>> = {
  ok: 'ok       ',
  todo: 'TO DO    ',
  blocked: 'blocked  ',
  unknown: 'unknown  ',
};
const INDENT = ' '.repeat(11);

const HEADINGS: Readonly<Record<Area, string>> = {
  installation: 'INSTALLATION',
  kinds: 'KINDS AND WEBHOOKS',
  objects: 'CUSTOM RESOURCES',
  nodes: 'NODES',
  workloads: 'WORKLOADS',
  account: 'AWS ACCOUNT',
};

const STAGES: Readonly<Record<ApiStage, string>> = {
  alpha: 'Karpenter with alpha APIs: Provisioners, AWSNodeTemplates, Machines',
  both: 'Karpenter 0.32: alpha and beta APIs side by side',
  beta: 'Karpenter with beta APIs',
  conversion: 'Karpenter 1.0: v1 is stored, v1beta1 is converted',
  v1: 'only v1 APIs',
};

function itemLines({ state, subject, message, next }: Item, width: number): readonly string[] {
  const line = indented(`${MARKS[state]}  ${subject}: ${message}`, INDENT, width);
  return next === undefined ? [line] : [line, `${INDENT}${commandOrText(next, INDENT, width - INDENT.length)}`];
}

/** Renders the status as text. In each area, open items come first. */
export function statusText(status: Status, width: number = terminalWidth()): string {
  const order = (item: Item): number => ['todo', 'blocked', 'unknown', 'ok'].indexOf(item.state);
  const parts = AREAS.flatMap((area) => {
    const items = status.items.filter((item) => item.area === area).sort((a, b) => order(a) - order(b));
    return items.length === 0 ? [] : [[HEADINGS[area], ...items.flatMap((item) => itemLines(item, width))].join('\n')];
  });
  const { todo, blocked, unknown, ok } = status.counts;
  const totals = `${todo} to do, ${blocked} blocked by others, ${unknown} unknown, ${ok} ok`;
  const stage = status.stage === null ? 'no Karpenter of a known version is running' : STAGES[status.stage];
  const where = `${stage}; ${counted(status.controllers.length, 'controller')}`;
  const next =
    status.next === null ? 'The migration is complete.' : `next: ${commandOrText(status.next, '      ', width)}`;
  return `${[where, ...parts, `${totals}\n${next}`].join('\n\n')}\n`;
}
