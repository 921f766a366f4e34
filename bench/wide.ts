/**
 * Price of the default packing relative to `compatible` for clusters with many different rules or many NodePools, on
 * the AWS catalogue: Deployments with host anti-affinity, Deployments with distinct node affinity, and many NodePools.
 */
import type { KubeObject } from '#api/objects';
import { DEFAULT_NODE_HOURLY_FEE } from '#api/values';
import { builtInTypes, worldOf } from '#cli/testing';
import { type Plan, pseudoRandom, type Snapshot, type SolveOptions } from '#engine/model';
import { solve } from '#engine/solve';
import { goRandom } from './gorand.ts';
import { diversePods } from './pods.ts';
import { priceOf } from './recorded.ts';

type WithSpec = KubeObject & { readonly spec: object };

export interface WideCluster {
  readonly name: string;
  readonly objects: () => readonly WithSpec[];
}

const FAMILIES = ['c6g', 'c6i', 'c7g', 'm6g', 'm6i', 'm7g', 'r6g', 'r6i', 'r7g', 'c6a', 'm6a', 'r6a'];
const ZONES = ['us-west-2a', 'us-west-2b', 'us-west-2c'];

const pool = (name: string, extra: { readonly labels?: object } = {}): WithSpec => ({
  apiVersion: 'karpenter.sh/v1',
  kind: 'NodePool',
  metadata: { name },
  spec: {
    template: {
      metadata: { labels: extra.labels ?? {} },
      spec: {
        nodeClassRef: { group: 'karpenter.k8s.aws', kind: 'EC2NodeClass', name: 'default' },
        requirements: [
          { key: 'karpenter.sh/capacity-type', operator: 'In', values: ['on-demand'] },
          { key: 'karpenter.k8s.aws/instance-category', operator: 'In', values: ['c', 'm', 'r'] },
          { key: 'karpenter.k8s.aws/instance-generation', operator: 'Gt', values: ['5'] },
        ],
      },
    },
  },
});

type Draw = () => number;
const from = <T>(draw: Draw, all: readonly T[]): T => all[Math.floor(draw() * all.length)] as T;

const requestsOf = (draw: Draw): object => {
  const cpu = from(draw, [100, 250, 500, 1000, 2000]);
  return { cpu: `${cpu}m`, memory: `${Math.round(cpu * from(draw, [1, 2, 4, 8]))}Mi` };
};

function deployment(name: string, replicas: number, requests: object, spec: object): WithSpec {
  const labels = { app: name };
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name },
    spec: {
      replicas,
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { containers: [{ name: 'app', resources: { requests } }], ...spec } },
    },
  };
}

const apart = (name: string): object => ({
  affinity: {
    podAntiAffinity: {
      requiredDuringSchedulingIgnoredDuringExecution: [
        { topologyKey: 'kubernetes.io/hostname', labelSelector: { matchLabels: { app: name } } },
      ],
    },
  },
});

function nodeAffinity(draw: Draw): object {
  const values = FAMILIES.filter(() => draw() < 0.6);
  const zones = ZONES.filter(() => draw() < 0.6);
  const matchExpressions = [
    { key: 'karpenter.k8s.aws/instance-family', operator: 'In', values: values.length > 0 ? values : FAMILIES },
    { key: 'topology.kubernetes.io/zone', operator: 'In', values: zones.length > 0 ? zones : ZONES },
  ];
  return {
    affinity: {
      nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [{ matchExpressions }] } },
    },
  };
}

const deployments = (count: number, seed: number, spec: (name: string, draw: Draw) => object): readonly WithSpec[] => {
  const draw = pseudoRandom(seed);
  return Array.from({ length: count }, (_, index) => {
    const name = `app-${index}`;
    return deployment(name, 1 + Math.floor(draw() * 6), requestsOf(draw), spec(name, draw));
  });
};

const antiAffinity = (count: number): WideCluster => ({
  name: `wide-anti-affinity-${count}`,
  objects: () => [pool('default'), ...deployments(count, count, apart)],
});

const affinities = (count: number): WideCluster => ({
  name: `wide-node-affinity-${count}`,
  objects: () => [pool('default'), ...deployments(count, count, (_, draw) => nodeAffinity(draw))],
});

