/**
 * How an event is declared: its reason and type, the kinds of objects it is about, what it means, and when a repetition is
 * dropped. `eventOf` makes an event of it. Constants are called as the reason.
 */

import type { KubeObject } from '../../api/kubernetes.ts';
import { defined } from '../../lib/defined.ts';

export interface EventNote {
  readonly object: KubeObject;
  readonly type: 'Normal' | 'Warning';
  readonly reason: string;
  readonly message: string;
  /** With the reason, the key under which repetitions are dropped; never de-duplicated when absent. */
  readonly dedupe?: readonly string[];
  /** How long a repetition is dropped. Default `EVENT_WINDOW_MS`. */
  readonly windowMs?: number;
  /** Shared token bucket, by name, taken after de-duplication. */
  readonly limit?: { readonly name: string; readonly qps: number; readonly burst: number };
}

export const MINUTE = 60_000;
/** How long repetitions are dropped of events that declare no other time. */
export const EVENT_WINDOW_MS = 2 * MINUTE;

interface Fields {
  readonly reason: string;
  readonly type: EventNote['type'];
  /** Kinds of the objects that it is published on. */
  readonly about: readonly string[];
  /** One sentence. */
  readonly meaning: string;
  /** In words, what besides the reason makes two events the same; without it, none is ever dropped. */
  readonly key?: string;
  readonly windowMs?: number;
  readonly limit?: NonNullable<EventNote['limit']>;
  /** Makes the text where it has one form. */
  readonly message?: (...facts: never[]) => string;
}

/** What only `event` can give, so that a literal at a call site is no declaration. */
const DECLARED: unique symbol = Symbol('declared');

type Declared<T extends Fields> = T & { readonly [DECLARED]: true };
export type EventDeclaration = Declared<Fields>;
/** One whose repetitions are dropped. */
export type KeyedEvent = Declared<Fields & { readonly key: string }>;

export const event = <const T extends Fields>(fields: T): Declared<T> => ({ ...fields, [DECLARED]: true });

/** `dedupe` holds what the declaration's `key` names, and is left out where it names nothing. */
type Content<T extends Fields> = { readonly message: string } & (T extends { readonly key: string }
  ? { readonly dedupe: readonly string[] }
  : { readonly dedupe?: never });

/** The event that a declaration makes of an object. */
export function eventOf<T extends Fields>(
  { reason, type, windowMs, limit }: Declared<T>,
  object: KubeObject,
  { message, dedupe }: Content<T>,
): EventNote {
  return {
    object,
    type,
    reason,
    message,
    ...defined({ dedupe, windowMs, limit }),
  };
}
