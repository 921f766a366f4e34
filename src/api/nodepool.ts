/** NodePool: which nodes may be bought for pending pods, and when they may be given back. */
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
  text,
} from './schema/declare.ts';
import { columns, type Resource, type ResourceDeclaration } from './schema/resource.ts';
import {
  conditions,
  duration,
  durationOrNeverField,
  keyRules,
  LABEL_VALUE,
  mapKeyRules,
  nodeClassRef,
  nodeRequirements,
  taints,
} from './shapes.ts';

const budget = object({
  nodes: text({
    description:
      'How many nodes may be disrupted at a time: a count such as `5`, or a share such as `10%`, rounded up, of the nodes of the NodePool.',
    default: '10%',
    pattern: '^((100|[0-9]{1,2})%|[0-9]+)$',
  }),
  reasons: optional(
    list(choice(['Underutilized', 'Empty', 'Drifted']), {
      description: 'Reasons of disruption that the budget is for; all of them when left out.',
      merge: 'set',
      maxItems: 50,
    }),
  ),
  schedule: optional(
    text({
      description:
        'When the budget begins to be in force: five cron fields, or a shortcut such as `@daily`, in UTC. Always in force when left out.',
      pattern: '^(@(annually|yearly|monthly|weekly|daily|midnight|hourly))|((.+)\\s(.+)\\s(.+)\\s(.+)\\s(.+))$',
    }),
  ),
  duration: optional(
    text({
      description: 'How long the budget is in force after each hit of the schedule, in hours and minutes.',
      pattern: '^((([0-9]+(h|m))|([0-9]+h[0-9]+m))(0s)?)$',
    }),
  ),
});

const disruption = object(
  {
    consolidateAfter: durationOrNeverField(
      'How long a node must be without pods coming or going before it may be consolidated, or `Never`.',
    ),
    consolidationPolicy: optional(
      choice(['WhenEmpty', 'WhenEmptyOrUnderutilized', 'Balanced'], {
        description:
          'Which nodes consolidation considers: only empty ones, or also those whose pods fit elsewhere for less.',
        default: 'WhenEmptyOrUnderutilized',
      }),
    ),
    budgets: optional(
      list(budget, {
        description: 'Limits to how many nodes are disrupted at a time. The strictest one in force counts.',
        default: [{ nodes: '10%' }],
        merge: 'atomic',
        maxItems: 50,
        rules: [rule('self.all(x, has(x.schedule) == has(x.duration))', "'schedule' must be set with 'duration'")],
      }),
    ),
  },
  {
    description: 'When nodes may be given back or replaced although nothing is wrong with them.',
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
              description: 'Labels that every node of the pool gets.',
              atomic: true,
              maxProperties: 100,
              value: { maxLength: 63, pattern: LABEL_VALUE },
              rules: mapKeyRules(userKeys),
            }),
          ),
          annotations: optional(stringMap({ description: 'Annotations that every node of the pool gets.' })),
        },
        { description: 'Metadata of the NodeClaims and nodes.' },
      ),
    ),
    spec: object(
      {
        nodeClassRef: nodeClassRef('The node class that says how the nodes are set up at the cloud provider.', [
          rule('self.group == oldSelf.group', 'nodeClassRef.group is immutable'),
          rule('self.kind == oldSelf.kind', 'nodeClassRef.kind is immutable'),
        ]),
        requirements: nodeRequirements(userKeys),
        taints: optional(taints('Taints that every node of the pool carries for good.')),
        startupTaints: optional(
          taints('Taints that nodes carry at first and that something else removes; pods need not tolerate them.'),
        ),
        terminationGracePeriod: optional(
          duration(
            'How long a node may drain before its remaining pods are deleted regardless of disruption budgets; without limit when left out.',
          ),
        ),
        expireAfter: optional(durationOrNeverField('Age at which a node is replaced, or `Never`.', '720h')),
      },
      { description: 'Spec of the NodeClaims.' },
    ),
  },
  { description: 'What the NodeClaims of the pool look like. A change makes existing nodes drift.' },
);

const nodePoolSpec = object(
  {
    template,
    disruption: optional(disruption),
    limits: optional(
      quantityMap({ description: 'How much of each resource, and how many `nodes`, the pool may hold in all.' }),
    ),
    weight: optional(int32({ description: 'Pools with a larger weight are tried first.', minimum: 1, maximum: 100 })),
    replicas: optional(
      int64({
        description: 'Keeps the pool at this many nodes whether or not pods need them (alpha, gate StaticCapacity).',
        minimum: 0,
      }),
    ),
  },
  {
    description: 'What the user wants.',
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
    resources: optional(quantityMap({ description: 'Capacity of all nodes of the pool, and their number.' })),
    nodes: optional(int64({ description: 'Number of nodes that the pool counts.', default: 0 })),
    nodeClassObservedGeneration: optional(
      int64({ description: 'Generation of the node class for which registrations were last judged.' }),
    ),
    conditions: optional(conditions()),
  },
  { description: 'What controllers found out.' },
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
  description: 'A NodePool says which nodes may be bought for pending pods, and when they may be given back.',
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
