/** NodeClaim: request for one node, from its launch to its termination. */
import { KARPENTER_GROUP, NODEPOOL_AWS_KEYS } from './labels.ts';
import { type Declared, object, optional, quantityMap, rule, text, time } from './schema/declare.ts';
import { columns, type Resource, type ResourceDeclaration } from './schema/resource.ts';
import {
  duration,
  durationOrNeverField,
  keyRules,
  nodeClaimConditions,
  nodeClassRef,
  nodeRequirements,
  taints,
} from './shapes.ts';

const nodeClaimSpec = object(
  {
    nodeClassRef: nodeClassRef('NodeClass with the cloud provider configuration of the node.'),
    requirements: nodeRequirements(keyRules(NODEPOOL_AWS_KEYS, { nodePoolKey: true })),
    resources: optional(
      object(
        {
          requests: optional(quantityMap({ description: 'Minimum amount of each resource that the node must have.' })),
        },
        { description: 'Resources that the node must have.' },
      ),
    ),
    taints: optional(taints('Permanent taints of the node.')),
    startupTaints: optional(taints('Taints that the node has when it starts and that an agent removes later.')),
    terminationGracePeriod: optional(
      duration(
        'Maximum duration of the drain. Afterwards, the remaining pods are deleted. If it is not set, there is no limit.',
      ),
    ),
    expireAfter: optional(durationOrNeverField('Age at which the node is replaced, or `Never`.', '720h')),
  },
  { description: 'Desired state.', rules: [rule('self == oldSelf', 'spec is immutable')] },
);

const nodeClaimStatus = object(
  {
    nodeName: optional(text({ description: 'Name of the Node.' })),
    providerID: optional(text({ description: 'ID of the instance at the cloud provider.' })),
    imageID: optional(text({ description: 'ID of the image of the instance.' })),
    capacity: optional(quantityMap({ description: 'Total resources of the node.' })),
    allocatable: optional(quantityMap({ description: 'Resources of the node that are available to pods.' })),
    lastPodEventTime: optional(
      time({ description: 'Time at which a pod was last added to or removed from the node.' }),
    ),
    conditions: optional(nodeClaimConditions()),
  },
  { description: 'Observed state.' },
);

type NodeClaimSpec = Declared<typeof nodeClaimSpec>;
export type NodeClaimRequirement = NodeClaimSpec['requirements'][number];
export type NodeClaim = Resource<typeof nodeClaimSpec, typeof nodeClaimStatus>;

const label = (name: string): string => `.metadata.labels.${name.replaceAll('.', '\\.')}`;

export const NODE_CLAIM_DECLARATION: ResourceDeclaration = {
  group: KARPENTER_GROUP,
  version: 'v1',
  kind: 'NodeClaim',
  plural: 'nodeclaims',
  singular: 'nodeclaim',
  scope: 'Cluster',
  category: 'karpenter',
  description: 'NodeClaim is the request for one node, from its launch to its termination.',
  columns: [
    { name: 'Type', type: 'string', jsonPath: label('node.kubernetes.io/instance-type') },
    { name: 'Capacity', type: 'string', jsonPath: label('karpenter.sh/capacity-type') },
    { name: 'Zone', type: 'string', jsonPath: label('topology.kubernetes.io/zone') },
    { name: 'Node', type: 'string', jsonPath: '.status.nodeName' },
    columns.ready,
    columns.age,
    { name: 'ImageID', type: 'string', jsonPath: '.status.imageID', priority: 1 },
    { name: 'ID', type: 'string', jsonPath: '.status.providerID', priority: 1 },
    { name: 'NodePool', type: 'string', jsonPath: label('karpenter.sh/nodepool'), priority: 1 },
    { name: 'NodeClass', type: 'string', jsonPath: '.spec.nodeClassRef.name', priority: 1 },
    {
      name: 'Drifted',
      type: 'string',
      jsonPath: '.status.conditions[?(@.type=="Drifted")].status',
      priority: 1,
    },
  ],
  spec: nodeClaimSpec,
  status: nodeClaimStatus,
};
