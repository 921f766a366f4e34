/** Schemas of output about costs. */
import { Type } from 'typebox';
import { LOG_KINDS } from '#observe/history';
import { count, text, texts, time, UNKNOWN, usd } from './parts.ts';

const sums = {
  nodes: count('0 for groups of pods, because they share nodes'),
  pods: count('Running pods, including pods of DaemonSets'),
  usdPerHour: usd('Cost as AWS bills it: instances minus commitments, volumes and public IPv4 addresses'),
  listUsdPerHour: usd('Cost at the list prices of AWS, without commitments'),
  workloadsUsdPerHour: usd('Part of the effective cost for pods other than DaemonSet pods'),
  daemonSetsUsdPerHour: usd('Part of the effective cost for DaemonSet pods'),
  idleUsdPerHour: usd('Part of the effective cost that no pod requests'),
  surplusCreditsUsdPerHour: usd('Planning figure that the cost excludes: expected surplus CPU credits'),
  usdPerMonth: usd('Effective cost of 730 hours'),
};

export const COST = Type.Object(
  {
    at: time('When'),
    by: Type.Enum(['nodepool', 'zone', 'capacity-type', 'instance-type', 'namespace', 'workload']),
    total: Type.Object(sums),
    price: Type.Object(
      {
        instancesUsdPerHour: usd('Instances at their prices, including discounts'),
        volumesUsdPerHour: usd('Volumes of the nodes'),
        publicIpv4UsdPerHour: usd('Public IPv4 addresses of the nodes'),
        coveredUsdPerHour: usd('Part of the instance cost that Savings Plans and reserved instances cover'),
      },
      { description: 'Parts of the total: the sum of the first three minus the last' },
    ),
    planning: Type.Object(
      {
        surplusCreditsUsdPerHour: usd('Expected surplus CPU credits of burstable instance types'),
        feesUsdPerHour: usd('Fees of the nodes, which AWS does not bill'),
      },
      { description: 'Planning figures, which decisions add to prices; the total excludes them' },
    ),
    groups: Type.Array(
      Type.Object({
        name: text('For a workload: namespace/Kind/name; __idle__ is the idle cost if pods are grouped'),
        ...sums,
      }),
      { description: 'Most expensive first; the sum is exactly the total' },
    ),
    unpriced: Type.Object(
      { nodes: count('Number'), names: Type.Array(Type.String(), { description: 'At most twenty names' }) },
      { description: 'Nodes of NodePools with an unknown price; not counted' },
    ),
    otherNodes: count('Nodes without NodePool; not counted'),
    unknown: Type.Optional(UNKNOWN),
  },
  { description: 'Current cost of nodes by group' },
);

const amounts = (description: string) =>
  Type.Object(
    {
      cpu: Type.Number({ description: 'Thousandths of a CPU' }),
      memory: Type.Number({ description: 'Bytes' }),
    },
    { description },
  );
const planned = (description: string) =>
  Type.Object(
    {
      nodes: count('Nodes, including those without NodePool'),
      usdPerMonth: usd('Cost of 730 hours'),
      unschedulable: count('Pods without a place'),
    },
    { description },
  );

export const EFFICIENCY = Type.Object(
  {
    at: time('When'),
    source: text('Where the use of the pods comes from'),
    by: Type.Enum(['namespace', 'workload', 'label']),
    label: Type.Optional(text('Label by which pods are grouped')),
    groups: Type.Array(
      Type.Object({
        name: text('For a workload: namespace/Kind/name; __none__ are pods without the label'),
        pods: count('Pods'),
        measured: count('Pods with a known use; the use of the others counts as their requests'),
        requested: amounts('Sum of the requests'),
        usedP50: amounts('Median use of the measured pods'),
        usedP95: amounts('95th percentile of the use of the measured pods'),
        right: amounts('Sum of the requests that fit to the use'),
        usdPerMonth: usd('Part of the cost of the nodes for the requests, in 730 hours'),
        idleUsdPerMonth: usd('Part of it for requests beyond the 95th percentile'),
      }),
      { description: 'Highest idle cost first' },
    ),
    now: Type.Object(
      {
        nodes: count('Nodes'),
        usdPerMonth: usd('Cost of 730 hours as AWS bills it'),
        unrequestedUsdPerMonth: usd('Part that no pod requests'),
        unusedUsdPerMonth: usd('Part that pods request and do not use'),
        coveredUsdPerMonth: usd('Prices of instances that commitments cover; not part of the cost'),
        spotShare: Type.Number({ minimum: 0, maximum: 1, description: 'Part of the cost for spot nodes' }),
        otherNodes: Type.Object(
          { nodes: count('Nodes'), usdPerMonth: usd('Cost of 730 hours') },
          { description: 'Nodes without NodePool; part of the cost' },
        ),
        unpriced: count('Nodes with an unknown price; not counted'),
      },
      { description: 'Present cost' },
    ),
    repacked: planned('All pods of NodePools on new nodes, with the present requests'),
    withRightRequests: planned('The same with the requests that fit to the use'),
    unknown: Type.Optional(UNKNOWN),
  },
  { description: 'Requests and use of pods, and the cost with requests that fit' },
);

const spent = {
  usd: usd('Effective cost'),
  listUsd: usd('Cost at the list prices of AWS'),
  idleUsd: usd('Part of the effective cost that no pod requested'),
  daemonSetsUsd: usd('Part of the effective cost for DaemonSet pods'),
  surplusCreditsUsd: usd('Planning figure that the cost excludes: expected surplus CPU credits'),
};
const hours = Type.Number({ description: 'Hours with data; other hours are not counted' });

