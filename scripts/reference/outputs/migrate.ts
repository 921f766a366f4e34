/** Schemas of output about migrations and snapshots. */
import { Type } from 'typebox';
import { count, text, texts } from './parts.ts';

const STATES = ['ok', 'todo', 'blocked', 'unknown'] as const;

export const MIGRATE_STATUS = Type.Object(
  {
    stage: Type.Union([Type.Enum(['alpha', 'both', 'beta', 'conversion', 'v1']), Type.Null()], {
      description: 'Stage of the APIs of the running version; null if no version is running or it is unknown',
    }),
    controllers: Type.Array(
      Type.Object({ name: text('namespace/name'), version: Type.String(), isKarpenter: Type.Boolean() }),
      { description: 'Running controllers: Karpenter and this operator' },
    ),
    items: Type.Array(
      Type.Object({
        area: Type.Enum(['installation', 'kinds', 'objects', 'nodes', 'workloads', 'account']),
        state: Type.Enum([...STATES]),
        subject: text('Checked object'),
        message: Type.String(),
        next: Type.Optional(text('Next command or action; absent if the state is ok')),
      }),
    ),
    counts: Type.Object({ ok: count('Items'), todo: count('Items'), blocked: count('Items'), unknown: count('Items') }),
    next: Type.Union([Type.String(), Type.Null()], { description: 'First action; null if the migration is complete' }),
  },
  { description: 'Status of a migration from older versions or other autoscalers' },
);

export const MIGRATE_PLAN = Type.Object(
  {
    from: Type.Enum(['cluster-autoscaler', 'managed-node-groups', 'karpenter-alpha', 'karpenter']),
    guessed: Type.Union([Type.String(), Type.Null()], {
      description: 'Reason for the detected source; null if --from is set',
    }),
    cluster: text('Name of the cluster, or $CLUSTER_NAME'),
    open: texts('Values that you must set before the first step'),
    steps: Type.Array(
      Type.Object({
        title: Type.String(),
        text: texts('Sentences that describe the step'),
        warnings: Type.Optional(texts('Dangers that cannot be reverted')),
        commands: texts('Commands in order'),
        check: texts('Checks before the next step'),
        back: Type.Optional(texts('Rollback of the step')),
      }),
    ),
  },
  { description: 'Runbook of a migration' },
);

export const SNAPSHOT = Type.Object(
  {
    apiVersion: Type.Literal('v1'),
    kind: Type.Literal('List'),
    metadata: Type.Object({ resourceVersion: Type.String() }),
    items: Type.Array(Type.Object({}, { additionalProperties: true }), {
      description: 'Objects of the cluster; the last object, of kind SnapshotInfo, lists kinds that could not be read',
    }),
  },
  { description: 'Objects of a cluster' },
);
