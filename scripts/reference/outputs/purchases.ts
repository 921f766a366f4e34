/** Schemas of output about planned launches and disruption. */
import { Type } from 'typebox';
import { count, REQUIREMENT, text, texts, time, UNKNOWN, usd } from './parts.ts';

const MISFIT = Type.Object(
  { code: Type.String() },
  {
    additionalProperties: true,
    description: 'Why a NodePool cannot take the pod; its other fields depend on the code',
  },
);

export const SIMULATION = Type.Object(
  {
    nodeClaims: Type.Array(
      Type.Object({
        nodePool: Type.String(),
        pods: texts('namespace/name of the pods that it is for'),
        instanceTypes: texts('All types that can hold the pods, cheapest first'),
        requirements: Type.Array(REQUIREMENT),
        requests: Type.Record(Type.String(), Type.String(), { description: 'Quantities by resource' }),
        cheapest: text('Instance type of the cheapest offering'),
        price: usd('USD per hour of the cheapest offering, by the list price of AWS'),
        effectivePrice: Type.Optional(
          usd('USD per hour that it adds to the bill, by the price book, where it differs'),
        ),
        spotRisk: Type.Optional(
          usd('USD per hour that its interruptions are expected to cost, which counts in choosing and is not paid'),
        ),
        surplusCredits: Type.Optional(usd('Expected price of surplus CPU credits for the requests, in USD per hour')),
      }),
      { description: 'Nodes that would be bought' },
    ),
    existingNodes: Type.Array(Type.Object({ name: Type.String(), pods: Type.Array(Type.String()) }), {
      description: 'Nodes that are there on which pods fit',
    }),
    unschedulable: Type.Record(Type.String(), Type.String(), { description: 'Reasons by namespace/name of the pod' }),
    totalPrice: usd('USD per hour of all new nodes, by the list prices of AWS'),
    effectivePrice: Type.Optional(usd('USD per hour that they add to the bill, by the price book, where it differs')),
    explanations: Type.Optional(
      Type.Record(
        Type.String(),
        Type.Object(
          {
            code: Type.String(),
            text: Type.String(),
            pools: Type.Optional(Type.Array(Type.Object({ nodePool: Type.String(), misfit: MISFIT }))),
          },
          { additionalProperties: true },
        ),
        { description: 'Of --explain: reasons per NodePool by namespace/name of the pod' },
      ),
    ),
    unknown: Type.Optional(UNKNOWN),
  },
  { description: 'Which nodes would be bought for pending pods' },
);

const METHOD_RESULT = {
  method: Type.String(),
  reason: Type.Enum(['Empty', 'Drifted', 'Underutilized']),
  commands: Type.Array(
    Type.Object({
      decision: Type.Enum(['delete', 'replace']),
      candidates: texts('Names of the nodes that go'),
      replacements: Type.Array(
        Type.Object({
          nodePool: Type.String(),
          pods: Type.Array(Type.String()),
          instanceTypes: texts('Cheapest first; none where the NodePool alone decides'),
          requirements: Type.Array(REQUIREMENT),
          capacityTypes: Type.Array(Type.String()),
          cheapest: Type.String(),
          cheapestPrice: usd('USD per hour'),
          spotRisk: Type.Optional(usd('USD per hour that its interruptions are expected to cost, which is not paid')),
          surplusCredits: Type.Optional(usd('Expected price of surplus CPU credits for the requests, in USD per hour')),
        }),
      ),
      savings: usd('USD per hour'),
    }),
  ),
};

export const DISRUPTION = Type.Object(
  {
    first: Type.Union([Type.Object(METHOD_RESULT), Type.Null()], {
      description: "The first method that has a command, in the operator's order",
    }),
    methods: Type.Optional(
      Type.Array(
        Type.Object({
          ...METHOD_RESULT,
          candidates: texts('Names of the nodes that it considers'),
          budgets: Type.Record(Type.String(), Type.Integer(), {
            description: 'How many more nodes may go, by NodePool; 2147483647 stands for no limit',
          }),
        }),
        { description: 'Of --explain: every method on its own' },
      ),
    ),
    unknown: Type.Optional(UNKNOWN),
  },
  { description: 'Which nodes would be given back or replaced' },
);

export const POD_VERDICT = Type.Object(
  {
    pod: text('namespace/name'),
    code: Type.Enum(['running', 'held', 'not-held', 'waiting', 'fits', 'bought', 'unschedulable', 'unknown']),
    text: text('The same in words'),
    since: Type.Optional(time('Since when it is held')),
    until: Type.Optional(time('Until when it is held')),
    nodePools: Type.Optional(
      Type.Array(Type.Object({ nodePool: Type.String(), code: Type.String(), text: Type.String() }), {
        description: 'What each NodePool has against it, in the order in which they were tried',
      }),
    ),
    unknown: Type.Optional(UNKNOWN),
  },
  { description: 'Which node a pod would get, and if none, why not' },
);

export const OFFERINGS = Type.Array(
  Type.Object({
    nodePool: Type.String(),
    nodeClass: Type.String(),
    available: count('Offerings that the NodePool allows and that can be bought, or could if it were Ready'),
    out: Type.Array(
      Type.Object({
        instanceType: Type.String(),
        zone: Type.String(),
        capacityType: Type.String(),
        code: text('Why it is out'),
        reason: Type.Optional(text("AWS's own word for it")),
        until: Type.Optional(time('When it counts as available again; absent when nobody knows')),
        reservation: Type.Optional(text('Id of the capacity reservation')),
      }),
    ),
    minValuesMissed: Type.Optional(texts('Keys whose minValues the types that can be bought do not reach')),
    spotRisk: Type.Optional(
      Type.Array(
        Type.Object({
          instanceType: Type.String(),
          zone: Type.String(),
          interruptions: Type.Number({ description: 'Those that are remembered; older ones count less' }),
          capacityErrors: Type.Number({ description: 'Launches for which there was no capacity, likewise' }),
          instanceHours: Type.Number({ description: 'How long instances ran there, likewise' }),
          interruptionsPerHour: Type.Number({ description: 'Expected of one instance' }),
          addedPart: Type.Number({ description: 'Part of its price that is added when prices are compared' }),
        }),
        { description: 'Spot pools that were interrupted or out of capacity of late, the most dangerous first' },
      ),
    ),
    problem: Type.Optional(text('Why the offerings are not known')),
    notReady: Type.Optional(text('Why the NodePool buys nothing at all')),
  }),
  { description: 'Offerings that NodePools allow and that cannot be bought now' },
);

export const FINDINGS = Type.Array(
  Type.Object({
    level: Type.Enum(['ok', 'warning', 'error']),
    subject: text('The thing that was looked at'),
    message: Type.String(),
    fix: Type.Optional(text('What to do about it')),
    unasked: Type.Optional(Type.Literal(true, { description: 'It could not be looked up: nothing is known of it' })),
  }),
  { description: 'What was found in an account and a cluster' },
);
