/** Shape of a resource's objects, and their content before the first write. */
import type { Json } from '../json.ts';
import { modelShape } from '../resources/models.ts';
import type { Resource } from '../resources/registry.ts';
import { ANY, type ResourceShape } from '../resources/shape.ts';

const shapes = new WeakMap<Resource, ResourceShape>();

export function shapeOf(resource: Resource): ResourceShape {
  let shape = shapes.get(resource);
  if (!shape) {
    shape = createShape(resource);
    shapes.set(resource, shape);
  }
  return shape;
}

function createShape({ model, schema }: Resource): ResourceShape {
  if (model !== undefined) return modelShape(model);
  const { fields } = schema?.shape ?? ANY;
  return fields ? { type: 'object', fields: new Map([...fields, ['metadata', modelShape('V1ObjectMeta')]]) } : ANY;
}

const TEMPLATE = { metadata: {}, spec: { containers: [] } };

/** Initial fields of Kubernetes' own types, in addition to an empty spec. */
const BLANK_SPECS: Readonly<Record<string, Json>> = {
  pods: { containers: [] },
  'deployments.apps': { strategy: {}, template: TEMPLATE },
  'replicasets.apps': { template: TEMPLATE },
  'statefulsets.apps': { updateStrategy: {}, template: TEMPLATE },
  'daemonsets.apps': { updateStrategy: {}, template: TEMPLATE },
  'jobs.batch': { template: TEMPLATE },
  'cronjobs.batch': { jobTemplate: { metadata: {}, spec: { template: TEMPLATE } } },
  namespaces: { finalizers: ['kubernetes'] },
  persistentvolumeclaims: { resources: {} },
  'horizontalpodautoscalers.autoscaling': { scaleTargetRef: {} },
};

/** Returns an object of the resource before its creation. */
export const blank = ({ model, storage }: Resource): Json =>
  model === undefined ? {} : { spec: BLANK_SPECS[storage] ?? {}, status: {} };
