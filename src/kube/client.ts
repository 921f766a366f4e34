/** What the operator asks of the Kubernetes API. The HTTP implementation is `connect` in http.ts. */
import type { Kind } from '../api/kinds.ts';
import type { KubeList, KubeObject, Pod } from '../api/kubernetes.ts';

/** An answer of the API server that is not a success, with its Status. */
export class ApiError extends Error {
  readonly status: number;
  /** Machine-readable reason of the Status: NotFound, Conflict, AlreadyExists, Expired … */
  readonly reason: string;
  readonly retryAfterMs: number | undefined;
  /** Method and path, where an answer belongs to one. */
  request?: string;

  constructor(status: number, reason: string, message: string, retryAfterMs?: number) {
    super(message);
    this.name = 'ApiError';
    this.status = status;
    this.reason = reason;
    this.retryAfterMs = retryAfterMs;
  }
}

/** Whether the API server says so itself: a proxy's 404 says nothing about what exists. */
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

/** The reading half of a client. */
export interface KubeReader {
  /** @throws ApiError with status 404 when it does not exist */
  get<T extends KubeObject>(kind: Kind<T>, ref: Ref): Promise<T>;
  /** Answers undefined when it does not exist. */
  find<T extends KubeObject>(kind: Kind<T>, ref: Ref): Promise<T | undefined>;
  /** One page. */
  list<T extends KubeObject>(kind: Kind<T>, options?: ListOptions): Promise<KubeList<T>>;
  /** Every page. */
  listAll<T extends KubeObject>(kind: Kind<T>, options?: ListOptions): Promise<readonly T[]>;
  /** Opens one watch; yields events until the server ends it. @throws ApiError 410 when `resourceVersion` is too old */
  watch<T extends KubeObject>(kind: Kind<T>, options: WatchOptions): AsyncIterable<WatchEvent<T>>;
}

/** A client that can write. Each write is sent only while the client's fence is open. @throws NotPermitted otherwise */
export interface KubeClient extends KubeReader {
  /** `metadata.name` may be empty when `generateName` is set. */
  create<T extends KubeObject>(kind: Kind<T>, object: T): Promise<T>;
  update<T extends KubeObject>(kind: Kind<T>, object: T, options?: { subresource?: 'status' }): Promise<T>;
  /** An optimistic lock is `metadata.resourceVersion` inside a merge patch. */
  patch<T extends KubeObject>(kind: Kind<T>, ref: Ref, patch: unknown, options?: PatchOptions): Promise<T>;
  /** @throws ApiError with status 404 when it is gone already */
  delete<T extends KubeObject>(kind: Kind<T>, ref: Ref, options?: DeleteOptions): Promise<void>;
  /** Posts to the pod's eviction subresource. @throws ApiError 429 when a PodDisruptionBudget forbids it */
  evict(pod: Pod, options?: DeleteOptions): Promise<void>;
}

export interface WatchOptions {
  readonly resourceVersion: string;
  readonly signal: AbortSignal;
  readonly timeoutSeconds?: number;
}

export type WatchEvent<T extends KubeObject> =
  | { readonly type: 'ADDED' | 'MODIFIED' | 'DELETED'; readonly object: T }
  | { readonly type: 'BOOKMARK'; readonly resourceVersion: string };

/** A kind's objects as the informers last saw them. Read-only and synchronous; objects must not be changed. */
export interface Store<T extends KubeObject> {
  readonly kind: Kind<T>;
  get(ref: Ref): T | undefined;
  list(): readonly T[];
  /** Objects that the named index files under `value`. */
  byIndex(index: string, value: string): readonly T[];
  /** True after the first complete list. */
  readonly synced: boolean;
  /** Called for every change, in order, after the store holds it; answers a function that stops it. */
  subscribe(listener: StoreListener<T>): () => void;
}

export type StoreListener<T extends KubeObject> = (
  event: 'added' | 'updated' | 'deleted',
  object: T,
  before?: T,
) => void;

export type Indexes<T extends KubeObject> = Readonly<Record<string, (object: T) => readonly string[]>>;

export interface StoreOptions {
  /** The operator works without this kind: its absence, or a missing permission, holds nothing up. */
  readonly optional?: boolean;
}

/** The informers of a process, started on first use of a kind. */
export interface Informers {
  /**
   * `indexes` name a function from an object to the values it is filed under. An index that another caller added
   * under the same name is kept, so a name must mean the same everywhere.
   */
  store<T extends KubeObject>(kind: Kind<T>, indexes?: Indexes<T>, options?: StoreOptions): Store<T>;
  /**
   * Resolves when every store in use has its first complete list. Optional kinds that are not served or not permitted
   * are not waited for. @throws the signal's reason when it aborts
   */
  synced(signal?: AbortSignal): Promise<void>;
}
