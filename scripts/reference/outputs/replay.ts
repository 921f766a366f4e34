/** Schema of the result of a replay. */
import { type TSchema, Type } from 'typebox';
import { count, text, texts, time, usd } from './parts.ts';

const share = (description: string) => Type.Number({ minimum: 0, maximum: 1, description });
const amount = (description: string) => Type.Number({ minimum: 0, description });
const column = (description: string) => Type.Array(Type.Number(), { description });
const usdBy = (description: string) => Type.Record(Type.String(), Type.Number(), { description });

const COST = Type.Object({
  instancesUsd: usd('Instances at list and spot prices'),
  extrasUsd: usd('Volumes and public addresses'),
  surplusCreditsUsd: usd('Surplus CPU credits of burstable instances'),
  effectiveUsd: usd('Instances and extras with discounts and commitments of the price book, and surplus CPU credits'),
  byCapacityType: usdBy('USD by capacity type'),
  byNodePool: usdBy('USD by NodePool'),
});

const WAITING = Type.Object(
  {
    pods: count('Bound pods'),
    p50: amount('Maximum waiting time of half of the pods, in seconds'),
    p95: amount('Seconds'),
    p99: amount('Seconds'),
    longest: amount('Seconds'),
    podHours: amount(
      'Sum over all pods in hours; successors that are bound immediately lower percentiles, but not this sum',
    ),
    stillWaiting: count('Pods that were still waiting at the end of the replay; percentiles and the sum include them'),
    upTo: Type.Optional(
      Type.Array(Type.Object({ seconds: Type.Number(), pods: count('Pods that waited at most this long') }), {
        description: 'Distribution, by ascending seconds; it includes pods that were still waiting at the end',
      }),
    ),
  },
  { description: 'Time from the creation of pods until they were bound to a node' },
);

const NODES = Type.Object({
  bought: count('Nodes'),
  givenBack: count('Nodes'),
  most: count('Maximum number of nodes at the same time'),
  average: amount('Average number of nodes'),
  byReason: Type.Record(Type.String(), Type.Integer(), { description: 'Removed nodes by reason' }),
  hoursByType: Type.Record(Type.String(), Type.Number(), { description: 'Hours of nodes by instance type' }),
});

const SERIES = Type.Object(
  {
    stepSeconds: Type.Number({
      exclusiveMinimum: 0,
      description: 'Seconds between two rows; the first row is at the start',
    }),
    usdPerHour: column('Cost of nodes in USD per hour'),
    nodes: column('Nodes'),
    spotNodes: column('Spot nodes'),
    runningPods: column('Running pods'),
    waitingPods: column('Pods waiting for a node'),
    cpuRequested: column('Cores'),
    cpuAllocatable: column('Cores'),
    memoryRequested: column('GiB'),
    memoryAllocatable: column('GiB'),
  },
  { description: 'Columns of equal length' },
);

const NODE_EVENT = Type.Object({
  at: amount('Seconds since the start of the trace'),
  what: Type.Enum(['bought', 'given back', 'interrupted', 'launch failed']),
  nodePool: Type.String(),
  name: text('Name of the NodeClaim'),
  instanceType: Type.String(),
  zone: Type.String(),
  capacityType: Type.String(),
  usdPerHour: usd('USD per hour'),
  reason: Type.Optional(text('Reason for the removal')),
});

