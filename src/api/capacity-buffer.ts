/** CapacityBuffer: reserves capacity for pods that do not exist yet (feature gate CapacityBuffer). */
import { type Declared, int32, int64, object, optional, quantityMap, rule, text } from './schema/declare.ts';
import { columns, type Resource, type ResourceDeclaration } from './schema/resource.ts';
import { conditions } from './shapes.ts';

const podTemplateRef = (description: string) =>
  object({ name: text({ description: 'Name of the PodTemplate.', minLength: 1 }) }, { description });

const capacityBufferSpec = object(
  {
    provisioningStrategy: optional(
      text({
        description:
          'Strategy for reserving capacity. Only `buffer.x-k8s.io/active-capacity` is supported; other values are ignored.',
        default: 'buffer.x-k8s.io/active-capacity',
      }),
    ),
    podTemplateRef: optional(podTemplateRef('PodTemplate in the same namespace for which capacity is reserved.')),
    scalableRef: optional(
      object(
        {
          apiGroup: optional(text({ description: 'API group of the workload; empty for the core group.' })),
          kind: text({ description: 'Deployment, StatefulSet or ReplicaSet.', minLength: 1 }),
          name: text({ description: 'Name of the workload.', minLength: 1 }),
        },
        { description: 'Workload in the same namespace for whose pods capacity is reserved.' },
      ),
    ),
    replicas: optional(int32({ description: 'Number of pods for which capacity is reserved.', minimum: 0 })),
    percentage: optional(
      int32({
        description:
          "Percentage of the workload's replicas for which capacity is reserved, rounded up to at least one pod.",
        minimum: 0,
      }),
    ),
    limits: optional(quantityMap({ description: 'Maximum total requests of the reserved capacity.' })),
  },
  {
    description: 'Desired state.',
    rules: [
      rule(
        '!has(self.podTemplateRef) || has(self.replicas) || has(self.limits)',
        'If podTemplateRef is set, replicas or limits must also be set',
      ),
      rule(
        '!has(self.podTemplateRef) || !has(self.scalableRef)',
        'You must define either PodTemplateRef or ScalableRef, but not both',
      ),
    ],
  },
);

const capacityBufferStatus = object(
  {
    podTemplateRef: optional(podTemplateRef('PodTemplate in use.')),
    podTemplateGeneration: optional(int64({ description: 'Generation of the PodTemplate in use.' })),
    replicas: optional(int32({ description: 'Number of pods for which capacity is reserved.' })),
    provisioningStrategy: optional(text({ description: 'Strategy in use.' })),
    conditions: optional(conditions()),
  },
  { description: 'Observed state.' },
);

export type CapacityBufferSpec = Declared<typeof capacityBufferSpec>;
export type CapacityBuffer = Resource<typeof capacityBufferSpec, typeof capacityBufferStatus>;

export const CAPACITY_BUFFER_DECLARATION: ResourceDeclaration = {
  group: 'autoscaling.x-k8s.io',
  version: 'v1beta1',
  kind: 'CapacityBuffer',
  plural: 'capacitybuffers',
  singular: 'capacitybuffer',
  shortNames: ['cb'],
  scope: 'Namespaced',
  category: 'autoscaling',
  description: 'CapacityBuffer reserves capacity on nodes for pods that do not exist yet.',
  columns: [
    { name: 'Strategy', type: 'string', jsonPath: '.spec.provisioningStrategy' },
    { name: 'PodTemplate', type: 'string', jsonPath: '.status.podTemplateRef.name' },
    { name: 'Replicas', type: 'integer', jsonPath: '.status.replicas' },
    { name: 'ConditionsType', type: 'string', jsonPath: '.status.conditions[*].type' },
    { name: 'ConditionsStatus', type: 'string', jsonPath: '.status.conditions[*].status' },
    { name: 'ConditionsReason', type: 'string', jsonPath: '.status.conditions[*].reason' },
    columns.age,
  ],
  spec: capacityBufferSpec,
  status: capacityBufferStatus,
};
