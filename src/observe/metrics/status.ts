/**
 * Status-condition metrics of one kind: `operator_nodeclaim_…`, or `operator_…` with labels for group and kind. A function
 * declares them, because their names depend on the kind, and the kinds depend on the provider.
 */
import { defined } from '#lib';
import {
  type CounterDeclaration,
  counter,
  type GaugeDeclaration,
  gauge,
  type HistogramDeclaration,
  histogram,
  LIBRARY_BUCKETS,
  NO_BUCKETS,
  powersOfTwo,
  type Share,
} from './declaration.ts';

interface StatusDeclarations {
  readonly count: GaugeDeclaration;
  readonly seconds: GaugeDeclaration;
  readonly terminating: GaugeDeclaration;
  readonly transitions: CounterDeclaration;
  readonly transitionSeconds: HistogramDeclaration;
  readonly terminationSeconds: HistogramDeclaration;
}

const STATUS_BUCKETS = {
  /** 0.5 s to 8192 s. */
  transition: powersOfTwo(15, 0.5),
  library: LIBRARY_BUCKETS,
} as const;

export interface StatusFields {
  /** `operator_nodeclaim`, or `operator` for the form with the kind in labels. */
  readonly prefix: string;
  /** Additional label names, besides the labels of conditions. */
  readonly labels: readonly string[];
  readonly buckets: keyof typeof STATUS_BUCKETS;
  /** Series in the default view: separate series of each object, combined series of all objects of the kind, or no series. */
  readonly shown: 'objects' | 'together' | 'nothing';
}

/** Returns the prefix of a kind's metrics. `kind` is in lower case. */
export const statusPrefix = (kind: string): string => `operator_${kind}`;
export const SHARED_STATUS_PREFIX = 'operator';

export function statusDeclarations({ prefix, labels: more, ...fields }: StatusFields): StatusDeclarations {
  const perCondition = ['namespace', 'name', 'type', 'status', 'reason', ...more];
  const buckets = STATUS_BUCKETS[fields.buckets];
  const shares = sharesOf(fields);
  return {
    count: gauge({
      name: `${prefix}_status_condition_count`,
      help: 'Conditions of objects, 1 each',
      labels: perCondition,
      ...defined({ share: shares.count }),
    }),
    seconds: gauge({
      name: `${prefix}_status_condition_current_status_seconds`,
      help: 'Age of the status of conditions',
      labels: perCondition,
      ...defined({ share: shares.seconds }),
    }),
    terminating: gauge({
      name: `${prefix}_termination_current_time_seconds`,
      help: 'Time since the deletion of objects that still exist',
      labels: ['namespace', 'name', ...more],
      ...defined({ share: shares.seconds }),
    }),
    transitions: counter({
      name: `${prefix}_status_condition_transitions_total`,
      help: 'Changes of status',
      labels: ['type', 'status', 'reason', ...more],
      ...defined({ share: shares.changes }),
    }),
    transitionSeconds: histogram({
      name: `${prefix}_status_condition_transition_seconds`,
      help: 'Duration of a status before it changed',
      labels: ['type', 'status', ...more],
      buckets,
      ...defined({ share: shares.durations }),
    }),
    terminationSeconds: histogram({
      name: `${prefix}_termination_duration_seconds`,
      help: 'Time from the deletion of objects until their removal',
      labels: more,
      buckets,
      ...defined({ share: shares.durations }),
    }),
  };
}

interface Shares {
  readonly count?: Share;
  readonly seconds?: Share;
  readonly changes?: Share;
  readonly durations?: Share;
}

const NOTHING: Share = { kind: 'none' };
/** Powers of four among the powers of two. */
const FEW_BUCKETS: Share = { kind: 'buckets', buckets: [1, 4, 16, 64, 256, 1024, 4096] };

function sharesOf({ shown, buckets }: Pick<StatusFields, 'shown' | 'buckets'>): Shares {
  if (shown === 'nothing') return { count: NOTHING, seconds: NOTHING, changes: NOTHING, durations: NOTHING };
  const durations = { durations: buckets === 'transition' ? FEW_BUCKETS : NO_BUCKETS };
  if (shown === 'objects') return durations;
  const over = ['name'];
  return { count: { kind: 'sum', over }, seconds: { kind: 'max', over }, ...durations };
}
