/** The shape of a resource's objects, and how they look before anything is written. */
import type { Json } from '../json.ts';
import { modelShape } from '../resources/models.ts';
import type { Resource } from '../resources/registry.ts';
import { ANY, type Shape } from '../resources/shape.ts';

const shapes = new WeakMap<Resource, Shape>();

export function shapeOf(resource: Resource): Shape {
  let shape = shapes.get(resource);
  if (!shape) {
    shape = made(resource);
    shapes.set(resource, shape);
  }
  return shape;
}

function made({ model, schema }: Resource): Shape {
  if (model !== undefined) return modelShape(model);
  const { fields } = schema?.shape ?? ANY;
  return fields ? { type: 'object', fields: new Map([...fields, ['metadata', modelShape('V1ObjectMeta')]]) } : ANY;
}

const TEMPLATE = { metadata: {}, spec: { containers: [] } };

/** Parts that objects of Kubernetes' own types have before anybody has written them, beside an empty spec. */
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

/** An object of the resource before its creation. */
export const blank = ({ model, storage }: Resource): Json =>
  model === undefined ? {} : { spec: BLANK_SPECS[storage] ?? {}, status: {} };
