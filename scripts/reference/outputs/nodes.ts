/** Schemas of output about existing nodes. */
import { Type } from 'typebox';
import { BLOCKER_ENDS } from '#engine/testing';
import { count, OBJECT_NAME, text, texts, time, UNKNOWN, usd, WORTH } from './parts.ts';

const reason = {
  code: text('Code of the reason; docs/why-not.md lists the codes'),
  text: text('Text of the reason'),
  object: Type.Optional(OBJECT_NAME),
  nearestMiss: Type.Optional(text('Missing condition, or time at which it is met')),
};

const DECIDED = Type.Optional(time('Time of the decision; absent if it is made for this request'));

const VERDICT = Type.Object(
  {
    node: text('Name of the Node, or of the NodeClaim if it has no Node yet'),
    nodeClaim: Type.Optional(Type.String()),
    nodePool: Type.Optional(Type.String()),
    ...reason,
    decided: DECIDED,
    command: Type.Optional(
      Type.Object(
        {
          method: Type.String(),
          decision: Type.Enum(['delete', 'replace']),
          nodes: texts('Nodes that the command disrupts'),
          savings: usd('Savings of the whole command on the bill in USD per hour'),
          planningSavings: Type.Optional(usd('Savings with planning figures, which decide, if they differ')),
          worth: WORTH,
        },
        { description: 'Command that disrupts the node, or would disrupt it' },
      ),
    ),
    methods: Type.Array(Type.Object({ method: Type.String(), ...reason, decided: DECIDED }), {
      description: 'Results of all enabled methods, in their order of execution',
    }),
    unknown: Type.Optional(UNKNOWN),
  },
  { description: 'Reason why a node would be disrupted or not' },
);

export const VERDICTS = Type.Union([Type.Array(VERDICT), VERDICT], {
  description: 'All nodes, or the node of the argument',
});

const BLOCKER = Type.Object({
  code: text('Kind of the blocker'),
  text: text('Text of the blocker'),
  object: Type.Optional(OBJECT_NAME),
  pods: Type.Optional(texts('namespace/name of the affected pods of the node')),
  healthy: Type.Optional(
    Type.Object(
      { current: Type.Integer(), desired: Type.Integer(), allowed: Type.Integer() },
      { description: 'For a PodDisruptionBudget: healthy pods, required healthy pods, and allowed evictions' },
    ),
  ),
  ends: Type.Optional(
    Type.Enum([...BLOCKER_ENDS], {
      description: 'Condition that ends the blocker without intervention; absent if unknown',
    }),
  ),
  since: Type.Optional(time('Start of the blocker')),
  until: Type.Optional(time('Time at which the blocker ends without intervention')),
});

export const BLOCKERS = Type.Array(
  Type.Object({
    node: text('Name of the Node, or of the NodeClaim if it has no Node yet'),
    nodeClaim: Type.Optional(Type.String()),
    nodePool: Type.Optional(Type.String()),
    waitsFor: Type.Enum(['drain', 'drift', 'consolidation', 'nothing'], {
      description: 'Pending operation of the node; nothing if there is none',
    }),
    since: Type.Optional(time('Start of the wait; absent if unknown')),
    usdPerHour: Type.Optional(usd('Price of the node as AWS bills it; absent if its price is unknown')),
    usdSoFar: Type.Optional(usd('Cost of the node since the start of the wait')),
    worth: WORTH,
    terminationGracePeriod: Type.Optional(text('Maximum duration of a drain, from the NodeClaim')),
    endsAt: Type.Optional(time('Time at which remaining pods of a draining node are deleted')),
    blockers: Type.Array(BLOCKER),
  }),
  { description: 'Nodes whose drain or disruption is blocked; draining nodes first' },
);

const TOTALS = Type.Object({
  nodes: count('Nodes that are not being removed, and new nodes'),
  newNodes: count('New nodes of these, for pending pods'),
  usdPerHour: usd('Price of these nodes as AWS bills them; nodes with an unknown price do not count'),
  unschedulable: count('Pods that stay pending'),
});

const DRAINED = {
  node: text('Name of the Node'),
  nodeClaim: Type.Optional(Type.String()),
  nodePool: Type.Optional(Type.String()),
  canFinish: Type.Boolean({ description: 'False if a pod stays on the node without a time limit' }),
  terminationGracePeriod: Type.Optional(text('Maximum duration of the drain, from the NodeClaim')),
  earliestEnd: Type.Optional(time('Earliest end of the drain, if protections of pods end at a known time')),
  podTerminationSeconds: Type.Optional(count('Longest time for which an evicted pod may take to end, in seconds')),
  blockers: Type.Array(BLOCKER),
  usdPerHour: Type.Optional(usd('Price of the node as AWS bills it; absent if its price is unknown')),
};

