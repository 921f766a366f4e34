/** Schemas of output about planned launches and disruption. */
import { Type } from 'typebox';
import { POD_CAUSES, POD_VERDICTS } from '#engine/testing';
import { EFFECT } from './nodes.ts';
import { count, REQUIREMENT, text, texts, time, UNKNOWN, usd, WORTH } from './parts.ts';

const MISFIT = Type.Object(
  { code: Type.String() },
  {
    additionalProperties: true,
    description: 'Reason why a NodePool cannot launch a node for the pod; other fields depend on the code',
  },
);

const CAUSE = Type.Object(
  {
    code: Type.Enum(POD_CAUSES),
    object: Type.Object({
      kind: Type.Enum(['NodePool', 'EC2NodeClass', 'Pod', 'NodePolicy', 'CapacityQuota']),
      name: Type.String(),
    }),
    field: text('Label, resource, taint or path of the field that decides'),
    wanted: text('Value that the pod needs'),
    offered: text('Value that the object has'),
    gang: Type.Optional(
      Type.Object(
        {
          name: Type.String(),
          minimum: count('Minimum number of pods of the gang'),
          room: count('Number of its pods that run or have room'),
        },
        { description: 'Gang of the pod for which there is not enough room' },
      ),
    ),
    remedy: text('Change that lets the pod fit'),
    change: Type.Optional(
      Type.Object(
        {
          of: Type.Enum(['NodePool', 'Pod']),
          fields: texts('Labels of requirements, or paths of fields'),
          values: texts('Values or labels to allow or to use instead; empty if the fields should not be restricted'),
        },
        { description: 'The remedy as data, if it changes requirements or limits' },
      ),
    ),
    remark: Type.Optional(
      text('Result of a solve with the remedy; absent if the remedy places the pod, or was not checked'),
    ),
    nextAttempt: Type.Optional(time('Time at which the first of the offerings is tried again')),
  },
  { description: 'Cause in the NodePool that the pod is meant for' },
);

const BILLED =
  'USD per hour of the node as AWS bills it: instance with the price book, volumes and public IPv4 address';

const PLANNING = Type.Object(
  {
    fee: Type.Optional(usd('Fee of the node')),
    spotRisk: Type.Optional(usd('Expected cost of interruptions')),
    surplusCredits: Type.Optional(usd('Expected price of surplus CPU credits for the requests')),
  },
  { description: 'Planning figures in USD per hour, which decisions add to the price; figures of 0 are absent' },
);

