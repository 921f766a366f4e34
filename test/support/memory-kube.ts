/** In-memory API server with versions, conflicts, generations and finalizers. Watches lag behind writes. */
import {
  apiVersionOf,
  CAPACITY_BUFFER,
  CONFIG_MAP,
  type Condition,
  type Kind,
  type KubeObject,
  NODE,
  NODE_CLAIM,
  NODE_OVERLAY,
  NODE_POOL,
  type Node,
  POD,
  type Pod,
} from '#api/objects';
import {
  ApiError,
  type Informers,
  type KubeClient,
  keyOf,
  type ListOptions,
  ObjectStore,
  type Ref,
  type Store,
} from '#kube/client';
import type { PatchOptions, WatchAge } from '#kube/testing';
import type { Clock } from '#lib/clock';
import { applyMergePatch } from '#local/api-conventions';
import { silent } from '#observe/logger';

type Change = 'put' | 'remove';

/** Adds the present conditions of other types to a strategic merge patch of conditions. */
function withOtherConditions(before: KubeObject, patch: unknown): unknown {
  const { status } = patch as { readonly status: { readonly conditions: readonly Condition[] } };
  const present = (before as Node).status?.conditions ?? [];
  const kept = present.filter(({ type }) => status.conditions.every((condition) => condition.type !== type));
  return { status: { conditions: [...kept, ...status.conditions] } };
}

const WITH_STATUS = new Set([
  NODE_CLAIM.plural,
  NODE_POOL.plural,
  NODE_OVERLAY.plural,
  CAPACITY_BUFFER.plural,
  NODE.plural,
  POD.plural,
  'ec2nodeclasses',
]);

export class MemoryKube {
  readonly #clock: Clock;
  readonly #lagMs: number;
  readonly #objects = new Map<string, Map<string, KubeObject>>();
  readonly #feeds = new Map<string, Set<(change: Change, object: KubeObject) => void>>();
  #version = 100;
  /** Names of write operations in order, such as `create nodeclaims`. */
  readonly writes: string[] = [];
  /** Plurals of the kinds with silent watches. */
  readonly silent = new Set<string>();
  /** Names of objects whose changes informers do not receive, because their watch is delayed. */
  readonly unseen = new Set<string>();
  /** Ages of the watches that the informers report. */
  watches: readonly WatchAge[] = [];
  /** Names of lists in order, such as `list pods`. */
  readonly reads: string[] = [];
  /** Runs before a list or before the operator reads an object. A throw makes it fail. */
  beforeRead: (operation: string, options: ListOptions) => void = () => undefined;
  /** Runs before a write. A throw makes the write fail. */
  beforeWrite: (operation: string, name: string) => void = () => undefined;

  constructor(clock: Clock, lagMs = 5) {
    this.#clock = clock;
    this.#lagMs = lagMs;
  }

