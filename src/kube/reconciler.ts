/**
 * Contract of a controller. A reconciler receives the current object of a key and acts on the difference to the desired state. It
 * returns `settled`, or a time to run again, or it throws an error, which is retried with back-off.
 */
import type { Kind, KubeObject } from '#api/objects';

export type Outcome = { readonly kind: 'settled' } | { readonly kind: 'after'; readonly waitMs: number };
export const settled: Outcome = { kind: 'settled' };
export const after = (waitMs: number): Outcome => ({ kind: 'after', waitMs });

/** Returns the earliest of several outcomes. */
export function soonest(outcomes: readonly Outcome[]): Outcome {
  const waits = outcomes.flatMap((outcome) => (outcome.kind === 'after' ? [outcome.waitMs] : []));
  return waits.length === 0 ? settled : after(Math.min(...waits));
}

/** Thrown to retry at the next back-off step without an error in the log, for example after a write conflict. */
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

/** A watch on another kind that adds keys of the reconciler's own kind to its queue. */
export interface Trigger<S extends KubeObject = KubeObject> {
  readonly kind: Kind<S>;
  /** True if the reconciler works without the kind when it is not served or not permitted. */
  readonly optional?: boolean;
  /** True if the kind is read only after the first object of the reconciler's own kind exists. */
  readonly deferred?: boolean;
  readonly keysFor: (object: S, event: 'added' | 'updated' | 'deleted', before?: S) => readonly Key[];
}

interface Common {
  /** Public name: log field `controller` and metric label. The names are the same as in Karpenter's logs. */
  readonly name: string;
  readonly concurrency?: number;
  /** Back-off of each key. Default: 5 ms, doubling up to 1000 s. */
  readonly backOff?: BackOff;
  /** Rate limit over all keys. Default: 10 per second with a burst of 100. */
  readonly rateLimit?: RateLimit;
  /** Last writes of an orderly stop. Called after all work has stopped, while the lease is still held. */
  readonly leaving?: () => Promise<void>;
}

/** Works on objects of one kind. The runtime fetches the object from the cache and skips keys without an object. */
export interface Reconciler<T extends KubeObject> extends Common {
  readonly watches: Kind<T>;
  /** True if the operator works without the kind when it is not served or not permitted. */
  readonly optional?: boolean;
  readonly filter?: (object: T, event: 'added' | 'updated' | 'deleted', before?: T) => boolean;
  readonly triggers?: readonly Trigger[];
  readonly reconcile: (object: T, context: ReconcileContext) => Promise<Outcome>;
  /** Called once after this object was removed from the cache. */
  readonly removed?: (key: Key) => void;
}

/** Runs in a loop of its own. If it returns `settled`, it runs again immediately. */
export interface Singleton extends Common {
  readonly singleton: true;
  readonly reconcile: (context: ReconcileContext) => Promise<Outcome>;
}

/** Works on keys that other parts of this process add, such as pods to evict. */
export interface KeyedWorker extends Common {
  readonly keyed: true;
  /** Receives the function that adds a key, before the first reconcile. */
  readonly bind: (add: (key: string) => void) => void;
  /** Returns log fields that describe a key. */
  readonly describe?: (key: string) => import('#observe/logger').LogFields;
  readonly reconcile: (key: string, context: ReconcileContext) => Promise<Outcome>;
}

// biome-ignore lint/suspicious/noExplicitAny: reconcilers of different kinds share one list
export type Controller = Reconciler<any> | Singleton | KeyedWorker;

export interface ReconcileContext {
  /** Aborts when the process stops. A step in progress continues to its end, and waits end early. */
  readonly signal: AbortSignal;
  /** Logger with the fields controller, object and reconcileID. */
  readonly log: import('#observe/logger').Logger;
}
