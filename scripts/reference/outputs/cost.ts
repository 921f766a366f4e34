/** Schemas of output about costs. */
import { Type } from 'typebox';
import { count, text, time, UNKNOWN, usd } from './parts.ts';

const sums = {
  nodes: count('0 where pods are grouped, which share nodes'),
  pods: count('Pods that run, those of DaemonSets included'),
  usdPerHour: usd(
    'What is paid: instances less what commitments cover, surplus CPU credits, volumes, public addresses and fees',
  ),
  listUsdPerHour: usd("The same at AWS's list prices, as if nothing were covered"),
  workloadsUsdPerHour: usd('Of what is paid: for pods that are not of DaemonSets'),
  daemonSetsUsdPerHour: usd('Of what is paid: for pods of DaemonSets'),
  idleUsdPerHour: usd('Of what is paid: for what no pod requests'),
  surplusCreditsUsdPerHour: usd('Of what is paid: for surplus CPU credits; workloads, DaemonSets and idle contain it'),
  usdPerMonth: usd('What is paid in 730 hours at this rate'),
};

export const COST = Type.Object(
  {
    at: time('When'),
    by: Type.Enum(['nodepool', 'zone', 'capacity-type', 'instance-type', 'namespace', 'workload']),
    total: Type.Object(sums),
    price: Type.Object(
      {
        instancesUsdPerHour: usd('Instances at their own prices, discounts included'),
        surplusCreditsUsdPerHour: usd('Expected surplus CPU credits of burstable instance types'),
        volumesUsdPerHour: usd('Volumes of the nodes'),
        publicIpv4UsdPerHour: usd('Public IPv4 addresses of the nodes'),
        feesUsdPerHour: usd('The fee for each node'),
        coveredUsdPerHour: usd('What Savings Plans and reserved instances cover of the instances'),
      },
      { description: 'What the total is made of: the first five less the last' },
    ),
    groups: Type.Array(
      Type.Object({
        name: text('Of a workload: namespace/Kind/name; __idle__ is what is idle where pods are grouped'),
        ...sums,
      }),
      { description: 'Dearest first; together exactly the total' },
    ),
    unpriced: Type.Object(
      { nodes: count('How many'), names: Type.Array(Type.String(), { description: 'Twenty of them at most' }) },
      { description: 'Nodes of NodePools whose price nobody knows; they count nothing' },
    ),
    otherNodes: count('Nodes of no NodePool, which count nothing'),
    unknown: Type.Optional(UNKNOWN),
  },
  { description: 'What the nodes cost now, and who it is spent on' },
);

const spent = {
  usd: usd('What was paid'),
  listUsd: usd("The same at AWS's list prices"),
  idleUsd: usd('Of what was paid: for what no pod requested'),
  daemonSetsUsd: usd('Of what was paid: for pods of DaemonSets'),
  surplusCreditsUsd: usd('Of what was paid: for surplus CPU credits'),
};
const hours = Type.Number({ description: 'Hours of which something is known; the others count nothing' });

export const COST_HISTORY = Type.Object(
  {
    per: Type.Enum(['hour', 'day']),
    since: time('Begin of the time that was asked for'),
    until: time('Its end'),
    points: Type.Array(Type.Object({ at: time('Begin of the hour or day, in UTC'), ...spent, hours }), {
      description: 'Oldest first; what nothing is known of is left out',
    }),
    nodePools: Type.Array(
      Type.Object({ nodePool: text('__others__ are those that an hour did not keep apart'), ...spent }),
      { description: 'Dearest first' },
    ),
    total: Type.Object({ ...spent, hours }),
  },
  { description: 'What was spent' },
);

const moves = {
  moves: count('Commands that were carried out'),
  nodes: count('Nodes that they took'),
  pods: count('Pods that had to move'),
  ended: count('Consolidations of which it is known what their first 30 minutes brought'),
  undone: count('Of these, those whose capacity was bought again'),
  predictedUsdPerHour: usd('What the nodes cost less from then on, by the prediction'),
  predictedUsd: usd('The same for the first 30 minutes of those that have ended'),
  realisedUsd: usd('What these brought'),
};

export const REPORT = Type.Object(
  {
    since: time('Begin of the time that was asked for'),
    until: time('Its end'),
    firstDecision: Type.Optional(time('The first decision of that time that is known')),
    spent: Type.Object({ ...spent, hours }),
    purchases: Type.Object({
      nodes: count('NodeClaims that were created'),
      pods: count('Pods that they were made for'),
      replacements: count('Of the NodeClaims: in place of other nodes'),
      failed: count('Of the NodeClaims: without an instance, or with one that never joined'),
    }),
    moves: Type.Object({ ...moves, byMethod: Type.Array(Type.Object({ method: Type.String(), ...moves })) }),
    deletions: Type.Array(
      Type.Object({
        reason: text('Such as expired, unhealthy or garbage_collected'),
        nodes: count('NodeClaims'),
        pods: count('Pods that had to move'),
      }),
      { description: 'NodeClaims that were deleted for reasons of their own' },
    ),
    interruptions: Type.Object({
      nodes: count('Nodes whose instance AWS took'),
      pods: count('Pods on them'),
      reasons: Type.Array(Type.Object({ reason: text('Such as spot_interrupted'), nodes: count('How many') })),
    }),
    podsDisturbed: count('Pods that moved for any reason'),
    now: Type.Object({
      nodes: count('Nodes whose price is known'),
      usdPerHour: usd('What they cost'),
      idleUsdPerHour: usd('Of that, what no pod requests'),
      surplusCreditsUsdPerHour: usd('Of that, surplus CPU credits'),
    }),
    wasteful: Type.Array(
      Type.Object({
        node: Type.String(),
        nodeClaim: Type.Optional(Type.String()),
        nodePool: Type.String(),
        instanceType: Type.String(),
        zone: Type.String(),
        capacityType: Type.String(),
        pods: count('Pods on it'),
        usdPerHour: usd('What it costs'),
        idleUsdPerHour: usd('Of that, what no pod requests'),
        surplusCreditsUsdPerHour: usd('Of that, surplus CPU credits'),
        code: Type.Optional(text('Why it stays, as docs/why-not.md lists the codes')),
        why: Type.Optional(text('The same in words')),
        nearestMiss: Type.Optional(text('What is missing, or from when on it will do')),
      }),
      { description: 'Ten nodes with the most idle cost now' },
    ),
  },
  { description: 'What the operator did, what it saved, and which nodes are idle' },
);
