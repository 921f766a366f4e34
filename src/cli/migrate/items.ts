/** Items of `migrate status`. */
import type { Finding } from '../../aws/doctor/doctor.ts';
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

type Said = readonly [subject: string, message: string];

export const ok = (area: Area, ...[subject, message]: Said): Item => ({ area, state: 'ok', subject, message });
export const todo = (area: Area, ...[subject, message, next]: readonly [...Said, next: string]): Item => ({
  area,
  state: 'todo',
  subject,
  message,
  next,
});
export const blockedItem = (area: Area, ...[subject, message, next]: readonly [...Said, next: string]): Item => ({
  area,
  state: 'blocked',
  subject,
  message,
  next,
});
export const unknown = (area: Area, ...[subject, message, next]: readonly [...Said, next: string]): Item => ({
  area,
  state: 'unknown',
  subject,
  message,
  next,
});

interface Question {
  readonly area: Area;
  readonly subject: string;
  /** Kinds that this check requires. */
  readonly kinds: readonly string[];
}

/**
 * Returns the items of a check, and an unknown item for each kind that could not be read. An incomplete list can show
 * problems, but it cannot prove that everything is correct.
 */
export function itemsOf(facts: Facts, question: Question, check: () => readonly Item[]): readonly Item[] {
  const { area, subject, kinds } = question;
  const missing = kinds.flatMap((kind) => {
    const why = facts.notAsked(kind);
    return why === undefined ? [] : [`${pluralOf(kind)}: ${why}`];
  });
  const next =
    facts.source === 'file'
      ? 'karpenter migrate status without -f'
      : 'use a kubeconfig with the permissions listed by karpenter snapshot --help';
  if (missing.length === 0) return check();
  return [...check().filter(({ state }) => state !== 'ok'), unknown(area, subject, missing.join('; '), next)];
}

/**
 * Converts a finding of `karpenter doctor`. A check that could not run becomes unknown, and a warning becomes a task.
 */
export const itemOf = (area: Area, { level, subject, message, fix = 'see the message', unasked }: Finding): Item =>
  level === 'ok' ? ok(area, subject, message) : (unasked === true ? unknown : todo)(area, subject, message, fix);
