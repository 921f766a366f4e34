/**
 * A real control plane with the charts installed by real helm, the local AWS with kubelets, and operators that use the
 * ServiceAccount of the chart.
 */
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DEPLOYMENT, type KubeObject, NODE } from '#api/objects';
import type { Surroundings, WorldOptions } from '#local/world';
import { joinCluster } from '../../support/join-cluster.ts';
import type { KubeApi } from '../../support/kube-api.ts';
import type { AuditedRequest } from './controlplane.ts';
import {
  CLUSTER_NAME,
  type Installation,
  installCharts,
  NAMESPACE,
  ROOT,
  startInstallation,
  type Values,
} from './installation.ts';
import { eventually } from './processes.ts';
import { leaveInstallation, shareInstallation } from './shared.ts';

export { CLUSTER_NAME, NAMESPACE, OPERATOR_USER, ROOT, type Values } from './installation.ts';

/** Instances that start immediately, because the control plane runs in real time. */
export const QUICK: Pick<WorldOptions, 'instances' | 'kubelets'> = {
  instances: { startDelayMs: 300, stopDelayMs: 500 },
  kubelets: { bootMs: 500, readyMs: 200, podStartMs: [50, 150], podStopMs: 100, leaseMs: 10_000 },
};

/** Lists of a hundred pods, as polls need them, take tens of milliseconds of CPU time. */
const POLL_MS = 500;

/** For the chart's two replicas, which require different zones. */
const SYSTEM_NODES = 2;

export const VALUES: Values = {
  settings: { clusterName: CLUSTER_NAME, interruptionQueue: CLUSTER_NAME },
  controller: {
    image: { repository: 'registry.example.com/karpenter' },
    resources: { requests: { cpu: '200m', memory: '256Mi' }, limits: { memory: '1Gi' } },
  },
};

export interface Cluster extends Installation {
  readonly world: Surroundings;
  /** Environment of the chart's Deployment, with the AWS of this world and a kubeconfig of the ServiceAccount. */
  operatorEnv(): Promise<Record<string, string>>;
  /** Returns the requests of operators to the API server. */
  audit(): Promise<readonly AuditedRequest[]>;
  stop(): Promise<void>;
}

export interface ClusterOptions {
  readonly plane?: Parameters<typeof startInstallation>[0];
  /** Null if the charts are installed, or if the test installs them. */
  readonly values?: Values | null;
  readonly world?: Omit<WorldOptions, 'kubePort' | 'timeScale' | 'clock'>;
  /** Receives errors of the parts of the world. */
  readonly log?: (message: string) => void;
}

export async function startCluster(options: ClusterOptions = {}): Promise<Cluster> {
  const installation = await startInstallation(options.plane);
  return startClusterOn(installation, () => installation.plane.stop(), options);
}

/** Returns a cluster on the control plane that test files of this process share. The chart has no pods. */
export async function startSharedCluster(options: Pick<ClusterOptions, 'log'> = {}): Promise<Cluster> {
  const installation = await shareInstallation(VALUES);
  return startClusterOn(installation, () => leaveInstallation(installation), { ...options, values: null });
}

async function startClusterOn(
  installation: Installation,
  leave: () => Promise<void>,
  options: ClusterOptions,
): Promise<Cluster> {
  const { plane, kube, kubeconfig } = installation;
  const stops: (() => Promise<void>)[] = [leave];
  const stop = async (): Promise<void> => {
    for (const one of stops.splice(0).reverse()) await one();
  };
  try {
    const earlier = (await plane.audit()).length;
    const world = await joinCluster(
      { url: plane.url, credentials: plane.credentials, kubeconfig },
      {
        clusterName: CLUSTER_NAME,
        systemNodes: SYSTEM_NODES,
        ...QUICK,
        ...(options.log ? { log: options.log } : {}),
        ...options.world,
      },
    );
    stops.push(() => world.stop());
    await reserveSystemNodes(kube, options.world?.systemNodes ?? SYSTEM_NODES);
    const values = options.values === undefined ? VALUES : options.values;
    if (values !== null) await installCharts(installation, values);
    return {
      ...installation,
      world,
      operatorEnv: async () => ({
        ...(await chartEnv(kube)),
        ...world.env(),
        // Several operators run on this machine.
        METRICS_PORT: '0',
        HEALTH_PROBE_PORT: '0',
      }),
      audit: async () => (await plane.audit()).slice(earlier),
      stop,
    };
  } catch (error) {
    const tails = plane.tails();
    await stop();
    throw new Error(`Cannot set up the cluster: ${String(error)}\n${tails}`, { cause: error });
  }
}

