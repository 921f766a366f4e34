/**
 * The contract of a controller. A reconciler gets a key's present object, acts on the difference to what should be,
 * and answers one of three ways: settled, again after some time, or it throws (retried with back-off).
 */
import type { Kind } from '../api/kinds.ts';
import type { KubeObject } from '../api/kubernetes.ts';

export type Outcome = { readonly kind: 'settled' } | { readonly kind: 'after'; readonly waitMs: number };
export const settled: Outcome = { kind: 'settled' };
export const after = (waitMs: number): Outcome => ({ kind: 'after', waitMs });

/** Answers the earliest of several outcomes. */
export function soonest(outcomes: readonly Outcome[]): Outcome {
  const waits = outcomes.flatMap((outcome) => (outcome.kind === 'after' ? [outcome.waitMs] : []));
  return waits.length === 0 ? settled : after(Math.min(...waits));
}

/** Thrown to be tried again at the next back-off step without an error in the log: a write conflict, say. */
export class Requeue extends Error {
  constructor(why: string, options?: ErrorOptions) {
    super(why, options);
    this.name = 'Requeue';
  }
}

export interface Key {
  readonly name: string;
  readonly namespace?: string;
}

export interface BackOff {
  readonly baseMs: number;
  readonly maxMs: number;
}

export interface RateLimit {
  readonly qps: number;
  readonly burst: number;
}

/** A watch on another kind that wakes keys of the reconciler's own kind. */
export interface Trigger<S extends KubeObject = KubeObject> {
  readonly kind: Kind<S>;
  /** Whether the reconciler does without the kind where it is not served or not permitted. */
  readonly optional?: boolean;
  readonly keysFor: (object: S, event: 'added' | 'updated' | 'deleted', before?: S) => readonly Key[];
}

interface Common {
  /** Public: log field `controller`, metric label. Names as Karpenter logs them. */
  readonly name: string;
  readonly concurrency?: number;
  /** Per key. Default 5 ms doubling to 1000 s. */
  readonly backOff?: BackOff;
  /** Over all keys. Default 10 qps, burst 100. */
  readonly rateLimit?: RateLimit;
}

/** Works on objects of one kind. The runtime fetches the object from the cache and skips keys that are gone. */
export interface Reconciler<T extends KubeObject> extends Common {
  readonly watches: Kind<T>;
  readonly filter?: (object: T, event: 'added' | 'updated' | 'deleted', before?: T) => boolean;
  readonly triggers?: readonly Trigger[];
  readonly reconcile: (object: T, context: ReconcileContext) => Promise<Outcome>;
  /** Called once when the object is gone from the cache. */
  readonly removed?: (key: Key) => void;
}

/** Runs alone in a loop. `settled` means run again at once. */
export interface Singleton extends Common {
  readonly singleton: true;
  readonly reconcile: (context: ReconcileContext) => Promise<Outcome>;
}

/** Works on keys that something in this process adds, such as pods to evict. */
export interface KeyedWorker extends Common {
  readonly keyed: true;
  /** Handed the function that adds a key, before the first reconcile. */
  readonly bind: (add: (key: string) => void) => void;
  /** Log fields that say what a key stands for. */
  readonly describe?: (key: string) => import('../observe/logger.ts').LogFields;
  readonly reconcile: (key: string, context: ReconcileContext) => Promise<Outcome>;
}

// biome-ignore lint/suspicious/noExplicitAny: reconcilers of different kinds share one list
export type Controller = Reconciler<any> | Singleton | KeyedWorker;

export interface ReconcileContext {
  /** Aborted when the process stops; a step in hand is finished, a wait is cut short. */
  readonly signal: AbortSignal;
  /** Carries controller, object and reconcileID. */
  readonly log: import('../observe/logger.ts').Logger;
}
