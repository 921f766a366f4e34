/**
 * Shapes of the built-in kinds. They are read from the models of @kubernetes/client-node, which are generated from
 * Kubernetes' own OpenAPI document. The models omit merge keys, so that this file adds them.
 */
import * as generated from '@kubernetes/client-node';
import { ANY, type ResourceShape } from './shape.ts';

interface Attribute {
  readonly baseName: string;
  readonly type: string;
  readonly format: string;
}

const isModel = (value: unknown): value is { getAttributeTypeMap(): readonly Attribute[] } =>
  typeof value === 'function' && 'getAttributeTypeMap' in value;

/**
 * Lists that are merged by a key: `Model.field` → strategic merge key, then further keys that server-side apply uses in
 * addition.
 */
const MERGE_KEYS: Readonly<Record<string, readonly string[]>> = {
  'V1PodSpec.containers': ['name'],
  'V1PodSpec.initContainers': ['name'],
  'V1PodSpec.ephemeralContainers': ['name'],
  'V1PodSpec.volumes': ['name'],
  'V1PodSpec.imagePullSecrets': ['name'],
  'V1PodSpec.hostAliases': ['ip'],
  'V1PodSpec.topologySpreadConstraints': ['topologyKey', 'whenUnsatisfiable'],
  'V1PodSpec.resourceClaims': ['name'],
  'V1PodSpec.schedulingGates': ['name'],
  'V1Container.env': ['name'],
  'V1Container.ports': ['containerPort', 'protocol'],
  'V1Container.volumeMounts': ['mountPath'],
  'V1Container.volumeDevices': ['devicePath'],
  'V1PodStatus.podIPs': ['ip'],
  'V1PodStatus.hostIPs': ['ip'],
  'V1NodeStatus.addresses': ['type'],
  'V1ServiceSpec.ports': ['port', 'protocol'],
  'V1ServiceAccount.secrets': ['name'],
  'V1ObjectMeta.ownerReferences': ['uid'],
  'V1CSINodeSpec.drivers': ['name'],
  'V1ResourceRequirements.claims': ['name'],
  'V1ValidatingWebhookConfiguration.webhooks': ['name'],
  'V1MutatingWebhookConfiguration.webhooks': ['name'],
};

/** Lists of scalars that patches merge as sets. */
const SETS: ReadonlySet<string> = new Set([
  'V1ObjectMeta.finalizers',
  'V1NodeSpec.podCIDRs',
  'V1NamespaceSpec.finalizers',
]);

/** Maps of quantities. Clients may send these quantities as numbers. */
const QUANTITY_MAPS: ReadonlySet<string> = new Set([
  'requests',
  'limits',
  'capacity',
  'allocatable',
  'allocatedResources',
  'overhead',
  'hard',
  'used',
  'podFixed',
  'default',
  'defaultRequest',
  'max',
  'min',
  'maxLimitRequestRatio',
]);
const QUANTITIES: ReadonlySet<string> = new Set(['sizeLimit', 'divisor']);

/** Types that are replaced as a whole. */
const ATOMIC_TYPES: ReadonlySet<string> = new Set([
  'V1ConfigMapKeySelector',
  'V1LabelSelector',
  'V1LocalObjectReference',
  'V1NodeSelector',
  'V1NodeSelectorTerm',
  'V1ObjectFieldSelector',
  'V1ObjectReference',
  'V1ResourceFieldSelector',
  'V1ScopeSelector',
  'V1SecretKeySelector',
  'V1SecretReference',
  'V1TopologySelectorTerm',
  'V1TypedLocalObjectReference',
  'V1RoleRef',
  'V1Overhead',
]);

/** Maps that are replaced as a whole. */
const ATOMIC_MAPS: ReadonlySet<string> = new Set([
  'V1PodSpec.nodeSelector',
  'V1ServiceSpec.selector',
  'V1ReplicationControllerSpec.selector',
]);

const models = new Map<string, unknown>(Object.entries(generated));
const shapes = new Map<string, ResourceShape>();

/** Returns the shape of a generated model such as `V1Pod`. Its fields are computed on first use. */
export function modelShape(name: string): ResourceShape {
  const known = shapes.get(name);
  if (known) return known;
  const model: unknown = models.get(name);
  if (!isModel(model)) return ANY;
  let fields: ReadonlyMap<string, ResourceShape> | undefined;
  const shape: ResourceShape = {
    type: 'object',
    name,
    ...(ATOMIC_TYPES.has(name) && { atomic: true }),
    get fields() {
      fields ??= new Map(model.getAttributeTypeMap().map((field) => [field.baseName, attribute(name, field)]));
      return fields;
    },
  };
  shapes.set(name, shape);
  return shape;
}

function attribute(model: string, { baseName, type, format }: Attribute): ResourceShape {
  const path = `${model}.${baseName}`;
  if (path === 'V1NodeAllocatableResourceClaimStatus.resources') return { type: 'map', items: { type: 'quantity' } };
  const shape = shapeOfType(type, format, baseName);
  if (ATOMIC_MAPS.has(path)) return { ...shape, atomic: true };
  if (shape.type !== 'list') return shape;
  if (SETS.has(path)) return { ...shape, set: true };
  const keys = MERGE_KEYS[path] ?? (baseName === 'conditions' ? ['type'] : undefined);
  return keys?.[0] === undefined ? shape : { ...shape, keys, mergeKey: keys[0] };
}

function shapeOfType(type: string, format: string, field: string): ResourceShape {
  const items = /^Array<(.*)>$/.exec(type)?.[1];
  // Kubernetes does not have lists of floating-point numbers.
  if (items !== undefined) return { type: 'list', items: shapeOfType(items, 'int64', field) };
  const values = /^\{ \[key: string\]: (.*); \}$/.exec(type)?.[1];
  if (values !== undefined) {
    const isQuantity = values === 'string' && QUANTITY_MAPS.has(field);
    return { type: 'map', items: isQuantity ? { type: 'quantity' } : shapeOfType(values, '', field) };
  }
  if (QUANTITIES.has(field)) return { type: 'quantity' };
  if (type === 'string' || type === 'boolean') return { type };
  if (type === 'number') return { type: format.startsWith('int') ? 'integer' : 'number' };
  if (type === 'Date' || type === 'V1MicroTime') return { type: 'string' };
  if (field === 'fieldsV1') return { type: 'any', name: 'V1FieldsV1' };
  if (type === 'IntOrString') return { type: 'intOrString' };
  return modelShape(type);
}
