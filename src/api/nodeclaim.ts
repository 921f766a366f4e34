/** NodeClaim: one node that is wanted, being bought, in use or going away. */
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
    nodeClassRef: nodeClassRef('The node class that says how the node is set up at the cloud provider.'),
    requirements: nodeRequirements(keyRules(NODEPOOL_AWS_KEYS, { nodePoolKey: true })),
    resources: optional(
      object(
        { requests: optional(quantityMap({ description: 'Least amount of each resource that the node must offer.' })) },
        { description: 'What the node is bought for.' },
      ),
    ),
    taints: optional(taints('Taints that the node carries for good.')),
    startupTaints: optional(taints('Taints that the node carries at first and that something else removes.')),
    terminationGracePeriod: optional(
      duration('How long the node may drain before its remaining pods are deleted; without limit when left out.'),
    ),
    expireAfter: optional(durationOrNeverField('Age at which the node is replaced, or `Never`.', '720h')),
  },
  { description: 'What node is wanted.', rules: [rule('self == oldSelf', 'spec is immutable')] },
);

const nodeClaimStatus = object(
  {
    nodeName: optional(text({ description: 'Name of the Node.' })),
    providerID: optional(text({ description: 'The instance at the cloud provider.' })),
    imageID: optional(text({ description: 'Image that the instance was started from.' })),
    capacity: optional(quantityMap({ description: 'Resources of the whole node.' })),
    allocatable: optional(quantityMap({ description: 'Resources of the node that pods can use.' })),
    lastPodEventTime: optional(time({ description: 'When a pod last came to the node or left it.' })),
    conditions: optional(nodeClaimConditions()),
  },
  { description: 'How far the node has come.' },
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
  description: 'A NodeClaim stands for one node: wanted, being bought, in use or going away.',
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
