/** Schemas of output about migrations and snapshots. */
import { Type } from 'typebox';
import { count, text, texts } from './parts.ts';

const STATES = ['ok', 'todo', 'blocked', 'unknown'] as const;

export const MIGRATE_STATUS = Type.Object(
  {
    stage: Type.Union([Type.Enum(['alpha', 'both', 'beta', 'conversion', 'v1']), Type.Null()], {
      description: 'What the APIs of the version that runs are of; null where none runs, or it is not known',
    }),
    controllers: Type.Array(
      Type.Object({ name: text('namespace/name'), version: Type.String(), isKarpenter: Type.Boolean() }),
      { description: 'Karpenter, and this operator' },
    ),
    items: Type.Array(
      Type.Object({
        area: Type.Enum(['installation', 'kinds', 'objects', 'nodes', 'workloads', 'account']),
        state: Type.Enum([...STATES]),
        subject: text('The thing that was looked at'),
        message: Type.String(),
        next: Type.Optional(text('The command to type, or what to do; absent when all is well')),
      }),
    ),
    counts: Type.Object({ ok: count('Items'), todo: count('Items'), blocked: count('Items'), unknown: count('Items') }),
    next: Type.Union([Type.String(), Type.Null()], { description: 'What to do first; null when nothing is left' }),
  },
  { description: 'Where a cluster is on its way from older versions or other autoscalers' },
);

export const MIGRATE_PLAN = Type.Object(
  {
    from: Type.Enum(['cluster-autoscaler', 'managed-node-groups', 'karpenter-alpha', 'karpenter']),
    guessed: Type.Union([Type.String(), Type.Null()], { description: 'Why that, when nobody has said it' }),
    cluster: text('Its name, or $CLUSTER_NAME'),
    open: texts('What the reader has to fill in'),
    steps: Type.Array(
      Type.Object({
        title: Type.String(),
        text: texts('Sentences: what it does, and what to know before'),
        warnings: Type.Optional(texts('What would go wrong, and cannot be taken back')),
        commands: texts('To type, in order'),
        check: texts('What to look at before the next step'),
        back: Type.Optional(texts('How to undo it')),
      }),
    ),
  },
  { description: 'The runbook of a migration' },
);

export const SNAPSHOT = Type.Object(
  {
    apiVersion: Type.Literal('v1'),
    kind: Type.Literal('List'),
    metadata: Type.Object({ resourceVersion: Type.String() }),
    items: Type.Array(Type.Object({}, { additionalProperties: true }), {
      description: 'Objects of the cluster; the last one, of kind SnapshotInfo, says what could not be read',
    }),
  },
  { description: 'The objects of a cluster' },
);