/** Keeps workloads off the initial nodes. */
async function reserveSystemNodes(kube: KubeApi, count: number): Promise<void> {
  const nodes = await eventually(
    'the system nodes',
    async () => {
      const { items } = await kube.list(NODE);
      return items.length === count ? items : undefined;
    },
    30_000,
  );
  const taint = { key: 'CriticalAddonsOnly', value: 'true', effect: 'NoSchedule' };
  for (const { metadata } of nodes)
    await kube.patch(NODE, metadata, { spec: { taints: [taint] } }, { type: 'strategic' });
}

interface EnvVar {
  readonly name: string;
  readonly value?: string;
  readonly valueFrom?: { readonly fieldRef?: { readonly fieldPath: string } };
}

/** Returns the plain values of the container's environment, as a kubelet sets them. */
export async function chartEnv(kube: KubeApi): Promise<Record<string, string>> {
  const found = await kube.find(DEPLOYMENT, { name: 'karpenter', namespace: NAMESPACE });
  const template = (found?.spec as { template?: { spec: { containers: readonly { env?: readonly EnvVar[] }[] } } })
    ?.template;
  const env = template?.spec.containers[0]?.env ?? [];
  return Object.fromEntries(
    env.flatMap(({ name, value, valueFrom }): [string, string][] => {
      if (valueFrom?.fieldRef?.fieldPath === 'metadata.namespace') return [[name, NAMESPACE]];
      return value === undefined ? [] : [[name, value]];
    }),
  );
}

/** Waits for a state of the cluster. On failure, the error contains the last log lines of the components. */
export async function until<T>(
  cluster: Cluster,
  what: string,
  probe: () => Promise<T | undefined | false> | T | undefined | false,
  limitMs = 60_000,
): Promise<T> {
  try {
    return await eventually(what, async () => (await probe()) || undefined, limitMs, POLL_MS);
  } catch (error) {
    throw new Error(`${String(error)}\n${await describe(cluster)}\n${cluster.plane.tails()}`, { cause: error });
  }
}

/** Returns the relevant objects of a failed wait in kubectl's columns. */
async function describe({ kube }: Cluster): Promise<string> {
  const paths = [
    '/apis/karpenter.sh/v1/nodeclaims',
    '/api/v1/nodes',
    '/api/v1/namespaces/default/pods',
    '/api/v1/events',
  ];
  const lists = await Promise.all(
    paths.map(async (path) => {
      const { items } = (await kube.raw('GET', path)) as { readonly items: readonly KubeObject[] };
      return [path, ...items.slice(-12).map(summary)].join('\n  ');
    }),
  );
  return lists.join('\n');
}

function summary(object: KubeObject): string {
  const { metadata, spec, status, reason, message } = object as KubeObject & Record<string, unknown>;
  const { conditions = [], phase } = (status ?? {}) as {
    readonly conditions?: readonly { readonly type: string; readonly status: string; readonly reason?: string }[];
    readonly phase?: string;
  };
  return [
    metadata.name,
    metadata.deletionTimestamp ? 'deleting' : '',
    (spec as { readonly nodeName?: string } | undefined)?.nodeName ?? '',
    phase ?? '',
    ...conditions.map((one) => `${one.type}=${one.status}${one.reason ? `(${one.reason})` : ''}`),
    reason ?? '',
    String(message ?? '').slice(0, 200),
  ]
    .filter((part) => part !== '')
    .join(' ');
}

/** Returns the text of an example with the name of this cluster. */
export const exampleText = async (file: string): Promise<string> =>
  (await readFile(join(ROOT, 'examples', file), 'utf8'))
    .replaceAll('discovery: local', `discovery: ${CLUSTER_NAME}`)
    .replaceAll('NodeRole-local', `NodeRole-${CLUSTER_NAME}`);

/** Applies every object of YAML texts with one call of kubectl, server-side. */
export async function applyText(cluster: Cluster, ...texts: readonly string[]): Promise<void> {
  // kubectl would parse a file that starts with a brace as JSON.
  const text = ['', ...texts].join('\n---\n');
  const file = join(cluster.plane.folder, 'home', `objects-${text.length}.yaml`);
  await writeFile(file, text);
  await cluster.kubectl('apply', '--server-side', '-f', file);
}