const RUN = Type.Object({
  name: text('Name of the set of settings'),
  settings: texts('Settings of the run'),
  life: Type.Optional(count('Number of the life, from 1, if several lives were played')),
  playedSeconds: amount('Replayed seconds of the trace'),
  isComplete: Type.Boolean({
    description: 'False if the replay was stopped; all figures then cover only the time until the stop',
  }),
  cost: COST,
  waiting: WAITING,
  evictions: count('Pods that were evicted before they completed'),
  redone: Type.Object(
    {
      pods: count('Pods'),
      podHours: amount('Hours for which their containers ran'),
      usd: usd('Their share of the price of their nodes'),
    },
    { description: 'Work of Jobs and of pods that end by themselves, lost with the node of the pod' },
  ),
  failedJobs: Type.Object(
    { jobs: count('Jobs'), pods: count('Pods that were to succeed and never did') },
    {
      description: 'Jobs that failed, because more of their pods failed or were evicted than their backoffLimit allows',
    },
  ),
  nodes: NODES,
  interruptions: Type.Object({
    count: count('Interrupted spot instances'),
    survived: count('Interrupted nodes that were drained before the instance was terminated'),
    capacityErrors: count('Launches that failed because capacity was unavailable'),
  }),
  idle: Type.Object(
    { cpu: share('Idle share of CPU'), memory: share('Idle share of memory') },
    { description: 'Share of the resources of nodes that no pod requested, over time' },
  ),
  series: SERIES,
  log: Type.Array(NODE_EVENT, { description: 'Launched and removed nodes, in order' }),
  complaints: Type.Array(
    Type.Object({
      message: Type.String(),
      count: count('Number of messages; one for each affected object'),
      example: Type.String(),
    }),
    {
      description: 'Errors and warnings in the log of the operator, most frequent first',
    },
  ),
  took: Type.Object({
    seconds: amount('Real time in seconds'),
    rssBytes: amount('Highest resident memory of the process'),
  }),
});

/** Schema of an object with a field for each figure that lives are compared by. */
const byFigure = <T extends TSchema>(of: (description: string) => T) => ({
  usd: of('Full cost'),
  evictions: of('Evictions'),
  nodesBought: of('Nodes that were launched'),
  nodesAverage: of('Average number of nodes'),
  waitingP50: of('Median of the waiting times of pods, in seconds'),
  waitingP95: of('95th percentile of the waiting times of pods, in seconds'),
  waitingPodHours: of('Sum of the waiting times over all pods, in hours'),
  redonePodHours: of('Pod-hours of redone work'),
  redoneUsd: of('Cost of redone work'),
  unfinishedPods: of('Pods of failed Jobs that never succeeded'),
});

const DIFFERENCE = (description: string) =>
  Type.Object(
    {
      mean: Type.Number({ description: 'Mean of the differences in the same life' }),
      interval: Type.Optional(
        Type.Object(
          { low: Type.Number(), high: Type.Number() },
          { description: '95 % confidence interval of the mean; missing with fewer than two lives' },
        ),
      ),
      isShown: Type.Boolean({ description: 'False: the interval contains zero, so the lives show no difference' }),
    },
    { description },
  );

const LIVES = Type.Object(
  {
    count: count('Lives that each set was to play'),
    sets: Type.Array(
      Type.Object({
        name: text('Of the set of settings'),
        lives: Type.Array(Type.Object({ life: count('Number of the life, from 1'), ...byFigure(amount) }), {
          description: 'Lives that were played to the end',
        }),
        mean: Type.Optional(Type.Object(byFigure(amount), { description: 'Means of these lives' })),
        difference: Type.Optional(
          Type.Object(
            {
              pairs: count('Lives that both sets finished'),
              first: Type.Object(byFigure(amount), { description: 'Means of the first set over these lives' }),
              of: Type.Object(byFigure(DIFFERENCE), { description: 'Differences from the first set' }),
            },
            { description: 'Missing for the first set' },
          ),
        ),
      }),
      { description: 'In the order of the sets' },
    ),
    failures: Type.Array(
      Type.Object({ set: Type.String(), life: count('Number of the life'), message: Type.String() }),
      {
        description: 'Lives that failed twice',
      },
    ),
    repeated: Type.Array(
      Type.Object({ set: Type.String(), life: count('Number of the life'), message: Type.String() }),
      {
        description: 'Lives that failed and were then played to the end',
      },
    ),
  },
  { description: 'Comparison over several lives; missing if a single life was played' },
);

export const REPLAY = Type.Object(
  {
    trace: Type.Object({
      name: Type.String(),
      start: time('Start of the trace'),
      seconds: amount('Length of the trace'),
      source: Type.Optional(text('Origin of the trace')),
    }),
    world: Type.Object({
      region: Type.String(),
      seed: Type.Number(),
      says: texts('Differences from the default'),
    }),
    runs: Type.Array(RUN, {
      description:
        'In the order of the sets; sets that were not started are missing. If several lives were played: the first life that the set finished',
    }),
    lives: Type.Optional(LIVES),
  },
  { description: 'Results of a trace with one or several sets of settings' },
);