export const SIMULATION = Type.Object(
  {
    nodeClaims: Type.Array(
      Type.Object({
        nodePool: Type.String(),
        pods: texts('namespace/name of the pods of the node'),
        instanceTypes: texts('All instance types on which the pods fit, cheapest first'),
        requirements: Type.Array(REQUIREMENT),
        requests: Type.Record(Type.String(), Type.String(), { description: 'Quantities by resource' }),
        cheapest: text('Instance type of the cheapest offering'),
        price: usd('USD per hour of the cheapest offering, at the list price of AWS'),
        billedPrice: usd(BILLED),
        planning: Type.Optional(PLANNING),
      }),
      { description: 'Nodes that would be launched' },
    ),
    existingNodes: Type.Array(Type.Object({ name: Type.String(), pods: Type.Array(Type.String()) }), {
      description: 'Existing nodes on which pods fit',
    }),
    unschedulable: Type.Record(Type.String(), Type.String(), { description: 'Reasons by namespace/name of the pod' }),
    waiting: Type.Optional(
      Type.Record(Type.String(), Type.String(), {
        description: 'Pending pods for which no node is launched now, with the reason, by namespace/name of the pod',
      }),
    ),
    causes: Type.Optional(
      Type.Record(Type.String(), CAUSE, { description: 'Cause by namespace/name of a pod that no NodePool can serve' }),
    ),
    zones: Type.Optional(text('Zones that the balance of zones chose, with the extra price; absent if it chose none')),
    preferences: Type.Optional(
      Type.Array(
        Type.Object({
          pods: texts('Equal pods, as namespace/name'),
          preferences: texts('Preferences of each of the pods'),
          satisfied: count('Satisfied preferences of the pods'),
          wanted: count('Preferences of the pods'),
          addedUsdPerHour: Type.Optional(
            usd(
              'USD per hour that the preferences add: in this plan if all are satisfied, otherwise in a plan with all',
            ),
          ),
          worthUsdPerHour: Type.Optional(usd('Worth of the preferences that the same plan satisfies in addition')),
          invalidWorth: Type.Optional(
            text('Error in the annotation karpenter-ts.sh/preference-worth of the first pod with one'),
          ),
        }),
        { description: 'Decisions on preferences with a price; absent if there are none' },
      ),
    ),
    spot: Type.Optional(
      Type.Array(
        Type.Object({
          nodePool: Type.String(),
          policy: text('NodePolicy that sets the section spot'),
          maxPrice: Type.Optional(usd('Maximum price of spot offerings, as a part of the on-demand price')),
          offerings: Type.Optional(count('Spot offerings that are available or above the maximum price')),
          aboveMaxPrice: Type.Optional(count('Spot offerings above the maximum price')),
          consolidationTypes: Type.Optional(count('Instance types of a spot node that replaces a spot node')),
          share: Type.Optional(usd('Maximum share of the replicas of a workload on spot nodes')),
          onDemandAfterMs: Type.Optional(count('Milliseconds for which pods wait for spot capacity')),
        }),
        { description: 'Use of spot capacity by NodePools with a policy; absent if there are none' },
      ),
    ),
    spotRules: Type.Optional(
      Type.Array(
        Type.Object({
          code: Type.Enum(['share', 'wait']),
          workload: text('namespace/Kind/name'),
          policy: text('NodePolicy'),
          pods: texts('Pods that must not run on spot nodes (share), or that wait for spot capacity (wait)'),
          share: Type.Optional(usd('Maximum share of the replicas on spot nodes')),
          replicas: Type.Optional(count('Replicas with the same controller, including pods to place')),
          most: Type.Optional(count('Maximum number of replicas on spot nodes')),
          onSpot: Type.Optional(count('Replicas that stay on spot nodes')),
          until: Type.Optional(time('End of the wait')),
        }),
        { description: 'Rules for spot that were in force; absent if there were none' },
      ),
    ),
    totalPrice: usd('USD per hour of the offerings of all new nodes, at the list prices of AWS'),
    totalBilledPrice: usd('USD per hour of all new nodes as AWS bills them'),
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
        { description: 'With --explain: reasons for each NodePool by namespace/name of the pod' },
      ),
    ),
    effect: Type.Optional(EFFECT),
    unknown: Type.Optional(UNKNOWN),
  },
  { description: 'Nodes that would be launched for pending pods' },
);

const METHOD_RESULT = {
  method: Type.String(),
  reason: Type.Enum(['Empty', 'Drifted', 'Underutilized']),
  commands: Type.Array(
    Type.Object({
      decision: Type.Enum(['delete', 'replace']),
      candidates: texts('Names of the disrupted nodes'),
      replacements: Type.Array(
        Type.Object({
          nodePool: Type.String(),
          pods: Type.Array(Type.String()),
          instanceTypes: texts('Cheapest first; empty if only the NodePool is known'),
          requirements: Type.Array(REQUIREMENT),
          capacityTypes: Type.Array(Type.String()),
          cheapest: Type.String(),
          cheapestPrice: usd('USD per hour of the cheapest offering'),
          billedPrice: usd(BILLED),
          planning: Type.Optional(PLANNING),
        }),
      ),
      savings: usd('Savings on the bill in USD per hour; negative if only planning figures justify the command'),
      planningSavings: Type.Optional(usd('Savings with planning figures, which decide, if they differ')),
      worth: WORTH,
    }),
  ),
};

const SUM = Type.Object({
  nodes: count('Nodes of NodePools'),
  billedPrice: usd('Price of the nodes in USD per hour, as AWS bills it'),
});

export const DISRUPTION = Type.Object(
  {
    first: Type.Union([Type.Object(METHOD_RESULT), Type.Null()], {
      description: 'First method with a command, in the order of execution',
    }),
    methods: Type.Optional(
      Type.Array(
        Type.Object({
          ...METHOD_RESULT,
          candidates: texts('Names of the considered nodes'),
          budgets: Type.Record(Type.String(), Type.Integer(), {
            description: 'Number of further nodes that can be disrupted, by NodePool; 2147483647 means no limit',
          }),
        }),
        { description: 'With --explain: results of each method' },
      ),
    ),
    end: Type.Optional(
      Type.Object(
        {
          before: SUM,
          after: SUM,
          steps: Type.Array(
            Type.Object({
              method: Type.String(),
              decision: Type.Enum(['delete', 'replace']),
              candidates: texts('Names of the disrupted nodes; nodes of earlier steps are new-1, new-2 and so on'),
              replacements: count('Launched nodes'),
              savings: usd('Savings on the bill in USD per hour'),
              planningSavings: Type.Optional(usd('Savings with planning figures, if they differ')),
            }),
            { description: 'All commands, in order' },
          ),
          complete: Type.Boolean({ description: 'False if further commands follow because a limit was reached' }),
        },
        { description: 'State after all commands; absent if there are none' },
      ),
    ),
    unknown: Type.Optional(UNKNOWN),
  },
  { description: 'Nodes that would be disrupted' },
);

