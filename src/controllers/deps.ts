/** What every controller is built from. */
import type { CloudProvider } from '../cloud/provider.ts';
import type { Informers, KubeClient } from '../kube/client.ts';
import type { EventRecorder } from '../kube/events.ts';
import type { Clock } from '../lib/clock.ts';
import type { DecisionLog } from '../observe/history/decision-log.ts';
import type { Logger } from '../observe/logger.ts';
import type { Metrics } from '../observe/metrics.ts';
import type { Settings } from '../process/settings.ts';
import type { ClusterState } from '../state/cluster.ts';
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
  /** Takes what is decided; absent where no history is kept. */
  readonly decisions?: DecisionLog | undefined;
  /** Numbers in [0, 1) for names and for waits after failures; the machine's own when left out. */
  readonly random?: (() => number) | undefined;
  /** Undefined: nobody wants traces. */
  readonly traces?: NodeTraces | undefined;
}