/** Pods that select one of many NodePools by a label. */
const nodePools = (pods: number, pools: number): WideCluster => ({
  name: `wide-nodepools-${pods}-over-${pools}`,
  objects: () => {
    const draw = pseudoRandom(pods);
    const each = 10;
    return [
      ...Array.from({ length: pools }, (_, index) => pool(`pool-${index}`, { labels: { team: `team-${index}` } })),
      ...Array.from({ length: pods / each }, (_, index) =>
        deployment(`app-${index}`, each, requestsOf(draw), { nodeSelector: { team: `team-${index % pools}` } }),
      ),
    ];
  },
});

/** Pods of the scheduling benchmark that select one of many NodePools by a label. */
const diverse = (pods: number, pools: number): WideCluster => ({
  name: `wide-diverse-${pods}-over-${pools}`,
  objects: () => [
    ...Array.from({ length: pools }, (_, index) => pool(`pool-${index}`, { labels: { team: `team-${index}` } })),
    ...diversePods(pods, goRandom(42)).map((pod, index) => ({
      ...pod,
      spec: { ...pod.spec, nodeSelector: { team: `team-${index % pools}` } },
    })),
  ],
});

/** Pods without a selector, spread over zones and apart by host. */
const spreadAndApart: WideCluster = {
  name: 'wide-spread-and-apart-150',
  objects: () => [
    pool('default'),
    ...deployments(43, 7, (name) => ({
      ...apart(name),
      topologySpreadConstraints: [
        {
          maxSkew: 1,
          topologyKey: 'topology.kubernetes.io/zone',
          whenUnsatisfiable: 'DoNotSchedule',
          labelSelector: { matchLabels: { app: name } },
        },
      ],
    })),
  ],
};

export const WIDE_CLUSTERS: readonly WideCluster[] = [
  ...[60, 255, 260, 300, 1000].map(antiAffinity),
  ...[60, 300, 1000].map(affinities),
  nodePools(1000, 50),
  nodePools(5000, 50),
  ...[1000, 5000].map((pods) => diverse(pods, 50)),
  spreadAndApart,
];

export async function snapshotOf(
  { objects }: WideCluster,
  nodeHourlyFee = DEFAULT_NODE_HOURLY_FEE,
  packing?: SolveOptions['packing'],
): Promise<Snapshot> {
  const manifests = objects().map((object) => ({ object, where: object.metadata.name }));
  const instanceTypes = builtInTypes(manifests, 0);
  return (await worldOf(manifests, { instanceTypes, nowMs: 0, settings: { nodeHourlyFee, packing } })).snapshot;
}

interface WideLine {
  readonly workload: string;
  readonly pods: number;
  readonly nodes: number;
  readonly nodesCompatible: number;
  readonly usdPerHour: number;
  /** Price relative to `compatible`. */
  readonly timesPrice: number;
  readonly cpuMilliseconds: number;
  readonly cpuCompatible: number;
}

/** Returns one line per cluster. */
export async function* wideLines(options: SolveOptions, isWanted: (name: string) => boolean): AsyncGenerator<WideLine> {
  for (const cluster of WIDE_CLUSTERS) {
    if (!isWanted(cluster.name)) continue;
    const compatible = await timed(cluster, { ...options, packing: 'compatible' });
    const cheapest = await timed(cluster, { ...options, packing: 'cheapest' });
    const usd = priceOf(cheapest.plan);
    yield {
      workload: cluster.name,
      pods: cheapest.plan.claims.reduce((sum, { pods }) => sum + pods.length, 0),
      nodes: cheapest.plan.claims.length,
      nodesCompatible: compatible.plan.claims.length,
      usdPerHour: Number(usd.toFixed(3)),
      timesPrice: Number((usd / priceOf(compatible.plan)).toFixed(3)),
      cpuMilliseconds: Math.round(cheapest.cpuMs),
      cpuCompatible: Math.round(compatible.cpuMs),
    };
  }
}

/** Returns the plan, and the lowest CPU time of three solves. */
async function timed(
  cluster: WideCluster,
  options: SolveOptions,
): Promise<{ readonly plan: Plan; readonly cpuMs: number }> {
  const inputs = (): Promise<Snapshot> => snapshotOf(cluster, DEFAULT_NODE_HOURLY_FEE, options.packing);
  const snapshot = await inputs();
  let plan = solve(snapshot, options);
  let cpuMs = Number.POSITIVE_INFINITY;
  for (let run = 0; run < 3; run++) {
    const fresh = await inputs();
    const before = process.cpuUsage();
    plan = solve(fresh, options);
    const { user, system } = process.cpuUsage(before);
    cpuMs = Math.min(cpuMs, (user + system) / 1000);
  }
  return { plan, cpuMs };
}