const ONE_POD_VERDICT = Type.Object(
  {
    pod: text('namespace/name'),
    code: Type.Enum(POD_VERDICTS),
    text: text('Text of the verdict'),
    cause: Type.Optional(CAUSE),
    preferences: Type.Optional(text('Decision on the preferences of the pod; absent if they have no price')),
    spot: Type.Optional(
      text('Rule of a NodePolicy that keeps the pod off spot nodes, or lets it wait for spot capacity'),
    ),
    since: Type.Optional(time('Time since when the pod is held back')),
    until: Type.Optional(time('Time until which the pod is held back')),
    nextAttempt: Type.Optional(time('Time of the next attempt to launch a node, if the last one failed')),
    decided: Type.Optional(time("Time of the operator's decision")),
    event: Type.Optional(text('Last event of the operator about the pod, if it cannot be reached')),
    proof: Type.Optional(
      Type.Object(
        {
          steps: Type.Array(Type.Object({ cause: CAUSE, change: text('Applied change') }), {
            description: 'Remedies that were applied one after the other',
          }),
          place: Type.Optional(
            Type.Object({
              node: Type.Optional(text('Existing node')),
              nodePool: Type.Optional(text('NodePool of a new node')),
              instanceType: Type.Optional(text('Cheapest instance type of the new node')),
            }),
          ),
          remaining: Type.Optional(CAUSE),
          problem: Type.Optional(text('Reason for which the check ended without a place')),
        },
        { description: 'With --check-remedy: solves with the remedy applied' },
      ),
    ),
    nodePools: Type.Optional(
      Type.Array(Type.Object({ nodePool: Type.String(), code: Type.String(), text: Type.String() }), {
        description: 'Reasons of each NodePool, in the order in which they were tried',
      }),
    ),
    unknown: Type.Optional(UNKNOWN),
  },
  { description: 'Node on which a pod would be scheduled, or the reason why it stays pending' },
);

export const POD_VERDICT = Type.Union([Type.Array(ONE_POD_VERDICT), ONE_POD_VERDICT], {
  description: 'All pending pods, or the pod of the argument',
});

const NODE_PRICE = 'USD per hour of a node with the offering, as AWS bills it without commitments';
const SPOT_RISK = usd('Planning figure that the price excludes: expected cost of interruptions');

const OFFERING = { instanceType: Type.String(), zone: Type.String(), capacityType: Type.String() };

export const NODECLAIM = Type.Object(
  {
    nodeClaim: Type.String(),
    nodePool: Type.String(),
    node: Type.Optional(Type.String()),
    instance: Type.Optional(text('ID of the instance')),
    pods: texts('Pods on the node, and pending pods for which it was launched'),
    requests: Type.Record(Type.String(), Type.Union([Type.String(), Type.Number()]), {
      description: 'Requests for which the NodeClaim was created',
    }),
    launched: Type.Optional(
      Type.Object({
        ...OFFERING,
        usdPerHour: Type.Optional(usd(NODE_PRICE)),
        spotRiskUsdPerHour: Type.Optional(SPOT_RISK),
      }),
    ),
    zone: Type.Optional(text('Choice of the zone, if the balance of zones made it')),
    preferences: Type.Optional(text('Decision on the preferences of pods, with price and worth')),
    capacityType: Type.Optional(text('Reason for the capacity type')),
    alternatives: Type.Array(
      Type.Object({
        ...OFFERING,
        usdPerHour: usd(NODE_PRICE),
        spotRiskUsdPerHour: Type.Optional(SPOT_RISK),
        code: Type.Enum(['sold-out', 'spot-price', 'not-requested', 'capacity-type', 'cloud', 'price']),
        text: text('Reason why the offering was not chosen'),
      }),
      { description: 'Cheapest offerings within the requirements and with enough room for the requests' },
    ),
    excluded: Type.Array(
      Type.Object({
        code: Type.Enum(['nodepool', 'pods']),
        text: text('Requirement that excludes the offerings'),
        offerings: count('Offerings with enough room that this requirement excludes'),
        cheapest: Type.Object({
          ...OFFERING,
          usdPerHour: usd(NODE_PRICE),
          spotRiskUsdPerHour: Type.Optional(SPOT_RISK),
        }),
      }),
      { description: 'Offerings that requirements exclude; the group with the cheapest offering first' },
    ),
    answer: Type.Optional(
      Type.Object(
        {
          requestedTypes: count('Instance types in the request'),
          capacityType: Type.String(),
          launched: Type.Optional(Type.Object({ id: Type.String(), instanceType: Type.String(), zone: Type.String() })),
          errors: Type.Array(Type.Object({ instanceType: Type.String(), zone: Type.String(), text: Type.String() })),
        },
        { description: 'Response of EC2, unless the operator was restarted since the launch' },
      ),
    ),
    join: Type.Optional(
      Type.Object(
        {
          stage: Type.Enum(['launching', 'registering', 'initializing']),
          text: Type.String(),
          since: time('Start of the stage'),
          deadline: Type.Optional(time('Time at which the NodeClaim is deleted')),
          nextAttempt: Type.Optional(time('Time of the next attempt to launch, if the last one failed')),
          elapsedMs: count('Milliseconds since the start'),
          checks: Type.Array(
            Type.Object({
              code: Type.Enum(['user-data', 'role', 'security-group', 'route', 'ami']),
              text: text('Probable cause'),
              command: text('Command that checks it'),
            }),
          ),
        },
        { description: 'Progress before the node is initialized' },
      ),
    ),
    unknown: Type.Optional(UNKNOWN),
  },
  { description: 'Reasons for the launch of a NodeClaim, and its progress' },
);

