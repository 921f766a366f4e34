/** ProvisioningRequest: requests capacity for a whole set of pods before they exist (feature gate ProvisioningRequest). */
import { int32, list, object, optional, patternLike, rule, stringMap, text } from './schema/declare.ts';
import { columns, type Resource, type ResourceDeclaration } from './schema/resource.ts';
import { conditions } from './shapes.ts';

const SUBDOMAIN = patternLike('^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$', 'my-name');
const LONGEST_NAME = 253;

const immutable = [rule('self == oldSelf', 'Value is immutable')];

const podSet = object(
  {
    podTemplateRef: object(
      {
        name: text({ description: 'Name of the PodTemplate.', pattern: SUBDOMAIN, maxLength: LONGEST_NAME }),
      },
      { description: 'PodTemplate in the namespace of the request. It must exist before the request.' },
    ),
    count: int32({ description: 'Number of pods of the template.', minimum: 1 }),
  },
  { description: 'Equal pods for which capacity is requested.' },
);

const provisioningRequestSpec = object(
  {
    podSets: list(podSet, {
      description: 'Sets of pods that must have room together.',
      minItems: 1,
      maxItems: 32,
      rules: immutable,
    }),
    provisioningClassName: text({
      description:
        'How capacity is provided: `check-capacity.autoscaling.x-k8s.io` (only on existing nodes), ' +
        '`best-effort-atomic-scale-up.autoscaling.x-k8s.io` or `atomic-scale-up.karpenter-ts.sh` (nodes are launched for all ' +
        'pods or for none). Requests of other classes are left to other products.',
      pattern: SUBDOMAIN,
      maxLength: LONGEST_NAME,
      rules: immutable,
    }),
    parameters: optional(
      stringMap({
        description: 'Parameters of the class.',
        value: { maxLength: 255 },
        maxProperties: 100,
        rules: immutable,
      }),
    ),
  },
  { description: 'Desired state.' },
);

const provisioningRequestStatus = object(
  {
    conditions: optional(conditions()),
    provisioningClassDetails: optional(
      stringMap({
        description: 'Labels with the same value on all nodes of the capacity, such as `karpenter.sh/nodepool`.',
        value: { maxLength: 32_768 },
        maxProperties: 64,
      }),
    ),
  },
  { description: 'Observed state.' },
);

export type ProvisioningRequest = Resource<typeof provisioningRequestSpec, typeof provisioningRequestStatus>;

export const PROVISIONING_REQUEST_DECLARATION: ResourceDeclaration = {
  group: 'autoscaling.x-k8s.io',
  version: 'v1',
  deprecatedVersions: [{ name: 'v1beta1', warning: 'autoscaling.k8s.io/v1beta1 API is deprecated' }],
  kind: 'ProvisioningRequest',
  plural: 'provisioningrequests',
  singular: 'provisioningrequest',
  shortNames: ['provreq', 'provreqs'],
  scope: 'Namespaced',
  category: 'autoscaling',
  description: 'ProvisioningRequest requests capacity for a set of pods before the pods exist.',
  columns: [columns.age],
  chartValue: 'provisioningRequests',
  spec: provisioningRequestSpec,
  status: provisioningRequestStatus,
};
