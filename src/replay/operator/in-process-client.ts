/** Client and informers of the operator for an API server in the same process. */
import { apiVersionOf, type Kind, type KubeList, type KubeObject, POD, type Pod, type PodSpec } from '#api/objects';
import {
  ApiError,
  type Indexes,
  type Informers,
  type KubeClient,
  ObjectStore,
  type Ref,
  type Store,
  trimmedObject,
  trimmedPodWith,
} from '#kube/client';
import { labelSelector } from '#local/api-conventions';
import { type Api, connectInProcess, nameOf, objectRefOf, runInTurn } from '#local/api-server';
import type { Logger } from '#observe/logger';

/** Returns a client that receives each response in the next microtask. */
export function inProcessClient({ objects, core }: Api): KubeClient {
  const { find, create, patch } = connectInProcess({ objects });
  const list = <T extends KubeObject>(kind: Kind<T>, namespace?: string): readonly T[] =>
    objects.list(nameOf(kind), namespace) as unknown as readonly T[];
  return {
    get: <T extends KubeObject>(kind: Kind<T>, ref: Ref) =>
      runInTurn(() => objects.get(objectRefOf(kind, ref)) as unknown as T),
    find,
    list: <T extends KubeObject>(kind: Kind<T>, { namespace, ...rest }: { namespace?: string } = {}) =>
      runInTurn((): KubeList<T> => {
        const items = selected(kind, list(kind, namespace), rest);
        const metadata = { resourceVersion: String(core.store.revision) };
        return { apiVersion: 'v1', kind: 'List', metadata, items };
      }),
    listAll: <T extends KubeObject>(kind: Kind<T>, { namespace, ...rest }: { namespace?: string } = {}) =>
      runInTurn(() => {
        return selected(kind, list(kind, namespace), rest);
      }),
    create,
    update: <T extends KubeObject>(kind: Kind<T>, object: T, options: { subresource?: 'status' } = {}) =>
      runInTurn(() => objects.update({ ...object, ...nameOf(kind) }, options) as unknown as T),
    patch,
    delete: async (kind, ref, options = {}) => {
      await runInTurn(() => objects.delete(objectRefOf(kind, ref), options));
    },
    evict: async ({ metadata: { name, namespace = 'default', uid } }: Pod, options = {}) => {
      await runInTurn(() => objects.evict({ name, namespace }, { uid, ...options }));
    },
    watch: () => {
      throw new Error('watch is not supported, because informers receive changes directly');
    },
  };
}

const ON_NODE = /^spec\.nodeName=(?<node>.+)$/;

/** Selects objects by labels, and pods by their node. @throws ApiError for any other field selector */
function selected<T extends KubeObject>(
  kind: Kind<T>,
  objects: readonly T[],
  { labelSelector: labels, fieldSelector }: Selectors,
): readonly T[] {
  const node = kind.plural === POD.plural ? ON_NODE.exec(fieldSelector ?? '')?.groups?.node : undefined;
  // an error is better than a list with too many objects
  if (fieldSelector !== undefined && node === undefined)
    throw new ApiError(400, 'BadRequest', `selector ${fieldSelector} of ${kind.plural} is not supported in a replay`);
  const matches = labelSelector(labels);
  const labelled = matches === undefined ? objects : objects.filter(({ metadata }) => matches(metadata.labels ?? {}));
  return node === undefined ? labelled : labelled.filter((object) => (object as unknown as Pod).spec.nodeName === node);
}

interface Selectors {
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
}

/** Trimmed specs of pods by the specs of the API server. An update of the status keeps the spec object. */
const trimmedSpecs = new WeakMap<PodSpec, PodSpec>();

function trimObject(kind: Kind, object: KubeObject): KubeObject {
  if (kind.plural !== POD.plural) return trimmedObject(kind, object);
  const pod = object as Pod;
  const known = trimmedSpecs.get(pod.spec);
  const light = trimmedPodWith(pod, known);
  if (known === undefined) trimmedSpecs.set(pod.spec, light.spec);
  return light;
}

/**
 * Creates informers that show each write before its request returns. Like the operator's informers, they store trimmed
 * objects.
 */
export function inProcessInformers({ objects, core }: Api, log: Logger, signal: AbortSignal): Informers {
  const stores = new Map<string, ObjectStore<KubeObject>>();
  const open = (kind: Kind): ObjectStore<KubeObject> => {
    const store = new ObjectStore<KubeObject>(kind, log);
    const isServed = core.registry.byKind(apiVersionOf(kind), kind.kind) !== undefined;
    store.replace(isServed ? objects.list(nameOf(kind)).map((object) => trimObject(kind, object as never)) : []);
    if (!isServed) return store;
    const stop = objects.subscribe(nameOf(kind), (type, object) => {
      if (type === 'DELETED') store.remove(object as never);
      else store.put(trimObject(kind, object as never));
    });
    signal.addEventListener('abort', stop, { once: true });
    return store;
  };
  return {
    store: <T extends KubeObject>(kind: Kind<T>, indexes: Indexes<T> = {}): Store<T> => {
      const key = `${apiVersionOf(kind)}/${kind.plural}`;
      const store = stores.get(key) ?? open(kind as unknown as Kind);
      stores.set(key, store);
      // the entry was created for this kind, so its objects have this type
      const typed = store as unknown as ObjectStore<T>;
      typed.addIndexes(indexes);
      return typed;
    },
    synced: async () => undefined,
    watches: () => [],
    distrust: () => undefined,
  };
}
