/** Client interface of the operator for the Kubernetes API. The HTTP implementation is `connect` in http.ts. */
import type { Kind, KubeList, KubeObject, Pod } from '#api/objects';

/** Response of the API server that is not a success, with its Status. */
export class ApiError extends Error {
  readonly status: number;
  /** Machine-readable reason of the Status: NotFound, Conflict, AlreadyExists, Expired … */
  readonly reason: string;
  readonly retryAfterMs: number | undefined;
  /** Method and path, if the response belongs to one request. */
  request?: string;

  constructor(status: number, reason: string, message: string, retryAfterMs?: number) {
    super(message);
    this.name = 'ApiError';
    this.status = status;
    this.reason = reason;
    this.retryAfterMs = retryAfterMs;
  }
}

/** Returns true if the API server itself reports a missing object. A proxy's 404 does not show which objects exist. */
export const isNotFound = (error: unknown): boolean =>
  error instanceof ApiError && error.status === 404 && error.reason === 'NotFound';
export const isConflict = (error: unknown): boolean =>
  error instanceof ApiError && error.status === 409 && error.reason === 'Conflict';

export interface Ref {
  readonly name: string;
  readonly namespace?: string | undefined;
}

export interface ListOptions {
  readonly namespace?: string;
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
  readonly limit?: number;
  readonly continue?: string;
  readonly resourceVersion?: string;
  /** Time for the complete response, with all retries, in milliseconds of real time. Default: unlimited. */
  readonly withinMs?: number;
  /** Maximum size of the response in bytes. A longer response rejects with a ConnectionError whose `isTooLong` is set. */
  readonly longestBytes?: number;
}

export interface PatchOptions {
  readonly type?: 'merge' | 'json' | 'strategic';
  readonly subresource?: 'status';
  readonly signal?: AbortSignal;
}

export interface DeleteOptions {
  /** Precondition: the object must still have this UID. */
  readonly uid?: string | undefined;
  readonly resourceVersion?: string;
  readonly gracePeriodSeconds?: number;
  readonly propagationPolicy?: 'Foreground' | 'Background' | 'Orphan';
}

/** Client for read requests. */
export interface KubeReader {
  /** @throws ApiError with status 404 if the object does not exist */
  get<T extends KubeObject>(kind: Kind<T>, ref: Ref): Promise<T>;
  /** Returns undefined if the object does not exist. */
  find<T extends KubeObject>(kind: Kind<T>, ref: Ref): Promise<T | undefined>;
  /** Returns one page. */
  list<T extends KubeObject>(kind: Kind<T>, options?: ListOptions): Promise<KubeList<T>>;
  /** Returns the items of all pages. */
  listAll<T extends KubeObject>(kind: Kind<T>, options?: ListOptions): Promise<readonly T[]>;
  /** Opens one watch and yields events until the server ends it. @throws ApiError 410 if `resourceVersion` is too old */
  watch<T extends KubeObject>(kind: Kind<T>, options: WatchOptions): AsyncIterable<WatchEvent<T>>;
}

/** Client that can write. It sends each write only while its fence is open. @throws NotPermitted if the fence is closed */
export interface KubeClient extends KubeReader {
  /** `metadata.name` may be empty if `generateName` is set. */
  create<T extends KubeObject>(kind: Kind<T>, object: T): Promise<T>;
  update<T extends KubeObject>(kind: Kind<T>, object: T, options?: { subresource?: 'status' }): Promise<T>;
  /** Patches an object. For an optimistic lock, set `metadata.resourceVersion` in a merge patch. */
  patch<T extends KubeObject>(kind: Kind<T>, ref: Ref, patch: unknown, options?: PatchOptions): Promise<T>;
  /** @throws ApiError with status 404 if the object does not exist */
  delete<T extends KubeObject>(kind: Kind<T>, ref: Ref, options?: DeleteOptions): Promise<void>;
  /** Posts to the pod's eviction subresource. @throws ApiError 429 if a PodDisruptionBudget forbids the eviction */
  evict(pod: Pod, options?: DeleteOptions): Promise<void>;
}

export interface WatchOptions {
  readonly resourceVersion: string;
  readonly signal: AbortSignal;
  readonly timeoutSeconds?: number;
  /** Called when the server accepts the watch. Rate limits, retries and refusals may take seconds. */
  readonly onOpen?: () => void;
}

export type WatchEvent<T extends KubeObject> =
  | { readonly type: 'ADDED' | 'MODIFIED' | 'DELETED'; readonly object: T }
  | { readonly type: 'BOOKMARK'; readonly resourceVersion: string };

/** Objects of a kind in the informer cache. Access is read-only and synchronous. Callers must not change the objects. */
export interface Store<T extends KubeObject> {
  readonly kind: Kind<T>;
  get(ref: Ref): T | undefined;
  list(): readonly T[];
  /** Returns the objects that the named index files under `value`. */
  byIndex(index: string, value: string): readonly T[];
  /** True after the first complete list. */
  readonly synced: boolean;
  /**
   * Calls the listener for every change, in order, after this store holds the change. Returns a function to
   * unsubscribe.
   */
  subscribe(listener: StoreListener<T>): () => void;
}

export type StoreListener<T extends KubeObject> = (
  event: 'added' | 'updated' | 'deleted',
  object: T,
  before?: T,
) => void;

export type Indexes<T extends KubeObject> = Readonly<Record<string, (object: T) => readonly string[]>>;

export interface StoreOptions {
  /** The operator works without this kind, so a missing kind or permission does not block the start. */
  readonly optional?: boolean;
  /**
   * The absence of the kind is not a problem, and is not logged. Implies `optional`, unless it is false: then only a missing
   * permission blocks the start.
   */
  readonly isAddOn?: boolean;
}

/** Watch of one kind. */
export interface WatchAge {
  /** Resource, such as `nodepools.karpenter.sh`. */
  readonly resource: string;
  /** Time since the watch last delivered an event, a bookmark or its end, in milliseconds. */
  readonly ageMs: number;
  /** True if the store may be outdated, because the watch has been silent for a minute. */
  readonly isStale: boolean;
}

/** The informers of a process, started on first use of a kind. */
export interface Informers {
  /**
   * Returns the store of a kind and starts its informer on first use. `indexes` name functions that return the index values of an
   * object. If another caller has already added an index with the same name, that index is kept. A name must therefore have the
   * same meaning everywhere.
   */
  store<T extends KubeObject>(kind: Kind<T>, indexes?: Indexes<T>, options?: StoreOptions): Store<T>;
  /**
   * Resolves when every store in use has its first complete list. Does not wait for optional kinds that are not served or not
   * permitted. @throws the signal's reason if the signal aborts
   */
  synced(signal?: AbortSignal): Promise<void>;
  /** Returns the watches of the stores that have been listed. Optional kinds that are not served or not permitted have none. */
  watches(): readonly WatchAge[];
  /** Lists the objects of a kind again, because a request has shown that its store is outdated. */
  distrust(kind: Kind): void;
}
