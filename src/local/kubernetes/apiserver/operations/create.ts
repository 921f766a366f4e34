/** Creation of objects. */

import { timestamp } from '#lib';
import { admitPriority, admitStorageClass, topologyLabels } from '../admission/pods.ts';
import { checkPolicies } from '../admission/policies.ts';
import { assignClusterIp } from '../admission/services.ts';
import { protect } from '../admission/volumes.ts';
import { selectOwnPods } from '../admission/workload-defaults.ts';
import type { Core, WriteOptions } from '../core.ts';
import { type ApiObject, at, record, records, text } from '../json.ts';
import { blank } from '../patch/shapes.ts';
import { establish } from '../resources/crds.ts';
import type { Resource } from '../resources/registry.ts';
import { alreadyExists, badRequest, forbidden, notFound, StatusError } from '../status.ts';
import { StoredEntry } from '../storage/entry.ts';
import { type ObjectStore, storageKey } from '../storage/store.ts';
import { readObject, toStored, validate, withDefaults } from './incoming.ts';
import { noteManager, stampPhase } from './update.ts';

/** Excludes vowels and ambiguous characters, as Kubernetes' own generator does. */
const ALPHABET = 'bcdfghjklmnpqrstvwxz2456789';

/** Returns the name of the object. Generates it from generateName if it is missing. */
function nameOf({ random }: Core, { metadata }: ApiObject): string {
  if (metadata.name) return metadata.name;
  if (!metadata.generateName) return '';
  const suffix = Array.from({ length: 5 }, () => ALPHABET[random.below(ALPHABET.length)]).join('');
  return `${metadata.generateName.slice(0, 58)}${suffix}`;
}

/**
 * Creates an object.
 *
 * @param namespace namespace of the request's path; undefined for cluster-scoped resources
 * @throws StatusError 400, 403, 404 (namespace), 409 or 422
 */
export function create(
  core: Core,
  resource: Resource,
  namespace: string | undefined,
  body: unknown,
  options: WriteOptions = {},
): StoredEntry {
  const sent = readObject(resource, body, options);
  const name = nameOf(core, sent);
  checkNamespace(core, resource, namespace, sent, name);
  const existing = core.store.get(resource.storage, namespace, name);
  if (existing) throw alreadyExists(resource, name);

  const object = withDefaults(resource, fresh(core, resource, namespace, sent, name));
  // Fields that admission adds have no manager.
  noteManager(core, resource, object, blank(resource), options);
  admit(core, resource, object);
  validate(resource, object);
  // the storage checks this, but a dry run does not reach the storage
  if (sent.metadata.resourceVersion && !options.dryRun) {
    throw new StatusError(500, '', 'resourceVersion should not be set on objects to be created');
  }
  checkPolicies(core, { ...options, resource, operation: 'CREATE', object });
  const stored = toStored(resource, object);
  return options.dryRun
    ? new StoredEntry(storageKey(namespace, name), stored, 0)
    : core.store.put(resource.storage, stored);
}

/** Returns the object with metadata that the server sets instead of the client's values. */
function fresh(
  core: Core,
  resource: Resource,
  namespace: string | undefined,
  sent: ApiObject,
  name: string,
): ApiObject {
  const { labels, annotations, finalizers, ownerReferences, generateName, managedFields } = sent.metadata;
  const object: ApiObject = {
    ...sent,
    metadata: {
      name,
      ...(generateName && { generateName }),
      ...(namespace !== undefined && { namespace }),
      uid: core.random.uuid(),
      ...(resource.generation && { generation: 1 }),
      creationTimestamp: timestamp(core.clock.now()),
      ...(labels && { labels }),
      ...(annotations && { annotations }),
      ...(finalizers && finalizers.length > 0 && { finalizers }),
      ...(ownerReferences && ownerReferences.length > 0 && { ownerReferences }),
      ...(managedFields && managedFields.length > 0 && { managedFields }),
    },
  };
  if (resource.status && !resource.keepsStatus) delete object.status;
  return object;
}

function admitPod(pod: ApiObject, store: ObjectStore): void {
  admitPriority(pod, store);
  const labels = topologyLabels(pod, text(at(pod, 'spec', 'nodeName')), store);
  if (labels) pod.metadata.labels = labels;
}

function admit(core: Core, resource: Resource, object: ApiObject): void {
  if (resource.storage === 'pods') admitPod(object, core.store);
  if (resource.storage === 'nodes') admitNode(object);
  if (resource.storage === 'persistentvolumeclaims') admitStorageClass(object, core.store);
  if (resource.storage === 'jobs.batch') selectOwnPods(object);
  protect(resource.storage, object);
  if (resource.storage === 'persistentvolumes') stampPhase(object, undefined, core.clock.now());
  if (resource.storage === 'services') assignClusterIp(object, core.store);
  establish(resource, object, core.clock.now());
}

function checkNamespace(
  core: Core,
  resource: Resource,
  namespace: string | undefined,
  { metadata }: ApiObject,
  name: string,
): void {
  if (metadata.namespace && metadata.namespace !== namespace) {
    throw badRequest('the namespace of the provided object does not match the namespace sent on the request');
  }
  if (!resource.namespaced) return;
  if (namespace === undefined) throw badRequest(`an empty namespace may not be set during creation`);
  const entry = core.store.get('namespaces', undefined, namespace);
  if (!entry) throw notFound({ group: '', plural: 'namespaces', kind: 'Namespace' }, namespace);
  if (entry.object.metadata.deletionTimestamp === undefined) return;
  const why = `unable to create new content in namespace ${namespace} because it is being terminated`;
  const cause = {
    reason: 'NamespaceTerminating',
    field: 'metadata.namespace',
    message: `namespace ${namespace} is being terminated`,
  };
  throw forbidden(resource, name, why, [cause]);
}

const NOT_READY = 'node.kubernetes.io/not-ready';

/** Taints a new node, so that no pod is scheduled before the node controller has observed it as Ready. */
function admitNode(node: ApiObject): void {
  const spec = record(node.spec);
  const taints = records(spec.taints);
  if (taints.some(({ key, effect }) => key === NOT_READY && effect === 'NoSchedule')) return;
  node.spec = { ...spec, taints: [...taints, { key: NOT_READY, effect: 'NoSchedule' }] };
}
