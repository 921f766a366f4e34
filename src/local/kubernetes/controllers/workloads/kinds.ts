/** Workload objects with the fields that their controllers read and write. */
import {
  type Condition,
  DEPLOYMENT,
  JOB,
  type Kind,
  type KubeObject,
  type PersistentVolumeClaim,
  REPLICA_SET,
  STATEFUL_SET,
  type Workload,
} from '#api/objects';

/** A workload with a number of replicas. */
export interface Scaled extends Workload {
  readonly spec: Workload['spec'] & {
    readonly minReadySeconds?: number;
    readonly paused?: boolean;
    readonly revisionHistoryLimit?: number;
    readonly progressDeadlineSeconds?: number;
    readonly strategy?: {
      readonly type?: 'RollingUpdate' | 'Recreate';
      readonly rollingUpdate?: { readonly maxSurge?: number | string; readonly maxUnavailable?: number | string };
    };
    readonly podManagementPolicy?: 'OrderedReady' | 'Parallel';
    readonly serviceName?: string;
    readonly volumeClaimTemplates?: readonly PersistentVolumeClaim[];
  };
  readonly status?: {
    readonly replicas?: number;
    readonly readyReplicas?: number;
    readonly availableReplicas?: number;
    readonly observedGeneration?: number;
    readonly conditions?: readonly Condition[];
  };
}

export interface Job extends KubeObject {
  readonly spec: Workload['spec'] & {
    readonly backoffLimit?: number;
    readonly suspend?: boolean;
    readonly podReplacementPolicy?: 'TerminatingOrFailed' | 'Failed';
    readonly podFailurePolicy?: {
      readonly rules: readonly {
        readonly action: string;
        readonly onPodConditions?: readonly { readonly type: string; readonly status?: string }[];
      }[];
    };
    readonly ttlSecondsAfterFinished?: number;
  };
  readonly status?: {
    readonly active?: number;
    readonly terminating?: number;
    readonly succeeded?: number;
    readonly failed?: number;
    readonly startTime?: string;
    readonly completionTime?: string;
    readonly conditions?: readonly Condition[];
  };
}

export const DEPLOYMENTS: Kind<Scaled> = DEPLOYMENT as Kind<Scaled>;
export const REPLICA_SETS: Kind<Scaled> = REPLICA_SET as Kind<Scaled>;
export const STATEFUL_SETS: Kind<Scaled> = STATEFUL_SET as Kind<Scaled>;
export const JOBS: Kind<Job> = JOB as Kind<Job>;
