/** Applies the events of a trace to a cluster through any client of its API server. */
import { apiVersionOf, type Kind, type KubeObject, type Pod, type PodSpec } from '#api/objects';
import { isAnyConflict, isGone, type ObjectClient } from '#local/api-server';
import { TRACE_KINDS } from './trace/kinds.ts';
import type { Apply, Delete, ObjectRef, Scale, TraceEvent } from './trace/trace.ts';

/** Error for an event that the cluster rejects. The rest of the trace is still played. */
export class RefusedRequest extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'Refused';
  }
}

/** @throws Refused with the object and the reason */
export async function play(client: ObjectClient, event: TraceEvent): Promise<void> {
  const about = 'apply' in event ? event.apply : 'scale' in event ? event.scale : event.delete;
  try {
    if ('apply' in event) await apply(client, event);
    else if ('scale' in event) await scale(client, event);
    else await remove(client, event);
  } catch (error) {
    const name = 'metadata' in about ? about.metadata.name : about.name;
    throw new RefusedRequest(`${about.kind} ${name}: ${error instanceof Error ? error.message : String(error)}`, {
      cause: error,
    });
  }
}

function kindOf(object: { readonly apiVersion: string; readonly kind: string }): Kind {
  const kind = playableKind(object);
  if (kind === undefined)
    throw new RangeError(
      `objects of ${object.apiVersion} ${object.kind} are not supported; remove them from the trace`,
    );
  return kind;
}

async function apply(client: ObjectClient, { apply: object, runsFor, count }: Apply): Promise<void> {
  const kind = kindOf(object);
  const running = runsFor === undefined && !mayEnd(object) ? object : ending(object, runsFor ?? FOR_EVER_SECONDS);
  if (count === undefined) return put(client, kind, running);
  const { name, ...metadata } = running.metadata;
  for (let index = 0; index < count; index += 1)
    await put(client, kind, { ...running, metadata: { ...metadata, name: `${name}-${index}` } });
}

async function put(client: ObjectClient, kind: Kind, object: KubeObject): Promise<void> {
  const { status: _status, ...wanted } = object as KubeObject & { readonly status?: unknown };
  const { namespace, name, labels, annotations } = object.metadata;
  const placed = kind.namespaced
    ? { ...wanted, metadata: { ...wanted.metadata, namespace: namespace ?? 'default' } }
    : wanted;
  try {
    if (kind.namespaced && namespace !== undefined && namespace !== 'default') await ensureNamespace(client, namespace);
    await client.create(kind, placed);
  } catch (error) {
    if (!isAnyConflict(error)) throw error;
    const { apiVersion: _apiVersion, kind: _kind, metadata: _metadata, ...fields } = wanted;
    const patch = { metadata: { labels, annotations }, ...fields };
    await client.patch(kind, { name, namespace: placed.metadata.namespace }, patch);
  }
}

const NAMESPACE = { group: '', version: 'v1', kind: 'Namespace', plural: 'namespaces', namespaced: false };

/** Creates the namespace of an object if it is missing, because a trace may omit Namespaces. */
async function ensureNamespace(client: ObjectClient, name: string): Promise<void> {
  if ((await client.find(NAMESPACE, { name })) !== undefined) return;
  try {
    await client.create(NAMESPACE, { apiVersion: 'v1', kind: 'Namespace', metadata: { name } });
  } catch (error) {
    if (!isAnyConflict(error)) throw error;
  }
}

/** Duration that is longer than any trace. */
const FOR_EVER_SECONDS = 100 * 365 * 86_400;

const podSpecOf = (object: KubeObject): PodSpec | undefined =>
  object.kind === 'Pod'
    ? (object as Pod).spec
    : (object as KubeObject & { readonly spec?: { readonly template?: { readonly spec?: PodSpec } } }).spec?.template
        ?.spec;

/**
 * Returns true if the pods of an object may end. If the trace has no duration for them, they run until they are
 * deleted.
 */
const mayEnd = (object: KubeObject): boolean => {
  const policy = podSpecOf(object)?.restartPolicy;
  return policy === 'Never' || policy === 'OnFailure';
};

/**
 * Returns the workload or pod with containers that run `sleep`. The local kubelets end such containers after this time.
 */
function ending(object: KubeObject, seconds: number): KubeObject {
  const pod = object as Pod;
  if (object.kind === 'Pod') return { ...pod, spec: endingSpec(pod.spec, seconds) } as KubeObject;
  const workload = object as KubeObject & { readonly spec: { readonly template: { readonly spec: PodSpec } } };
  const template = { ...workload.spec.template, spec: endingSpec(workload.spec.template.spec, seconds) };
  return { ...workload, spec: { ...workload.spec, template } } as KubeObject;
}

function endingSpec(spec: PodSpec, seconds: number): PodSpec {
  const containers = spec.containers.map((container) => ({
    ...container,
    command: ['sleep', String(Math.max(1, Math.round(seconds)))],
    args: [],
  }));
  return { ...spec, restartPolicy: 'Never', containers };
}

const refOf = (kind: Kind, { namespace, name }: ObjectRef) => ({
  name,
  namespace: kind.namespaced ? (namespace ?? 'default') : undefined,
});

async function scale(client: ObjectClient, { scale: ref, replicas }: Scale): Promise<void> {
  const kind = kindOf(ref);
  await client.patch(kind, refOf(kind, ref), { spec: { replicas } });
}

async function remove(client: ObjectClient, { delete: ref }: Delete): Promise<void> {
  const kind = kindOf(ref);
  try {
    await client.delete(kind, refOf(kind, ref));
  } catch (error) {
    if (!isGone(error)) throw error;
  }
}

/** Kinds that a trace may create: they affect where pods may run, and no controller derives them from other objects. */
const KINDS_BY_NAME = new Map(TRACE_KINDS.map((each) => [`${apiVersionOf(each)} ${each.kind}`, each]));

const playableKind = ({
  apiVersion,
  kind: name,
}: {
  readonly apiVersion: string;
  readonly kind: string;
}): Kind | undefined => KINDS_BY_NAME.get(`${apiVersion} ${name}`);
