/** Local cluster without network ports, whose time stands still while work remains to be done. */
import { customResourceDefinitions } from '../api/crds.ts';
import type { OpenAws } from '../local/aws/options.ts';
import type { Caches } from '../local/cache.ts';
import type { ObjectClient } from '../local/client.ts';
import { createClusterObjects } from '../local/cluster-objects.ts';
import { cachesInProcess, connectInProcess } from '../local/in-process.ts';
import { type Api, openApi } from '../local/kubernetes/apiserver/api.ts';
import type { Randomness } from '../local/kubernetes/apiserver/core.ts';
import { startWorkloads } from '../local/kubernetes/controllers/index.ts';
import { startKubelets } from '../local/kubernetes/kubelets/index.ts';
import type { KubeletOptions } from '../local/kubernetes/kubelets/options.ts';
import { startScheduler } from '../local/kubernetes/scheduler/index.ts';
import type { TieBreak } from '../local/kubernetes/scheduler/scores/index.ts';
import type { Parts } from '../local/parts.ts';
import type { VirtualClock } from './virtual-clock.ts';

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

export async function openCluster(options: ClusterOptions): Promise<Cluster> {
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