  #kind(kind: Kind): Map<string, KubeObject> {
    const found = this.#objects.get(kind.plural) ?? new Map<string, KubeObject>();
    this.#objects.set(kind.plural, found);
    return found;
  }

  all<T extends KubeObject>(kind: Kind<T>): readonly T[] {
    return [...this.#kind(kind).values()] as unknown as readonly T[];
  }

  /** Returns the objects that the options select. Selectors of labels are equalities. */
  select<T extends KubeObject>(kind: Kind<T>, options: ListOptions = {}): readonly T[] {
    const { namespace, fieldSelector, labelSelector } = options;
    this.reads.push(`list ${kind.plural}`);
    this.beforeRead(`list ${kind.plural}`, options);
    const [, nodeName] = /^spec\.nodeName=(.*)$/.exec(fieldSelector ?? '') ?? [];
    const [, label = '', value] = /^(.*?)=(.*)$/.exec(labelSelector ?? '') ?? [];
    return this.all(kind).filter(
      ({ metadata, ...object }) =>
        (namespace === undefined || metadata.namespace === namespace) &&
        (labelSelector === undefined || metadata.labels?.[label] === value) &&
        (fieldSelector === undefined || (object as unknown as Pod).spec.nodeName === nodeName),
    );
  }

  find<T extends KubeObject>(kind: Kind<T>, ref: Ref): T | undefined {
    return this.#kind(kind).get(keyOf(ref)) as T | undefined;
  }

  get<T extends KubeObject>(kind: Kind<T>, ref: Ref): T {
    const found = this.find(kind, ref);
    if (found === undefined) throw new ApiError(404, 'NotFound', `${kind.plural} "${ref.name}" not found`);
    return found;
  }

  create<T extends KubeObject>(kind: Kind<T>, object: T): T {
    const { generateName, ...metadata } = object.metadata;
    this.#version += 1;
    const name = metadata.name || `${generateName}${this.#version}`;
    this.#begin('create', kind, name);
    const nowText = new Date(this.#clock.now()).toISOString().replace(/\.\d+Z$/, 'Z');
    return this.#store(kind, {
      ...object,
      apiVersion: apiVersionOf(kind),
      kind: kind.kind,
      metadata: {
        uid: `uid-${name}-${this.#version}`,
        creationTimestamp: nowText,
        generation: 1,
        ...metadata,
        name,
        ...(generateName === undefined ? {} : { generateName }),
      },
    });
  }

  /** Stores a whole object, whether or not it exists. Not a write of the operator. */
  put<T extends KubeObject>(kind: Kind<T>, object: T): T {
    const creationTimestamp = new Date(this.#clock.now()).toISOString();
    const metadata = { uid: `uid-${object.metadata.name}`, creationTimestamp, generation: 1, ...object.metadata };
    return this.#store(kind, { ...object, metadata });
  }

  /** Removes an object despite its finalizers, if it exists. Not a write of the operator. */
  remove<T extends KubeObject>(kind: Kind<T>, ref: Ref): void {
    const found = this.find(kind, ref);
    if (found !== undefined) this.#remove(kind, found);
  }

  patch<T extends KubeObject>(
    kind: Kind<T>,
    ref: Ref,
    patch: unknown,
    subresource?: PatchOptions['subresource'],
    type?: PatchOptions['type'],
  ): T {
    this.#begin(subresource ? 'patch-status' : 'patch', kind, ref.name);
    const before = this.get(kind, ref);
    const body = JSON.parse(JSON.stringify(patch)) as { metadata?: { resourceVersion?: string }; spec?: unknown };
    const locked = body.metadata?.resourceVersion;
    if (locked !== undefined && locked !== before.metadata.resourceVersion) {
      throw new ApiError(409, 'Conflict', `${kind.plural} "${ref.name}": the object has been modified`);
    }
    const whole = applyMergePatch(
      before,
      type === 'strategic' ? withOtherConditions(before, body) : body,
    ) as unknown as T & { status?: unknown; spec?: unknown };
    const old = before as T & { status?: unknown };
    const split = WITH_STATUS.has(kind.plural);
    const after = !split ? whole : subresource ? { ...before, status: whole.status } : { ...whole, status: old.status };
    const generation = (before.metadata.generation ?? 1) + (body.spec !== undefined && !subresource ? 1 : 0);
    const stored = { ...after, metadata: { ...after.metadata, generation } };
    if (JSON.stringify({ ...stored }) === JSON.stringify({ ...before })) return before;
    const isDone = stored.metadata.deletionTimestamp !== undefined && (stored.metadata.finalizers ?? []).length === 0;
    return isDone ? this.#remove(kind, stored) : this.#store(kind, stored);
  }

  /** Only for ConfigMaps, because controllers patch objects that other clients write too. */
  update<T extends KubeObject>(kind: Kind<T>, object: T): T {
    if (kind.plural !== CONFIG_MAP.plural) throw new Error('controllers patch, they never update');
    this.#begin('update', kind, object.metadata.name);
    const before = this.get(kind, object.metadata);
    if (object.metadata.resourceVersion !== before.metadata.resourceVersion)
      throw new ApiError(409, 'Conflict', `${kind.plural} "${object.metadata.name}": the object has been modified`);
    return this.#store(kind, object);
  }

  delete<T extends KubeObject>(kind: Kind<T>, ref: Ref, uid?: string): void {
    this.#begin('delete', kind, ref.name);
    const object = this.get(kind, ref);
    if (uid !== undefined && uid !== object.metadata.uid) {
      throw new ApiError(409, 'Conflict', `${kind.plural} "${ref.name}": the UID in the precondition differs`);
    }
    if ((object.metadata.finalizers ?? []).length === 0) {
      this.#remove(kind, object);
    } else if (object.metadata.deletionTimestamp === undefined) {
      const deletionTimestamp = new Date(this.#clock.now()).toISOString();
      const generation = (object.metadata.generation ?? 1) + 1;
      this.#store(kind, { ...object, metadata: { ...object.metadata, deletionTimestamp, generation } });
    }
  }

  #begin(verb: string, kind: Kind, name: string): void {
    this.beforeWrite(`${verb} ${kind.plural}`, name);
    this.writes.push(`${verb} ${kind.plural}`);
  }

  #store<T extends KubeObject>(kind: Kind<T>, object: T): T {
    this.#version += 1;
    const stored = { ...object, metadata: { ...object.metadata, resourceVersion: String(this.#version) } };
    this.#kind(kind).set(keyOf(stored.metadata), stored);
    this.#tell(kind, 'put', stored);
    return stored;
  }

  #remove<T extends KubeObject>(kind: Kind<T>, object: T): T {
    this.#kind(kind).delete(keyOf(object.metadata));
    this.#tell(kind, 'remove', object);
    return object;
  }

  #tell(kind: Kind, change: Change, object: KubeObject): void {
    for (const feed of this.#feeds.get(kind.plural) ?? []) {
      if (this.#lagMs === 0) feed(change, object);
      else this.#clock.after(this.#lagMs, () => feed(change, object));
    }
  }

  /** Client of a process that can be killed, after which no request or watch event passes. */
  client(signal = new AbortController().signal): KubeClient {
    const alive = async <T>(work: () => T): Promise<T> => {
      if (signal.aborted) throw new Error('the process is dead');
      return work();
    };
    return {
      get: (kind, ref) =>
        alive(() => {
          this.beforeRead(`get ${kind.plural}`, {});
          return this.get(kind, ref);
        }),
      find: (kind, ref) =>
        alive(() => {
          this.beforeRead(`find ${kind.plural}`, {});
          return this.find(kind, ref);
        }),
      list: (kind, options) =>
        alive(() => ({ apiVersion: 'v1', kind: 'List', metadata: {}, items: this.select(kind, options) })),
      listAll: (kind, options) => alive(() => this.select(kind, options)),
      create: (kind, object) => alive(() => this.create(kind, object)),
      update: (kind, object) => alive(() => this.update(kind, object)),
      patch: (kind, ref, patch, options) =>
        alive(() => this.patch(kind, ref, patch, options?.subresource, options?.type)),
      delete: (kind, ref, options) => alive(() => this.delete(kind, ref, options?.uid)),
      evict: (pod: Pod) => alive(() => this.delete(POD, pod.metadata, pod.metadata.uid)),
      watch: () => {
        throw new Error('watches are fed directly');
      },
    };
  }

  /** Synced informers of one process, which receive changes after the lag. */
  informers(signal = new AbortController().signal): Informers {
    const stores = new Map<string, ObjectStore<KubeObject>>();
    const open = (kind: Kind): ObjectStore<KubeObject> => {
      const found = stores.get(kind.plural);
      if (found) return found;
      const store = new ObjectStore<KubeObject>(kind, silent);
      stores.set(kind.plural, store);
      store.replace(this.all(kind));
      const feeds = this.#feeds.get(kind.plural) ?? new Set();
      this.#feeds.set(kind.plural, feeds);
      feeds.add((change, object) => {
        if (signal.aborted || this.silent.has(kind.plural) || this.unseen.has(object.metadata.name)) return;
        if (change === 'put') store.put(object);
        else store.remove(object);
      });
      return store;
    };
    return {
      store: (kind, indexes = {}) => {
        const store = open(kind as unknown as Kind);
        store.addIndexes(indexes as never);
        return store as unknown as Store<never>;
      },
      synced: async () => undefined,
      watches: () => this.watches,
      distrust: () => undefined,
    };
  }
}