export const COST_HISTORY = Type.Object(
  {
    per: Type.Enum(['hour', 'day']),
    since: time('Start of the requested period'),
    until: time('End of the requested period'),
    points: Type.Array(Type.Object({ at: time('Start of the hour or day, in UTC'), ...spent, hours }), {
      description: 'Oldest first; periods without data are omitted',
    }),
    nodePools: Type.Array(
      Type.Object({ nodePool: text('__others__ is the sum of NodePools that were not stored separately'), ...spent }),
      { description: 'Most expensive first' },
    ),
    total: Type.Object({ ...spent, hours }),
  },
  { description: 'Past cost of nodes' },
);

const moves = {
  moves: count('Executed commands'),
  nodes: count('Disrupted nodes'),
  pods: count('Moved pods'),
  ended: count('Consolidations with known savings in their first 30 minutes'),
  undone: count('Consolidations whose capacity was launched again'),
  predictedUsdPerHour: usd('Predicted savings per hour'),
  predictedUsd: usd('Predicted savings in the first 30 minutes of consolidations with known savings'),
  realisedUsd: usd('Realised savings of these consolidations'),
};

const fleet = (description: string) =>
  Type.Optional(
    Type.Object(
      { nodes: count('Nodes of all NodePools'), usdPerHour: usd('Their billed price in USD per hour') },
      { description },
    ),
  );

export const LOG = Type.Array(
  Type.Object({
    at: time('Time of the decision'),
    kind: Type.Enum([...LOG_KINDS]),
    cause: text('Reason in snake case, or code of the cause'),
    text: text('Decision and reason in one sentence'),
    nodePools: texts('Affected NodePools'),
    nodeClaims: texts('Affected NodeClaims, at most 20'),
    nodes: texts('Affected Nodes, at most 20'),
    namespaces: texts('Namespaces of the affected pods, at most 20'),
    before: fleet('Nodes before the decision; absent if it changes no node, or if the prices are unknown'),
    after: fleet('Nodes after the decision'),
  }),
  { description: 'Decisions of the operator, oldest first' },
);

const replayed = (description: string) =>
  Type.Object(
    {
      usd: usd('Mean cost of the recorded time'),
      evictions: Type.Number({ description: 'Mean number of evicted pods' }),
      waitingPodHours: Type.Number({ description: 'Mean sum of the waiting times of pods' }),
    },
    { description },
  );

export const REPORT = Type.Object(
  {
    since: time('Start of the requested period'),
    until: time('End of the requested period'),
    firstDecision: Type.Optional(time('First recorded decision in the period')),
    spent: Type.Object({ ...spent, hours }),
    purchases: Type.Object({
      nodes: count('Created NodeClaims'),
      pods: count('Pods for which they were created'),
      replacements: count('NodeClaims that were created as replacements'),
      failed: count('NodeClaims that failed to launch or to register'),
    }),
    moves: Type.Object({ ...moves, byMethod: Type.Array(Type.Object({ method: Type.String(), ...moves })) }),
    deletions: Type.Array(
      Type.Object({
        reason: text('For example expired, unhealthy or garbage_collected'),
        nodes: count('NodeClaims'),
        pods: count('Moved pods'),
      }),
      { description: 'NodeClaims that were deleted for other reasons' },
    ),
    interruptions: Type.Object({
      nodes: count('Nodes with an interrupted instance'),
      pods: count('Pods on these nodes'),
      reasons: Type.Array(Type.Object({ reason: text('For example spot_interrupted'), nodes: count('Number') })),
    }),
    podsDisturbed: count('Pods that moved for any reason'),
    now: Type.Object({
      nodes: count('Nodes with a known price'),
      usdPerHour: usd('Cost of these nodes'),
      idleUsdPerHour: usd('Part of the cost that no pod requests'),
      surplusCreditsUsdPerHour: usd('Planning figure that the cost excludes: expected surplus CPU credits'),
    }),
    wasteful: Type.Array(
      Type.Object({
        node: Type.String(),
        nodeClaim: Type.Optional(Type.String()),
        nodePool: Type.String(),
        instanceType: Type.String(),
        zone: Type.String(),
        capacityType: Type.String(),
        pods: count('Pods on the node'),
        usdPerHour: usd('Cost of the node'),
        idleUsdPerHour: usd('Part of the cost that no pod requests'),
        surplusCreditsUsdPerHour: usd('Planning figure that the cost excludes: expected surplus CPU credits'),
        code: Type.Optional(text('Code of the reason why the node is not disrupted; docs/why-not.md lists the codes')),
        why: Type.Optional(text('Text of the reason')),
        nearestMiss: Type.Optional(text('Missing condition, or time at which it is met')),
      }),
      { description: 'The ten nodes with the highest idle cost now' },
    ),
    savings: Type.Optional(
      Type.Object(
        {
          record: text('File of `karpenter record`'),
          days: Type.Number({ description: 'Length of the record in days' }),
          lives: count('Replays with each set of rules'),
          karpenter: replayed("With Karpenter's rules"),
          operator: replayed("With the operator's defaults"),
          usdPer30Days: usd('Savings for 30 days like those of the record; negative if the operator costs more'),
          interval: Type.Optional(
            Type.Object(
              { low: Type.Number(), high: Type.Number() },
              { description: '95 % confidence interval of these savings' },
            ),
          ),
        },
        { description: "Savings against Karpenter's rules, with --record" },
      ),
    ),
  },
  { description: 'Decisions of the operator, their savings, and idle nodes' },
);
