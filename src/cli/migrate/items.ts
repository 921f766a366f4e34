/** Items of `migrate status`. */
import type { Finding } from '#cloud';
import { pluralOf } from '../render/table.ts';
import type { Facts } from './facts.ts';

/** Areas in display order. */
export const AREAS = ['installation', 'kinds', 'objects', 'nodes', 'workloads', 'account'] as const;
export type Area = (typeof AREAS)[number];

/**
 * State of an item. `blocked`: another step must be done first. `unknown`: the check could not run; the item is
 * treated as not done.
 */
export type State = 'ok' | 'todo' | 'blocked' | 'unknown';

/** Item in a public format. */
export interface Item {
  readonly area: Area;
  readonly state: State;
  readonly subject: string;
  readonly message: string;
  /** Command or instruction. Undefined if nothing is left to do. */
  readonly next?: string;
}

interface Question {
  readonly subject: string;
  /** Kinds that this check requires. */
  readonly kinds: readonly string[];
}

/** Functions that create the items of one area. */
interface ItemsOfArea {
  ok(subject: string, message: string): Item;
  todo(subject: string, message: string, next: string): Item;
  blocked(subject: string, message: string, next: string): Item;
  unknown(subject: string, message: string, next: string): Item;
  /**
   * Converts a finding of `karpenter doctor`. A check that could not run becomes unknown, and a warning becomes a task.
   */
  itemOf(finding: Finding): Item;
  /**
   * Returns the items of a check, and an unknown item for each kind that could not be read. An incomplete list can show
   * problems, but it cannot prove that everything is correct.
   */
  itemsOf(facts: Facts, question: Question, check: () => readonly Item[]): readonly Item[];
}

export function itemsIn(area: Area): ItemsOfArea {
  const itemIn =
    (state: State) =>
    (subject: string, message: string, next: string): Item => ({ area, state, subject, message, next });
  const ok = (subject: string, message: string): Item => ({ area, state: 'ok', subject, message });
  const [todo, blocked, unknown] = [itemIn('todo'), itemIn('blocked'), itemIn('unknown')];
  return {
    ok,
    todo,
    blocked,
    unknown,
    itemOf: ({ level, subject, message, fix = 'see the message', unasked }) =>
      level === 'ok' ? ok(subject, message) : (unasked === true ? unknown : todo)(subject, message, fix),
    itemsOf(facts, { subject, kinds }, check) {
      const missing = kinds.flatMap((kind) => {
        const why = facts.notAsked(kind);
        return why === undefined ? [] : [`${pluralOf(kind)}: ${why}`];
      });
      const next =
        facts.source === 'file'
          ? 'karpenter migrate status without -f'
          : 'use a kubeconfig with the permissions listed by karpenter snapshot --help';
      if (missing.length === 0) return check();
      return [...check().filter(({ state }) => state !== 'ok'), unknown(subject, missing.join('; '), next)];
    },
  };
}