export const OFFERINGS = Type.Array(
  Type.Object({
    nodePool: Type.String(),
    nodeClass: Type.String(),
    available: count('Available offerings that the NodePool allows, even if it is not Ready'),
    out: Type.Array(
      Type.Object({
        instanceType: Type.String(),
        zone: Type.String(),
        capacityType: Type.String(),
        code: text('Reason why the offering is unavailable'),
        reason: Type.Optional(text('Error code of AWS')),
        until: Type.Optional(time('Time at which it is available again; absent if unknown')),
        reservation: Type.Optional(text('ID of the capacity reservation')),
      }),
    ),
    minValuesMissed: Type.Optional(texts('Keys with minValues that available instance types do not satisfy')),
    spotRisk: Type.Optional(
      Type.Array(
        Type.Object({
          instanceType: Type.String(),
          zone: Type.String(),
          interruptions: Type.Number({ description: 'Stored interruptions; older interruptions have less weight' }),
          capacityErrors: Type.Number({ description: 'Stored launches without capacity, with the same weights' }),
          instanceHours: Type.Number({ description: 'Hours of running instances, with the same weights' }),
          interruptionsPerHour: Type.Number({ description: 'Expected number for one instance' }),
          addedPart: Type.Number({ description: 'Part of the price that is added in price comparisons' }),
        }),
        { description: 'Spot pools with recent interruptions or capacity errors, highest risk first' },
      ),
    ),
    problem: Type.Optional(text('Reason why the offerings are unknown')),
    notReady: Type.Optional(text('Reason why the NodePool launches no nodes')),
  }),
  { description: 'Unavailable offerings that NodePools allow' },
);

export const FINDINGS = Type.Array(
  Type.Object({
    level: Type.Enum(['ok', 'warning', 'error']),
    subject: text('Checked object'),
    message: Type.String(),
    fix: Type.Optional(text('Remedy')),
    unasked: Type.Optional(Type.Literal(true, { description: 'The check was not possible, so the state is unknown' })),
  }),
  { description: 'Findings in an account and a cluster' },
);

export const PROVISIONING_REQUEST = Type.Object(
  {
    request: text('namespace/name of the ProvisioningRequest'),
    class: text('spec.provisioningClassName'),
    phase: Type.Enum(['open', 'booked', 'ended', 'ignored'], {
      description: 'Waits for capacity, holds it, has ended, or is for another product',
    }),
    pods: count('Pods of all pod sets'),
    text: text('Reason for the phase, or why the capacity is not found'),
    room: Type.Optional(
      Type.Object(
        {
          existing: count('Pods with room on initialized nodes'),
          joining: count('Pods with room on nodes that are not initialized'),
          new: count('Pods for which nodes are launched'),
          refused: count('Pods without room'),
        },
        { description: 'Room of the pods now; absent if no capacity is searched for or held' },
      ),
    ),
    conditions: Type.Array(
      Type.Object({
        type: Type.String(),
        status: Type.String(),
        text: text('Reason, transition time and message'),
      }),
    ),
    next: Type.Optional(time('End of the search or of the booking, or time of the deletion')),
    unknown: Type.Optional(UNKNOWN),
  },
  { description: 'State of a ProvisioningRequest' },
);
