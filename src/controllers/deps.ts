/** Dependencies of all controllers. */
import type { CloudProvider } from '#cloud';
import type { Informers, KubeClient } from '#kube/client';
import type { EventRecorder } from '#kube/reconcilers';
import type { Clock } from '#lib/clock';
import type { DecisionLog } from '#observe/history';
import type { Logger } from '#observe/logger';
import type { Metrics } from '#observe/metrics';
import type { Pressure } from '#process/memory';
import type { Settings } from '#process/settings';
import type { ClusterState, DeviceSources } from '#state';
import type { NodeTraces } from './traces/node-traces.ts';

export interface Deps {
  readonly client: KubeClient;
  readonly informers: Informers;
  readonly cluster: ClusterState;
  readonly cloud: CloudProvider;
  readonly events: EventRecorder;
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: Metrics;
  readonly settings: Settings;
  /** Namespace of the operator and its ConfigMaps. Undefined outside of a cluster, unless a setting or kubeconfig names it. */
  readonly namespace?: string | undefined;
  /** Version of the product, for the log of decisions. */
  readonly version?: string | undefined;
  /** Log of decisions. Undefined if no history is kept. */
  readonly decisions?: DecisionLog | undefined;
  /** Returns numbers in [0, 1) for names and for back-offs. Default: the machine's random numbers. */
  readonly random?: (() => number) | undefined;
  /** Devices of new nodes. Undefined while dynamic resources are ignored. */
  readonly devices?: DeviceSources | undefined;
  /** Undefined if memory is never short. */
  readonly pressure?: Pressure | undefined;
  /** Undefined if tracing is disabled. */
  readonly traces?: NodeTraces | undefined;
}
