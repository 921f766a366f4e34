/**
 * Checks an object of a trace as far as it can be told without a cluster, and leaves out what only a cluster gives it:
 * status, uid, version. What else is wrong with a spec is said by the replay's API server.
 */

import { JOB, type Kind, POD } from '../../api/kinds.ts';
import type { KubeObject } from '../../api/kubernetes.ts';
import { labelValueErrors, qualifiedNameErrors, subdomainErrors } from '../../api/names.ts';
import { parseQuantity } from '../../api/quantity.ts';
import { messageOf } from '../../lib/error-message.ts';
import { quoted } from '../../lib/quoted.ts';
import { type Fields, fieldOf, isFields, record, text, whole } from './fields.ts';
import { TEMPLATE_KINDS, traceKind } from './kinds.ts';
import type { ObjectRef } from './trace.ts';
import { FieldFault } from './trace-error.ts';

/** More than any cluster has of one workload. */
export const MOST_REPLICAS = 100_000;

/** Namespace of objects that do not name one. */
const DEFAULT_NAMESPACE = 'default';

/** @throws FieldFault */
export function readObject(value: unknown, field: string): KubeObject {
  const object = record(value, field);
  const kind = kindAt(object, field);
  const metadata = readMetadata(record(fieldOf(object, 'metadata'), `${field}.metadata`), kind, `${field}.metadata`);
  checkSpec(object, kind, field);
  const { status: _, ...rest } = object;
  return { ...rest, apiVersion: String(object.apiVersion), kind: kind.kind, metadata };
}

/** @throws FieldFault */
export function readRef(value: unknown, field: string): ObjectRef {
  const ref = record(value, field);
  const kind = kindAt(ref, field);
  const name = nameAt(ref, field);
  const apiVersion = String(ref.apiVersion);
  const namespace = namespaceAt(ref, kind, field);
  return namespace === undefined
    ? { apiVersion, kind: kind.kind, name }
    : { apiVersion, kind: kind.kind, namespace, name };
}

const kindAt = (object: Fields, field: string): Kind =>
  traceKind(
    text(fieldOf(object, 'apiVersion'), `${field}.apiVersion`),
    text(fieldOf(object, 'kind'), `${field}.kind`),
    field,
  );

function nameAt(object: Fields, field: string): string {
  const name = text(fieldOf(object, 'name'), `${field}.name`);
  const [wrong] = subdomainErrors(name);
  if (wrong !== undefined) throw new FieldFault(`${field}.name`, `${quoted(name)}: ${wrong}`);
  return name;
}

function namespaceAt(object: Fields, { kind, namespaced }: Kind, field: string): string | undefined {
  const given = fieldOf(object, 'namespace');
  if (!namespaced) {
    if (given === undefined) return undefined;
    throw new FieldFault(`${field}.namespace`, `is given, and a ${kind} has none; leave it out`);
  }
  if (given === undefined) return DEFAULT_NAMESPACE;
  const namespace = text(given, `${field}.namespace`, 63);
  const [wrong] = subdomainErrors(namespace);
  if (wrong !== undefined) throw new FieldFault(`${field}.namespace`, `${quoted(namespace)}: ${wrong}`);
  return namespace;
}

function readMetadata(metadata: Fields, kind: Kind, field: string): KubeObject['metadata'] {
  if (fieldOf(metadata, 'ownerReferences') !== undefined)
    throw new FieldFault(
      `${field}.ownerReferences`,
      'is given, and owners have other uids in a replay; leave it out, and leave out objects that a workload of the trace makes',
    );
  const name = nameAt(metadata, field);
  const namespace = namespaceAt(metadata, kind, field);
  const [labels, annotations] = (['labels', 'annotations'] as const).map((map) => fieldOf(metadata, map));
  checkTexts(labels, `${field}.labels`, labelValueErrors);
  checkTexts(annotations, `${field}.annotations`, () => []);
  return {
    name,
    ...(namespace === undefined ? {} : { namespace }),
    ...(isFields(labels) ? { labels: labels as Record<string, string> } : {}),
    ...(isFields(annotations) ? { annotations: annotations as Record<string, string> } : {}),
  };
}

