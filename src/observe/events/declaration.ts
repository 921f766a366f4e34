/**
 * Declaration of an event: its reason and type, the kinds of its objects, its meaning, and the rule for dropping repetitions.
 * `eventOf` creates an event from a declaration. Constants are named after the reason.
 */

import type { KubeObject } from '#api/objects';
import { defined } from '#lib';

export interface EventNote {
  readonly object: KubeObject;
  readonly type: 'Normal' | 'Warning';
  readonly reason: string;
  readonly message: string;
  /** Together with the reason, the key for dropping repetitions. If absent, repetitions are never dropped. */
  readonly dedupe?: readonly string[];
  /** Period in which repetitions are dropped, in milliseconds. Default `EVENT_WINDOW_MS`. */
  readonly windowMs?: number;
  /** True if the event is published again and again while its cause lasts. Its repetitions become rarer. */
  readonly isLasting?: boolean;
  /** Shared token bucket, by name, taken after de-duplication. */
  readonly limit?: { readonly name: string; readonly qps: number; readonly burst: number };
}

export const MINUTE = 60_000;
/** Default period in which repetitions of an event are dropped, in milliseconds. */
export const EVENT_WINDOW_MS = 2 * MINUTE;

interface Fields {
  readonly reason: string;
  readonly type: EventNote['type'];
  /** Kinds of the objects that this event is published for. */
  readonly about: readonly string[];
  /** One sentence. */
  readonly meaning: string;
  /** Description of the key that makes two events equal, in addition to the reason. Without it, repetitions are never dropped. */
  readonly key?: string;
  readonly windowMs?: number;
  readonly isLasting?: true;
  readonly limit?: NonNullable<EventNote['limit']>;
  /** Creates the message, if it has only one form. */
  readonly message?: (...facts: never[]) => string;
}

/** Brand that only `event` can set, so that a literal at a call site cannot serve as a declaration. */
const DECLARED: unique symbol = Symbol('declared');

type Declared<T extends Fields> = T & { readonly [DECLARED]: true };
export type EventDeclaration = Declared<Fields>;
/** Event with deduplication. */
export type KeyedEvent = Declared<Fields & { readonly key: string }>;

export const event = <const T extends Fields>(fields: T): Declared<T> => ({ ...fields, [DECLARED]: true });

/** `dedupe` has the values that the declaration's `key` describes. It is absent if the declaration has no key. */
type Content<T extends Fields> = { readonly message: string } & (T extends { readonly key: string }
  ? { readonly dedupe: readonly string[] }
  : { readonly dedupe?: never });

/** Creates an event for an object from a declaration. */
export function eventOf<T extends Fields>(
  { reason, type, windowMs, isLasting, limit }: Declared<T>,
  object: KubeObject,
  { message, dedupe }: Content<T>,
): EventNote {
  return {
    object,
    type,
    reason,
    message,
    ...defined({ dedupe, windowMs, isLasting, limit }),
  };
}