const PLACES = {
  pods: Type.Array(
    Type.Object({
      pod: text('namespace/name'),
      node: Type.Optional(text('Existing node to which the pod goes')),
      newNode: Type.Optional(count('Position in newNodes, from 0')),
      problem: Type.Optional(text('Reason why the pod stays, stays pending, or is not created again')),
    }),
    { description: 'Pods with another place than without the change' },
  ),
  morePods: Type.Optional(count('Further such pods, which the list does not contain')),
  newNodes: Type.Array(
    Type.Object({
      nodePool: Type.String(),
      instanceType: text('Cheapest instance type'),
      usdPerHour: usd('Price as AWS bills it'),
      pods: texts('namespace/name of the pods of the list; other pods may share the node'),
    }),
    { description: 'New nodes with at least one of these pods' },
  ),
  before: TOTALS,
  after: TOTALS,
};

const ADDED = Type.Optional(
  usd('Difference of the prices before and after; absent if the price of a drained node is unknown'),
);

/** Difference to the cluster without a change. */
export const EFFECT = Type.Object(
  { ...PLACES, usdPerHourAdded: ADDED, drains: Type.Array(Type.Object(DRAINED), { description: 'Drained nodes' }) },
  { description: 'Difference to the manifests without the changes of --what-if' },
);

export const DRAIN = Type.Object(
  {
    ...DRAINED,
    ...PLACES,
    newNodesWithoutDrain: count('Nodes that are launched for pending pods in any case'),
    usdPerHourAdded: ADDED,
  },
  { description: 'Prediction of the drain of a node' },
);

const REASON = Type.Enum(['Empty', 'Drifted', 'Underutilized']);

export const BUDGET_CALENDAR = Type.Object(
  {
    from: time('Start of the calendar'),
    until: time('End of the calendar'),
    nodePools: Type.Array(
      Type.Object({
        nodePool: Type.String(),
        nodes: count('Nodes from which percentages of budgets are computed'),
        disrupting: count('Nodes of these that are not ready or being deleted, for any reason'),
        reasons: Type.Array(
          Type.Object({
            reason: REASON,
            spans: Type.Array(
              Type.Object({
                from: time('Begin'),
                until: Type.Optional(time('End; absent if nothing changes until the end of the calendar')),
                allowed: Type.Union([Type.Integer({ minimum: 0 }), Type.Literal('unlimited')], {
                  description: 'Maximum number of nodes that are disrupted at the same time',
                }),
              }),
            ),
            nextOpening: Type.Optional(
              time('Next time at which a node can be disrupted, if none can be disrupted now'),
            ),
          }),
        ),
        rollout: Type.Optional(
          Type.Object(
            {
              policy: Type.String(),
              stage: Type.Enum(['Invalid', 'Starting', 'Canary', 'Soak', 'Waves', 'Halted']),
              drifted: count('Drifted nodes that are left'),
              launched: count('Nodes that are launched since the start'),
              canaries: Type.Integer({ minimum: 0 }),
              room: Type.Optional(count('Further nodes that may be replaced now; absent if only the budgets limit it')),
              until: Type.Optional(time('End of the soak')),
              cause: Type.Optional(text('Cause of the halt')),
            },
            { description: 'Replacement of drifted nodes in stages' },
          ),
        ),
        warnings: Type.Array(
          Type.Object({
            code: Type.Enum(['unreadable', 'never-opens', 'always-zero', 'never-in-force', 'too-many-hits', 'rollout']),
            text: Type.String(),
            budget: Type.Optional(count('Position in the budgets of the NodePool')),
          }),
        ),
      }),
    ),
  },
  { description: 'Number of nodes that the budgets of NodePools allow to be disrupted, by time' },
);

export const MOVES = Type.Array(
  Type.Object({
    id: Type.String(),
    command: text('Text of the command'),
    method: Type.String(),
    decision: Type.String(),
    state: Type.Enum(['watched', 'kept', 'undone']),
    startedAt: time('Time of the decision'),
    endsAt: time('End of the observation and of the counted savings'),
    nodePools: Type.Array(Type.String()),
    workloads: texts('namespace/kind/name of workloads with pods on the nodes'),
    undone: Type.Optional(Type.Object({ at: time('When'), because: Type.String(), nodeClaim: Type.String() })),
    predictedUsdPerHour: usd('Predicted savings per hour'),
    predictedUsd: usd('Predicted savings until endsAt'),
    realisedUsd: usd('Savings until now, or until endsAt'),
  }),
  { description: 'Consolidations, latest first' },
);
