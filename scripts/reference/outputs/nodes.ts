/** Schemas of output about existing nodes. */
import { Type } from 'typebox';
import { count, OBJECT_NAME, text, texts, time, UNKNOWN, usd } from './parts.ts';

const reason = {
  code: text('Why, as docs/why-not.md lists the codes'),
  text: text('The reason in words'),
  object: Type.Optional(OBJECT_NAME),
  nearestMiss: Type.Optional(text('What is missing, or from when on it will do')),
};

const VERDICT = Type.Object(
  {
    node: text('Name of the Node, or of the NodeClaim while there is no Node'),
    nodeClaim: Type.Optional(Type.String()),
    nodePool: Type.Optional(Type.String()),
    ...reason,
    command: Type.Optional(
      Type.Object(
        {
          method: Type.String(),
          decision: Type.Enum(['delete', 'replace']),
          nodes: texts('Nodes that it takes'),
          savings: usd('USD per hour that the whole command saves'),
        },
        { description: 'The command that takes the node, or would' },
      ),
    ),
    methods: Type.Array(Type.Object({ method: Type.String(), ...reason }), {
      description: 'What every enabled method says, in the order in which they run',
    }),
    unknown: Type.Optional(UNKNOWN),
  },
  { description: 'Whether a node would be given back or replaced, and if not, why not' },
);

export const VERDICTS = Type.Union([Type.Array(VERDICT), VERDICT], {
  description: 'A list of all nodes, or the one that was named',
});

const BLOCKER = Type.Object({
  code: text('What kind of thing it is'),
  text: text('The same in words'),
  object: Type.Optional(OBJECT_NAME),
  pods: Type.Optional(texts('namespace/name of the pods of the node that it is about')),
  healthy: Type.Optional(
    Type.Object(
      { current: Type.Integer(), desired: Type.Integer(), allowed: Type.Integer() },
      { description: 'Of a PodDisruptionBudget: healthy pods, how many there must be, and how many may go now' },
    ),
  ),
  since: Type.Optional(time('Since when')),
  until: Type.Optional(time('When it ends by itself')),
});

export const BLOCKERS = Type.Array(
  Type.Object({
    node: text('Name of the Node, or of the NodeClaim while there is no Node'),
    nodeClaim: Type.Optional(Type.String()),
    nodePool: Type.Optional(Type.String()),
    waitsFor: Type.Enum(['drain', 'drift', 'consolidation', 'nothing'], {
      description: 'What would happen to the node; nothing: nobody wants to take it',
    }),
    since: Type.Optional(time('Since when it waits; absent when nobody knows')),
    usdPerHour: Type.Optional(usd('What the node costs; absent when its price is not known')),
    usdSoFar: Type.Optional(usd('What it has cost since then')),
    terminationGracePeriod: Type.Optional(text('How long a drain lasts at most, as the NodeClaim says it')),
    endsAt: Type.Optional(time('When what is left on a node that is being drained is deleted')),
    blockers: Type.Array(BLOCKER),
  }),
  { description: 'Nodes with something in the way of their drain or disruption; drains first' },
);

const REASON = Type.Enum(['Empty', 'Drifted', 'Underutilized']);

export const BUDGET_CALENDAR = Type.Object(
  {
    from: time('Begin of the calendar'),
    until: time('End of the calendar'),
    nodePools: Type.Array(
      Type.Object({
        nodePool: Type.String(),
        nodes: count('Nodes that the shares of budgets are computed of'),
        disrupting: count('Of these, nodes that are away already, whatever the reason'),
        reasons: Type.Array(
          Type.Object({
            reason: REASON,
            spans: Type.Array(
              Type.Object({
                from: time('Begin'),
                until: Type.Optional(time('End; absent where nothing changes up to the end of the calendar')),
                allowed: Type.Union([Type.Integer({ minimum: 0 }), Type.Literal('unlimited')], {
                  description: 'How many nodes may be away at a time',
                }),
              }),
            ),
            nextOpening: Type.Optional(time('When a node may go again, where none may now')),
          }),
        ),
        warnings: Type.Array(
          Type.Object({
            code: Type.Enum(['unreadable', 'never-opens', 'always-zero', 'never-in-force', 'too-many-hits']),
            text: Type.String(),
            budget: Type.Optional(count("Position among the NodePool's budgets")),
          }),
        ),
      }),
    ),
  },
  { description: "How many nodes the NodePools' budgets let go, from when to when" },
);

export const MOVES = Type.Array(
  Type.Object({
    id: Type.String(),
    command: text('What was done'),
    method: Type.String(),
    decision: Type.String(),
    state: Type.Enum(['watched', 'kept', 'undone']),
    startedAt: time('When it was decided'),
    endsAt: time('Until when it is watched, and up to when its savings count'),
    nodePools: Type.Array(Type.String()),
    workloads: texts('namespace/kind/name of what had pods on the nodes'),
    undoneBefore: count('How often such a move was undone before'),
    undone: Type.Optional(Type.Object({ at: time('When'), because: Type.String(), nodeClaim: Type.String() })),
    dearerUntil: Type.Optional(time('Until when a repetition has to be worth more')),
    predictedUsdPerHour: usd('What the nodes cost less from then on'),
    predictedUsd: usd('The same up to endsAt'),
    realisedUsd: usd('What it saved up to now, or up to endsAt'),
  }),
  { description: 'What was consolidated, latest first' },
);
