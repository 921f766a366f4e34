/** Cluster with its AWS and its operator, all in this process and in virtual time. */

import { NODEPOOL_LABEL, type NodePool } from '#api/objects';
import { customResourceDefinitions } from '#api/schema';
import { cpuCreditsOf } from '#aws/instance-types';
import type { CloudProvider } from '#cloud';
import { chargesUsdPerHour, NO_CHARGES } from '#engine/costs';
import { tryRun } from '#lib';
import {
  type Api,
  type Caches,
  cachesInProcess,
  connectInProcess,
  type ObjectClient,
  openApi,
  type Randomness,
} from '#local/api-server';
import { type LocalInstance, type OpenAws, openAws, randomStream } from '#local/aws';
import {
  createClusterObjects,
  type KubeletOptions,
  type Parts,
  startKubelets,
  startScheduler,
  startWorkloads,
  type TieBreak,
} from '#local/cluster';
import { inProcessClients } from './aws/in-process-clients.ts';
import { Measure } from './measure/measure.ts';
import type { Rate } from './measure/spending.ts';
import { type ReplayOperator, startReplayOperator } from './operator/operator.ts';
import type { VirtualClock } from './virtual-clock.ts';
import { kubeletsOf } from './world-model/boot-times.ts';
import { awsOf, startWorldModel } from './world-model/start-world-model.ts';
import type { WorldModel } from './world-model/world-model.ts';

/** Name of the cluster in every replay. */
export const CLUSTER = 'replay';
const ENDPOINT = 'https://replay.invalid';
const KUBERNETES = '1.34';
/** Time for which terminated instances remain visible, so that garbage collection encounters some. */
const VISIBLE_MS = 15 * 60_000;

interface WorldOptions {
  readonly clock: VirtualClock;
  readonly model: WorldModel;
  /** Order of nodes to which kube-scheduler gives equal scores. */
  readonly tieBreak?: TieBreak | undefined;
  /** Start of the trace. */
  readonly startMs: number;
  /** Interval between two rows of the time series. */
  readonly stepSeconds: number;
  /** Command-line arguments of the operator. */
  readonly args: readonly string[];
  /** Stops all parts of this world when it aborts. */
  readonly signal: AbortSignal;
}

export interface ReplayWorld {
  readonly client: ObjectClient;
  readonly aws: OpenAws;
  readonly operator: ReplayOperator;
  readonly measure: Measure;
}

export async function openWorld({
  clock,
  model,
  tieBreak,
  startMs,
  stepSeconds,
  args,
  signal,
}: WorldOptions): Promise<ReplayWorld> {
  const names = randomStream(model.seed);
  const random = (): number => names.next();
  const aws = openAws({
    clock,
    clusterName: CLUSTER,
    clusterEndpoint: ENDPOINT,
    kubernetesVersion: KUBERNETES,
    terminatedVisibleMs: VISIBLE_MS,
    keptCalls: 0,
    ...awsOf(model, startMs),
  });
  signal.addEventListener('abort', () => aws.close(), { once: true });
  const common = { clock, clusterName: CLUSTER, endpoint: ENDPOINT, kubernetesVersion: KUBERNETES, signal };
  const { api, client, caches } = await openCluster({
    ...common,
    aws,
    tieBreak,
    kubelets: kubeletsOf(model),
    random: { below: (limit) => Math.floor(random() * limit), uuid: () => names.uuid() },
  });
  const prices = new InstancePrices(aws);
  const measure = new Measure({
    clock,
    startMs,
    stepSeconds,
    caches,
    signal,
    instances: aws.instances,
    rateOf: (instance, atMs) => prices.of(instance, atMs),
    // the utilization of the world, so that sets with different expectations pay the same price
    creditsOf: ({ hardware, platform }) => cpuCreditsOf(hardware, platform === 'windows', model.cpuUtilization),
  });
  const operator = await startReplayOperator({
    ...common,
    api,
    args,
    clients: inProcessClients(aws, { clock, random }),
    log: measure.complaints.logger,
    decisions: measure.nodeLog.decisions,
    random,
  });
  prices.operator = operator;
  const onInterrupted = ({ id }: LocalInstance): void => measure.warned(id);
  signal.addEventListener('abort', startWorldModel({ model, aws, clock, onInterrupted }), { once: true });
  return { client, aws, operator, measure };
}

/**
 * Current prices of instances. Spot prices change over time; volumes and public IP addresses depend on the NodePool.
 */
class InstancePrices {
  operator: ReplayOperator | undefined;
  readonly #aws: OpenAws;

  constructor(aws: OpenAws) {
    this.#aws = aws;
  }

  of(instance: LocalInstance, atMs: number): Rate {
    const { type, zone, capacityType, usdPerHour, tags } = instance;
    const market = capacityType === 'spot' ? this.#aws.catalogue.spotUsd(type, zone, atMs) : undefined;
    return { instance: market ?? usdPerHour, extras: this.#extrasOf(tags[NODEPOOL_LABEL] ?? '') };
  }

  #extrasOf(name: string): number {
    if (this.operator === undefined) return 0;
    const { cloud, cluster } = this.operator.deps;
    const pool = cluster.stores.nodePools.get({ name });
    return pool === undefined ? 0 : chargesUsdPerHour(chargesOf(cloud, pool));
  }
}

/**
 * Returns the charges of a NodePool. If its NodeClass cannot be read, charges are unknown and no nodes are launched.
 */
const chargesOf = (cloud: CloudProvider, pool: NodePool) => tryRun(() => cloud.charges?.(pool)) ?? NO_CHARGES;

interface ClusterOptions {
  readonly clock: VirtualClock;
  readonly clusterName: string;
  /** Address of the API server in the user data of instances. */
  readonly endpoint: string;
  readonly aws: OpenAws;
  readonly kubelets: Partial<KubeletOptions>;
  readonly random: Randomness;
  /** Order of nodes to which kube-scheduler gives equal scores. */
  readonly tieBreak?: TieBreak | undefined;
  readonly kubernetesVersion: string;
  readonly signal: AbortSignal;
}

interface Cluster {
  readonly api: Api;
  readonly client: ObjectClient;
  readonly caches: Caches;
}

/** History limit of the API server. A replay never resumes a watch. */
const NO_HISTORY = 0;

/** Local cluster without network ports, whose time stands still while work remains to be done. */
async function openCluster(options: ClusterOptions): Promise<Cluster> {
  const { clock, clusterName, aws, random, signal } = options;
  const api = openApi({ clock, random, historyLimit: NO_HISTORY });
  signal.addEventListener('abort', () => api.stop(), { once: true });
  for (const definition of customResourceDefinitions()) api.install(definition);
  const client = connectInProcess(api);
  const caches = cachesInProcess(api);
  const parts: Parts = { client, caches, clock, signal, log: () => {}, silent: true };
  await startWorkloads(parts, { heartbeats: false });
  await startScheduler(parts, { tieBreak: options.tieBreak });
  await createClusterObjects(client);
  await startKubelets({
    parts,
    instances: aws.instances,
    region: aws.region,
    clusterName,
    endpoint: options.endpoint,
    kubeletVersion: `v${options.kubernetesVersion}.0`,
    options: { ...SILENT, ...options.kubelets },
  });
  return { api, client, caches };
}

/** Kubelet options that disable heartbeats. */
const SILENT: Partial<KubeletOptions> = {
  leaseMs: Number.POSITIVE_INFINITY,
  statusMs: Number.POSITIVE_INFINITY,
};
