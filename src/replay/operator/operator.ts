/** The operator's controllers on a cluster and an AWS in the same process. */

import type { NodeClaim } from '../../api/nodeclaim.ts';
import { assemble } from '../../aws/assembly.ts';
import type { Clients } from '../../aws/clients.ts';
import type { AwsProvider } from '../../aws/options.ts';
import { openClusterState } from '../../controllers/cluster-state.ts';
import type { Deps } from '../../controllers/deps.ts';
import { recordInterrupted } from '../../controllers/disrupted.ts';
import { controllers } from '../../controllers/index.ts';
import { localSolver } from '../../engine-worker/solver.ts';
import type { EventRecorder } from '../../kube/events.ts';
import { runControllers } from '../../kube/runtime.ts';
import type { Clock } from '../../lib/clock.ts';
import { defined } from '../../lib/defined.ts';
import type { Api } from '../../local/kubernetes/apiserver/api.ts';
import type { DecisionLog } from '../../observe/history/decision-log.ts';
import type { Logger } from '../../observe/logger.ts';
import { parseSettings, type Settings } from '../../process/settings.ts';
import { inProcessClient, inProcessInformers } from './in-process-client.ts';
import { noMetrics } from './no-metrics.ts';
import { PacedMemo } from './paced-memo.ts';
import { pacedSimulations } from './paced-simulations.ts';

interface OperatorOptions {
  readonly api: Api;
  readonly clients: Clients;
  readonly clock: Clock;
  /** Of the operator, as on its command line. */
  readonly args: readonly string[];
  readonly clusterName: string;
  /** Of the API server, as nodes are told. */
  readonly endpoint: string;
  /** `major.minor`. */
  readonly kubernetesVersion: string;
  readonly log: Logger;
  readonly decisions: DecisionLog;
  /** Numbers in [0, 1) for names and for waits after failures. */
  readonly random: () => number;
  readonly signal: AbortSignal;
}

export interface ReplayOperator {
  readonly deps: Deps;
  /** Settles when everything in hand is finished after the signal. */
  readonly done: Promise<void>;
}

/** Nobody scrapes a replay, reads its events or its history, and it has nobody to compete with. */
const SETTINGS = [
  '--disable-cluster-state-observability=true',
  '--cost-history=false',
  '--disable-leader-election=true',
  '--log-level=error',
];

/** Controllers that only tell: they decide nothing, and nobody listens. */
const UNHEARD: ReadonlySet<string> = new Set([
  'cloudprovider.metrics',
  'disruption.verdicts',
  'nodeclaim.consistency',
  'nodeclaim.hydration',
  'node.hydration',
]);

/** Controllers of what does not happen in a replay. */
const IDLE: ReadonlySet<string> = new Set([
  // NodeClasses are played without their reservations
  'capacityreservation.capacitytype',
  'capacityreservation.expiration',
  // no model of the world lets a machine fail its checks, or plans its maintenance
  'interruption.instancestatus',
  // informers show a claim before the answer to its creation comes
  'state.nodeclaimgc',
]);

const NO_EVENTS: EventRecorder = { publish: () => {} };

/** @throws SettingsError on arguments that the operator does not take */
const settingsOf = (
  { clusterName, endpoint }: Pick<OperatorOptions, 'clusterName' | 'endpoint'>,
  args: readonly string[],
): Settings =>
  parseSettings(
    [
      `--cluster-name=${clusterName}`,
      `--cluster-endpoint=${endpoint}`,
      `--interruption-queue=${clusterName}`,
      ...args,
      ...SETTINGS,
    ],
    {},
  );

/** Starts the controllers; nothing happens before the clock moves. */
export async function startReplayOperator(options: OperatorOptions): Promise<ReplayOperator> {
  const { api, clients, clock, log, decisions, random, signal } = options;
  const settings = settingsOf(options, options.args);
  const client = inProcessClient(api);
  const informers = inProcessInformers(api, log, signal);
  const metrics = noMetrics();
  const hearing: { interrupted: (claim: NodeClaim, kind: string) => void } = { interrupted: () => {} };
  const common = { settings, client, informers, events: NO_EVENTS, clock, log, metrics };
  const aws: AwsProvider = await assemble(
    {
      ...common,
      kubernetesVersion: async () => options.kubernetesVersion,
      interrupted: (claim, kind) => hearing.interrupted(claim, kind),
      ...defined({ signal }),
    },
    clients,
  );
  const cluster = openClusterState({ informers, clock, cloud: aws.provider, settings });
  const deps: Deps = { ...common, cluster, cloud: aws.provider, decisions, random };
  hearing.interrupted = (claim, kind) => recordInterrupted(deps, claim, kind);
  // how long a solve takes on this machine decides nothing
  const now = (): number => clock.now();
  const simulations = pacedSimulations(now);
  const all = [
    ...controllers(deps, {
      simulations,
      solver: localSolver(now),
      memo: new PacedMemo(cluster, now),
      lookoutMs: Number.POSITIVE_INFINITY,
    }),
    ...aws.controllers(),
  ].filter(({ name }) => !UNHEARD.has(name) && !IDLE.has(name));
  const { done } = runControllers({ controllers: all, informers, clock, log, metrics, random, signal });
  return { deps, done };
}
