/**
 * Clusters in which the smallest burstable types look cheapest: one unrestricted on-demand NodePool, 1,025 ordinary
 * pods of 30 Deployments, and the AWS catalogue.
 */
import type { KubeObject } from '#api/objects';
import { DEFAULT_NODE_HOURLY_FEE } from '#api/values';
import { builtInTypes, worldOf } from '#cli/testing';
import { withCpuUtilization } from '#engine/costs';
import { type InstanceType, type Plan, pseudoRandom, type Snapshot, type SolveOptions } from '#engine/model';
import { solve } from '#engine/solve';
import { partial } from '../test/support/partial.ts';

const PODS = 1_025;
const DEPLOYMENTS = 30;
const NOW_MS = 0;

type WithSpec = KubeObject & { readonly spec: object };

export interface BurstableCluster {
  /** Snapshot with a node fee in USD per hour and an expected CPU utilization. */
  readonly snapshot: (options?: ClusterOptions) => Promise<Snapshot>;
  readonly typeOf: (name: string) => InstanceType | undefined;
}

interface ClusterOptions {
  readonly nodeHourlyFee?: number;
  /** The default is the utilization of the catalogue. This is the default of the setting. */
  readonly cpuUtilization?: number;
  /** False excludes burstable types. */
  readonly burstable?: boolean;
}

export function burstableCluster(seed: number, withDaemonSets: boolean): BurstableCluster {
  const workloads = [...deployments(seed), ...(withDaemonSets ? daemonSets() : [])];
  const types = builtInTypes([], NOW_MS)(partial(poolOf(true)));
  const byName = new Map(types.map((type) => [type.name, type]));
  return {
    typeOf: (name) => byName.get(name),
    snapshot: async ({ nodeHourlyFee = DEFAULT_NODE_HOURLY_FEE, cpuUtilization, burstable = true } = {}) => {
      const manifests = [poolOf(burstable), ...workloads].map((object) => ({ object, where: object.metadata.name }));
      const priced = cpuUtilization === undefined ? types : withCpuUtilization(types, cpuUtilization);
      return (await worldOf(manifests, { instanceTypes: () => priced, nowMs: NOW_MS, settings: { nodeHourlyFee } }))
        .snapshot;
    },
  };
}

/**
 * Returns the price of a plan in USD per hour if its pods use this fraction of the requested CPU: instances and surplus
 * credits.
 */
export const priceAt = (plan: Plan, { typeOf }: BurstableCluster, utilization: number): number =>
  plan.claims.reduce((sum, { cheapest, requests, usdPerHour }) => {
    const credits = typeOf(cheapest)?.cpuBurst;
    const used = (requests.cpu ?? 0) * utilization;
    const surplus = credits === undefined ? 0 : Math.max(0, used - credits.baseline) * (credits.usdPerVcpuHour / 1_000);
    return sum + usdPerHour + surplus;
  }, 0);

export interface BurstableLine {
  readonly scenarios: string;
  readonly way: string;
  readonly nodes: number;
  /** Instances and surplus credits in USD per hour, by the fraction of the requested CPU that pods use. */
  readonly usdAt: Readonly<Record<'0.3' | '0.7' | '1', number>>;
}

const SEEDS = [1, 2, 3];
const WAYS: readonly { readonly way: string; readonly options: ClusterOptions; readonly packing?: 'compatible' }[] = [
  { way: 'compatible', options: { nodeHourlyFee: 0, cpuUtilization: 0 }, packing: 'compatible' },
  { way: 'without surplus credits', options: { cpuUtilization: 0 } },
  { way: 'default', options: {} },
  { way: 'fee $0.02', options: { nodeHourlyFee: 0.02 } },
  { way: 'utilization 0.4', options: { cpuUtilization: 0.4 } },
  { way: 'no burstable types', options: { burstable: false } },
];

/** Yields nodes and prices over three clusters, with and without DaemonSets. */
export async function* burstableLines(options: SolveOptions): AsyncGenerator<BurstableLine> {
  for (const withDaemonSets of [false, true]) {
    const clusters = SEEDS.map((seed) => burstableCluster(seed, withDaemonSets));
    for (const { way, options: cluster, packing = 'cheapest' } of WAYS) {
      const plans = await Promise.all(
        clusters.map(async (each) => ({ each, plan: solve(await each.snapshot(cluster), { ...options, packing }) })),
      );
      const usdAt = (part: number): number =>
        Number(plans.reduce((sum, { each, plan }) => sum + priceAt(plan, each, part), 0).toFixed(2));
      yield {
        scenarios: withDaemonSets ? 'three clusters, five DaemonSets' : 'three clusters',
        way,
        nodes: plans.reduce((sum, { plan }) => sum + plan.claims.length, 0),
        usdAt: { '0.3': usdAt(0.3), '0.7': usdAt(0.7), '1': usdAt(1) },
      };
    }
  }
}

const poolOf = (burstable: boolean): WithSpec => ({
  apiVersion: 'karpenter.sh/v1',
  kind: 'NodePool',
  metadata: { name: 'default' },
  spec: {
    template: {
      spec: {
        nodeClassRef: { group: 'karpenter.k8s.aws', kind: 'EC2NodeClass', name: 'default' },
        requirements: [
          { key: 'karpenter.sh/capacity-type', operator: 'In', values: ['on-demand'] },
          ...(burstable ? [] : [{ key: 'karpenter.k8s.aws/instance-category', operator: 'NotIn', values: ['t'] }]),
        ],
      },
    },
  },
});

/** Returns Deployments of ordinary sizes: 100m to 2 vCPUs, and 0.5 to 2 GiB of memory for each vCPU. */
function deployments(seed: number): readonly WithSpec[] {
  const random = pseudoRandom(seed);
  const one = (values: readonly number[]): number => values[Math.floor(random() * values.length)] ?? 0;
  const parts = Array.from({ length: DEPLOYMENTS }, () => ({
    cpu: one([100, 250, 500, 500, 1_000, 1_000, 1_500, 2_000]),
    mebibytesPerVcpu: one([512, 1_024, 1_024, 1_536, 2_048]),
    share: 0.2 + random(),
  }));
  const total = parts.reduce((sum, { share }) => sum + share, 0);
  let left = PODS;
  return parts.map(({ cpu, mebibytesPerVcpu, share }, at) => {
    const replicas = at === parts.length - 1 ? left : Math.max(1, Math.round((PODS * share) / total));
    left -= replicas;
    const memory = Math.max(64, Math.round((cpu * mebibytesPerVcpu) / 1_000));
    return workload('Deployment', `app-${at}`, { cpu: `${cpu}m`, memory: `${memory}Mi` }, { replicas });
  });
}

/** Returns five usual agents: network, proxy, storage, logs and metrics. */
const daemonSets = (): readonly WithSpec[] =>
  [
    ['aws-node', '50m', '64Mi'],
    ['kube-proxy', '100m', '64Mi'],
    ['ebs-csi-node', '30m', '120Mi'],
    ['fluent-bit', '100m', '128Mi'],
    ['node-exporter', '50m', '64Mi'],
  ].map(([name = '', cpu = '', memory = '']) => workload('DaemonSet', name, { cpu, memory }, {}));

const workload = (kind: string, name: string, requests: Readonly<Record<string, string>>, spec: object): WithSpec => ({
  apiVersion: 'apps/v1',
  kind,
  metadata: { name, namespace: 'default' },
  spec: {
    ...spec,
    selector: { matchLabels: { app: name } },
    template: {
      metadata: { labels: { app: name } },
      spec: { containers: [{ name: 'app', image: 'app', resources: { requests } }] },
    },
  },
});