function checkTexts(map: unknown, field: string, errorsOf: (value: string) => readonly string[]): void {
  if (map === undefined) return;
  for (const [key, value] of Object.entries(record(map, field))) {
    const [wrongKey] = qualifiedNameErrors(key);
    if (wrongKey !== undefined) throw new FieldFault(field, `has the key ${quoted(key)}: ${wrongKey}`);
    if (typeof value !== 'string') throw new FieldFault(`${field}.${key}`, 'must be a text; put it in quotes');
    const [wrong] = errorsOf(value);
    if (wrong !== undefined) throw new FieldFault(`${field}.${key}`, `${quoted(value)}: ${wrong}`);
  }
}

function checkSpec(object: Fields, { kind }: Kind, field: string): void {
  const path = `${field}.spec`;
  if (kind === POD.kind) {
    checkPodSpec(record(fieldOf(object, 'spec'), path), path);
    return;
  }
  if (!TEMPLATE_KINDS.has(kind)) return;
  const spec = record(fieldOf(object, 'spec'), path);
  const counts = kind === JOB.kind ? ['parallelism', 'completions'] : ['replicas'];
  for (const name of counts) {
    const value = fieldOf(spec, name);
    if (value !== undefined && value !== null)
      whole(value, `${path}.${name}`, { from: 0, to: MOST_REPLICAS, of: 'pods' });
  }
  if (kind !== JOB.kind) record(fieldOf(spec, 'selector'), `${path}.selector`);
  const template = record(fieldOf(spec, 'template'), `${path}.template`);
  const metadata = fieldOf(template, 'metadata');
  if (metadata !== undefined) {
    const labels = fieldOf(record(metadata, `${path}.template.metadata`), 'labels');
    checkTexts(labels, `${path}.template.metadata.labels`, labelValueErrors);
  }
  checkPodSpec(record(fieldOf(template, 'spec'), `${path}.template.spec`), `${path}.template.spec`);
}

function checkPodSpec(spec: Fields, field: string): void {
  if (fieldOf(spec, 'nodeName') !== undefined)
    throw new FieldFault(`${field}.nodeName`, 'is given, and the nodes of a replay have other names; leave it out');
  const containers = fieldOf(spec, 'containers');
  if (!Array.isArray(containers) || containers.length === 0)
    throw new FieldFault(`${field}.containers`, 'must be a list of at least one container');
  const init = fieldOf(spec, 'initContainers') ?? [];
  if (!Array.isArray(init)) throw new FieldFault(`${field}.initContainers`, 'must be a list of containers');
  containers.forEach((container, index) => {
    checkContainer(container, `${field}.containers[${index}]`);
  });
  init.forEach((container, index) => {
    checkContainer(container, `${field}.initContainers[${index}]`);
  });
}

function checkContainer(value: unknown, field: string): void {
  const container = record(value, field);
  text(fieldOf(container, 'name'), `${field}.name`, 63);
  text(fieldOf(container, 'image'), `${field}.image`, 1000);
  const resources = fieldOf(container, 'resources');
  if (resources === undefined) return;
  for (const name of ['requests', 'limits'] as const) {
    const amounts = fieldOf(record(resources, `${field}.resources`), name);
    if (amounts === undefined) continue;
    for (const [resource, amount] of Object.entries(record(amounts, `${field}.resources.${name}`)))
      checkQuantity(amount, `${field}.resources.${name}.${resource}`);
  }
}

function checkQuantity(amount: unknown, field: string): void {
  if (typeof amount !== 'string' && typeof amount !== 'number')
    throw new FieldFault(field, 'must be a quantity such as 500m or 2Gi');
  try {
    if (parseQuantity(amount) >= 0) return;
  } catch (error) {
    throw new FieldFault(field, `must be a quantity such as 500m or 2Gi: ${messageOf(error)}`);
  }
  throw new FieldFault(field, 'is negative; it must be a quantity such as 500m or 2Gi');
}
