/**
 * Checks an object of a trace as far as possible without a cluster, and removes fields that only a cluster sets:
 * status, uid and resource version. The API server of the replay reports other problems of a spec.
 */

import { CONFIG_MAP, JOB, type Kind, type KubeObject, POD } from '#api/objects';
import { labelValueErrors, parseQuantity, qualifiedNameErrors, subdomainErrors } from '#api/values';
import { type Field, messageOf, quoted } from '#lib';
import { DEVICE_TEMPLATES_LABEL } from '#state';
import { textOf, wholeOf } from './fields.ts';
import { kindOf, OPERATOR_NAMESPACE, TEMPLATE_KINDS } from './kinds.ts';
import type { ObjectRef } from './trace.ts';

/**
 * `backoffLimit` of Jobs in recorded and generated traces. Evictions must never end a Job: the recorded cluster finished its
 * work, and costs can only be compared if all settings do the same work.
 */
export const BACKOFF_LIMIT = 1_000_000;

/** Maximum number of replicas, higher than in any real workload. */
export const MOST_REPLICAS = 100_000;

/** Namespace of objects that do not name one. */
const DEFAULT_NAMESPACE = 'default';

/** @throws FieldFault */
export function readTraceObject(object: Field): KubeObject {
  const kind = kindOf(object.object());
  const metadata = readMetadata(object.at('metadata').object(), kind);
  if (kind.kind === CONFIG_MAP.kind) checkDeclaration(object);
  checkSpec(object, kind);
  const { status: _, ...rest } = object.value as KubeObject & { readonly status?: unknown };
  return { ...rest, metadata };
}

/** @throws FieldFault */
export function readRef(ref: Field): ObjectRef {
  const kind = kindOf(ref.object());
  const { apiVersion } = ref.value as ObjectRef;
  return { apiVersion, kind: kind.kind, ...namesOf(ref, kind) };
}

function namesOf(object: Field, { kind, namespaced }: Kind): Pick<ObjectRef, 'namespace' | 'name'> {
  const name = domainOf(object.at('name'));
  const namespace = object.at('namespace').given;
  if (namespaced) return { namespace: namespace ? domainOf(namespace, 63) : DEFAULT_NAMESPACE, name };
  return namespace ? namespace.fail(`is set, but a ${kind} does not have a namespace; remove it`) : { name };
}

/** @param most maximum number of characters */
function domainOf(field: Field, most?: number): string {
  const text = textOf(field, most);
  const [wrong] = subdomainErrors(text);
  return wrong === undefined ? text : field.fail(`${quoted(text)}: ${wrong}`);
}

function readMetadata(metadata: Field, kind: Kind): KubeObject['metadata'] {
  metadata
    .at('ownerReferences')
    .given?.fail(
      'is set, but owners have different UIDs in a replay; remove it, and remove objects that a workload of the trace creates',
    );
  const { name, namespace } = namesOf(metadata, kind);
  checkTexts(metadata.at('labels'), labelValueErrors);
  checkTexts(metadata.at('annotations'), () => []);
  const { labels, annotations } = metadata.value as KubeObject['metadata'];
  return { name, ...(namespace && { namespace }), ...(labels && { labels }), ...(annotations && { annotations }) };
}

function checkTexts(map: Field, errorsOf: (value: string) => readonly string[]): void {
  for (const key of map.keys()) {
    const [wrongKey] = qualifiedNameErrors(key);
    if (wrongKey !== undefined) map.fail(`has the key ${quoted(key)}: ${wrongKey}`);
    const field = map.at(key);
    if (typeof field.value !== 'string') field.fail('must be a text; put it in quotes');
    const text = field.text();
    const [wrong] = errorsOf(text);
    if (wrong !== undefined) field.fail(`${quoted(text)}: ${wrong}`);
  }
}

/** Refuses ConfigMaps that the operator does not read, because a replay has no other reader. */
function checkDeclaration(object: Field): void {
  const metadata = object.at('metadata');
  const [label, namespace] = [metadata.at('labels').at(DEVICE_TEMPLATES_LABEL), metadata.at('namespace')];
  if (label.value !== 'true')
    label.fail('must be "true": a trace contains only ConfigMaps with devices of new nodes; remove the ConfigMap');
  if (namespace.value !== OPERATOR_NAMESPACE)
    namespace.fail(`must be ${OPERATOR_NAMESPACE}, the namespace of the operator in a replay`);
  const data = object.at('data').object();
  for (const key of data.keys()) data.at(key).text();
}

function checkSpec(object: Field, { kind }: Kind): void {
  const spec = object.at('spec');
  if (kind === POD.kind) checkPodSpec(spec.object());
  if (!TEMPLATE_KINDS.has(kind)) return;
  spec.object();
  for (const name of kind === JOB.kind ? ['parallelism', 'completions'] : ['replicas']) {
    const count = spec.at(name);
    if ((count.value ?? undefined) !== undefined) wholeOf(count, { from: 0, to: MOST_REPLICAS, of: 'pods' });
  }
  if (kind !== JOB.kind) spec.at('selector').object();
  const template = spec.at('template').object();
  checkTexts(template.at('metadata').at('labels'), labelValueErrors);
  checkPodSpec(template.at('spec').object());
}

function checkPodSpec(spec: Field): void {
  spec.at('nodeName').given?.fail('is set, but the nodes of a replay have different names; remove it');
  const [containers, init] = [spec.at('containers'), spec.at('initContainers')];
  if (!Array.isArray(containers.value) || containers.value.length === 0)
    containers.fail('must be a list of at least one container');
  if (!Array.isArray(init.value ?? [])) init.fail('must be a list of containers');
  containers.items().forEach(checkContainer);
  if (Array.isArray(init.value)) init.items().forEach(checkContainer);
}

function checkContainer(container: Field): void {
  textOf(container.object().at('name'), 63);
  textOf(container.at('image'), 1000);
  const resources = container.at('resources');
  for (const name of ['requests', 'limits']) {
    const amounts = resources.at(name);
    for (const resource of amounts.keys()) checkQuantity(amounts.at(resource));
  }
}

function checkQuantity(amount: Field): void {
  const { value } = amount;
  let quantity: number | undefined;
  try {
    if (typeof value === 'string' || typeof value === 'number') quantity = parseQuantity(value);
  } catch (error) {
    amount.fail(`must be a quantity such as 500m or 2Gi: ${messageOf(error)}`);
  }
  if (quantity === undefined) amount.fail('must be a quantity such as 500m or 2Gi');
  else if (quantity < 0) amount.fail('is negative; it must be a quantity such as 500m or 2Gi');
}
