/** What `migrate status` finds, one thing after the other. */
import type { Finding } from '../../aws/doctor/doctor.ts';
import { pluralOf } from '../render/table.ts';
import type { Facts } from './facts.ts';

/** In the order in which they are shown. */
export const AREAS = ['installation', 'kinds', 'objects', 'nodes', 'workloads', 'account'] as const;
export type Area = (typeof AREAS)[number];

/** `blocked`: something else is to be done first. `unknown`: it could not be asked, and is no better than to do. */
export type State = 'ok' | 'todo' | 'blocked' | 'unknown';

/** Of public form. */
export interface Item {
  readonly area: Area;
  readonly state: State;
  readonly subject: string;
  readonly message: string;
  /** The command to type, or what to do; absent when all is well. */
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
export const blocked = (area: Area, ...[subject, message, next]: readonly [...Said, next: string]): Item => ({
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
  /** Kinds without which there is no answer. */
  readonly kinds: readonly string[];
}

/** What a check finds, and what it cannot know. A part of the objects shows what is wrong with it, and not that all is well. */
export function asked(facts: Facts, question: Question, check: () => readonly Item[]): readonly Item[] {
  const { area, subject, kinds } = question;
  const missing = kinds.flatMap((kind) => {
    const why = facts.notAsked(kind);
    return why === undefined ? [] : [`${pluralOf(kind)}: ${why}`];
  });
  const next =
    facts.source === 'file'
      ? 'karpenter migrate status, on the cluster itself'
      : 'use a kubeconfig with the rights that karpenter snapshot --help names';
  if (missing.length === 0) return check();
  return [...check().filter(({ state }) => state !== 'ok'), unknown(area, subject, missing.join('; '), next)];
}

/** The doctor's findings: what it could not try is not known, and what it warns of is to do. */
export const itemOf = (area: Area, { level, subject, message, fix = 'see the message', unasked }: Finding): Item =>
  level === 'ok' ? ok(area, subject, message) : (unasked === true ? unknown : todo)(area, subject, message, fix);
