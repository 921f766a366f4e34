/** NodePool: the nodes that may be launched for pending pods, and rules for their disruption. */
import { KARPENTER_GROUP, NODEPOOL_AWS_KEYS } from './labels.ts';
import {
  choice,
  type Declared,
  int32,
  int64,
  list,
  object,
  optional,
  quantityMap,
  rule,
  stringMap,
} from './schema/declare.ts';
import { columns, type Resource, type ResourceDeclaration } from './schema/resource.ts';
import {
  budgetFields,
  conditions,
  duration,
  durationOrNeverField,
  keyRules,
  LABEL_VALUE,
  mapKeyRules,
  nodeClassRef,
  nodeRequirements,
  scheduleWithDuration,
  taints,
} from './shapes.ts';

const { nodes, schedule, duration: activeFor } = budgetFields;

const budget = object({
  nodes,
  reasons: optional(
    list(choice(['Underutilized', 'Empty', 'Drifted']), {
      description:
        'Disruption reasons to which the budget applies. If it is not set, the budget applies to all reasons.',
      merge: 'set',
      maxItems: 50,
    }),
  ),
  schedule,
  duration: activeFor,
});

const disruption = object(
  {
    consolidateAfter: durationOrNeverField(
      'Time that must pass after pods were added to or removed from a node before it can be consolidated, or `Never`.',
    ),
    consolidationPolicy: optional(
      choice(['WhenEmpty', 'WhenEmptyOrUnderutilized', 'Balanced'], {
        description:
          'Nodes that can be consolidated: only empty nodes, or also nodes whose pods can run elsewhere at a lower price.',
        default: 'WhenEmptyOrUnderutilized',
      }),
    ),
    budgets: optional(
      list(budget, {
        description:
          'Limits on the number of nodes that are disrupted at the same time. The most restrictive active budget applies.',
        default: [{ nodes: '10%' }],
        merge: 'atomic',
        maxItems: 50,
        rules: [scheduleWithDuration],
      }),
    ),
  },
  {
    description: 'Rules for removing or replacing healthy nodes.',
    default: { consolidateAfter: '0s' },
  },
);

const userKeys = keyRules(NODEPOOL_AWS_KEYS, { nodePoolKey: false });

const template = object(
  {
    metadata: optional(
      object(
        {
          labels: optional(
            stringMap({
              description: 'Labels of every node of the NodePool.',
              atomic: true,
              maxProperties: 100,
              value: { maxLength: 63, pattern: LABEL_VALUE },
              rules: mapKeyRules(userKeys),
            }),
          ),
          annotations: optional(stringMap({ description: 'Annotations of every node of the NodePool.' })),
        },
        { description: 'Metadata of the NodeClaims and nodes.' },
      ),
    ),
    spec: object(
      {
        nodeClassRef: nodeClassRef('NodeClass with the cloud provider configuration of the nodes.', [
          rule('self.group == oldSelf.group', 'nodeClassRef.group is immutable'),
          rule('self.kind == oldSelf.kind', 'nodeClassRef.kind is immutable'),
        ]),
        requirements: nodeRequirements(userKeys),
        taints: optional(taints('Permanent taints of every node of the NodePool.')),
        startupTaints: optional(
          taints(
            'Taints that nodes have when they start and that an agent removes later. Pods do not need to tolerate them.',
          ),
        ),
        terminationGracePeriod: optional(
          duration(
            'Maximum duration of a drain. Afterwards, the remaining pods are deleted regardless of PodDisruptionBudgets. If it is not set, there is no limit.',
          ),
        ),
        expireAfter: optional(durationOrNeverField('Age at which a node is replaced, or `Never`.', '720h')),
      },
      { description: 'Specification of the NodeClaims.' },
    ),
  },
  { description: 'Template of the NodeClaims of the NodePool. Changes cause existing nodes to drift.' },
);

const nodePoolSpec = object(
  {
    template,
    disruption: optional(disruption),
    limits: optional(
      quantityMap({ description: 'Maximum total amount of each resource in the NodePool, and of `nodes`.' }),
    ),
    weight: optional(
      int32({
        description: 'Priority of the NodePool. NodePools with a higher weight are tried first.',
        minimum: 1,
        maximum: 100,
      }),
    ),
    replicas: optional(
      int64({
        description: 'Fixed number of nodes, independent of pods (beta, feature gate StaticCapacity).',
        minimum: 0,
      }),
    ),
  },
  {
    description: 'Desired state.',
    rules: [
      rule(
        'has(self.replicas) == has(oldSelf.replicas)',
        'Cannot transition NodePool between static (replicas set) and dynamic (replicas unset) provisioning modes',
      ),
      rule(
        "!has(self.replicas) || !has(self.limits) || self.limits.all(name, name == 'nodes')",
        "only 'limits.nodes' is supported on static NodePools",
      ),
      rule('!has(self.replicas) || !has(self.weight)', "'weight' is not supported on static NodePools"),
    ],
  },
);

const nodePoolStatus = object(
  {
    resources: optional(quantityMap({ description: 'Total capacity of the nodes of the NodePool, and their number.' })),
    nodes: optional(int64({ description: 'Number of nodes of the NodePool.', default: 0 })),
    nodeClassObservedGeneration: optional(
      int64({ description: 'Generation of the NodeClass for which the registration health was last computed.' }),
    ),
    conditions: optional(conditions()),
  },
  { description: 'Observed state.' },
);

export type NodePoolSpec = Declared<typeof nodePoolSpec>;
export type Budget = Declared<typeof budget>;
export type NodePool = Resource<typeof nodePoolSpec, typeof nodePoolStatus>;

export const NODE_POOL_DECLARATION: ResourceDeclaration = {
  group: KARPENTER_GROUP,
  version: 'v1',
  kind: 'NodePool',
  plural: 'nodepools',
  singular: 'nodepool',
  scope: 'Cluster',
  category: 'karpenter',
  description: 'NodePool defines the nodes that can be launched for pending pods, and the rules for their disruption.',
  scale: { specReplicasPath: '.spec.replicas', statusReplicasPath: '.status.nodes' },
  columns: [
    { name: 'NodeClass', type: 'string', jsonPath: '.spec.template.spec.nodeClassRef.name' },
    { name: 'Nodes', type: 'string', jsonPath: '.status.nodes' },
    columns.ready,
    columns.age,
    columns.weight,
    { name: 'CPU', type: 'string', jsonPath: '.status.resources.cpu', priority: 1 },
    { name: 'Memory', type: 'string', jsonPath: '.status.resources.memory', priority: 1 },
  ],
  spec: nodePoolSpec,
  status: nodePoolStatus,
};
