/**
 * CPU time of solves with preferences, by kind and number of pods, for each preference policy. The policies solve the same pods
 * in turns, so that further work of the machine affects all of them.
 */
import { type Affinity, HOSTNAME_LABEL, type LabelSelector, type Pod, ZONE_LABEL } from '#api/objects';
import { DEFAULT_NODE_HOURLY_FEE } from '#api/values';
import { NO_CHARGES } from '#engine/costs';
import type { Plan, Snapshot, SolveOptions } from '#engine/model';
import { solve } from '#engine/solve';
import { benchmarkTypes } from './catalogue.ts';
import { priceOf } from './recorded.ts';

/** Pods of a Deployment. */
const REPLICAS = 20;
const TYPES = 400;
const RUNS = 5;
const RUNS_OF_MANY = 3;
const WEIGHT = 100;

type Rules = Pick<Pod['spec'], 'affinity' | 'topologySpreadConstraints'>;

const app = (group: number): { readonly labelSelector: LabelSelector } => ({
  labelSelector: { matchLabels: { app: `app-${group}` } },
});

const spread = (group: number, ...keys: readonly string[]): Rules => ({
  topologySpreadConstraints: keys.map((topologyKey) => ({
    maxSkew: 1,
    topologyKey,
    whenUnsatisfiable: 'ScheduleAnyway',
    ...app(group),
  })),
});

const apart = (group: number): Affinity => ({
  podAntiAffinity: {
    preferredDuringSchedulingIgnoredDuringExecution: [
      { weight: WEIGHT, podAffinityTerm: { topologyKey: HOSTNAME_LABEL, ...app(group) } },
    ],
  },
});

const near = (group: number): Affinity => ({
  nodeAffinity: {
    preferredDuringSchedulingIgnoredDuringExecution: [
      {
        weight: WEIGHT,
        preference: {
          matchExpressions: [{ key: ZONE_LABEL, operator: 'In', values: [`test-zone-${1 + (group % 3)}`] }],
        },
      },
    ],
  },
});

const PREFERENCES: Readonly<Record<string, (group: number) => Rules>> = {
  'host-spread': (group) => spread(group, HOSTNAME_LABEL),
  'zone-spread': (group) => spread(group, ZONE_LABEL),
  'both-spreads': (group) => spread(group, HOSTNAME_LABEL, ZONE_LABEL),
  'anti-affinity': (group) => ({ affinity: apart(group) }),
  'node-affinity': (group) => ({ affinity: near(group) }),
  mixed: (group) =>
    [
      { ...spread(group, HOSTNAME_LABEL, ZONE_LABEL), affinity: apart(group) },
      spread(group, HOSTNAME_LABEL),
      { affinity: { ...apart(group), ...near(group) } },
      {},
    ][group % 4] ?? {},
};

const CPU = [100, 250, 500, 1000, 1500];
const GIB_PER_CPU = [1, 2, 4];

/** Pods of Deployments with preferences. */
function podsOf(kind: string, count: number, replicas: number): readonly Pod[] {
  const rules = PREFERENCES[kind];
  return Array.from({ length: count }, (_, index): Pod => {
    const group = Math.floor(index / replicas);
    const cpu = CPU[group % CPU.length] ?? 0;
    const memory = cpu * (GIB_PER_CPU[group % GIB_PER_CPU.length] ?? 0);
    const uid = String(index).padStart(12, '0');
    return {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: `pod-${uid}`, namespace: 'default', uid, labels: { app: `app-${group}` } },
      spec: {
        containers: [{ name: 'app', resources: { requests: { cpu: `${cpu}m`, memory: `${memory}Mi` } } }],
        ...rules?.(group),
      },
      status: { phase: 'Pending', conditions: [{ type: 'PodScheduled', status: 'False', reason: 'Unschedulable' }] },
    };
  });
}

const snapshotOf = (pendingPods: readonly Pod[]): Snapshot => ({
  nowMs: 0,
  pools: [
    {
      nodePool: {
        apiVersion: 'karpenter.sh/v1',
        kind: 'NodePool',
        metadata: { name: 'bench' },
        spec: {
          template: {
            spec: {
              nodeClassRef: { group: 'karpenter.test.sh', kind: 'TestNodeClass', name: 'default' },
              requirements: [],
              expireAfter: 'Never',
            },
          },
        },
      },
      instanceTypes: benchmarkTypes(TYPES),
      extras: { ...NO_CHARGES, feeUsdPerHour: DEFAULT_NODE_HOURLY_FEE },
    },
  ],
  nodes: [],
  pendingPods,
  daemonPods: [],
  namespaces: [],
  podDisruptionBudgets: [],
  persistentVolumeClaims: [],
  persistentVolumes: [],
  storageClasses: [],
});

interface Workload {
  readonly kind: string;
  readonly pods: number;
  /** Pods with the same preferences. */
  readonly replicas: number;
}

const WORKLOADS: readonly Workload[] = [
  ...Object.keys(PREFERENCES).flatMap((kind) =>
    (kind === 'mixed' ? [100, 1_000, 4_000, 16_000] : [100, 4_000]).map(
      (pods): Workload => ({ kind, pods, replicas: REPLICAS }),
    ),
  ),
  ...[1_000, 4_000].map((pods): Workload => ({ kind: 'mixed', pods, replicas: 1 })),
];

interface PreferenceLine {
  readonly workload: string;
  readonly pods: number;
  /** Values for `Ignore`, `Priced` and `Respect`. */
  readonly nodesByPolicy: string;
  readonly usdByPolicy: string;
  readonly cpuMsByPolicy: string;
  /** CPU time of `Priced` relative to `Respect`: the median of the ratios of pairs. */
  readonly timesRespect: number;
}

const POLICIES = ['Ignore', 'Priced', 'Respect'] as const;

const median = (values: readonly number[]): number => values.toSorted((a, b) => a - b)[values.length >> 1] ?? 0;

function timed(input: Workload, options: SolveOptions): { readonly plan: Plan; readonly cpuMs: number } {
  const snapshot = snapshotOf(podsOf(input.kind, input.pods, input.replicas));
  globalThis.gc?.();
  const before = process.cpuUsage();
  const plan = solve(snapshot, options);
  const { user, system } = process.cpuUsage(before);
  return { plan, cpuMs: (user + system) / 1000 };
}

/** Returns one line per workload. */
export function* preferenceLines(
  options: SolveOptions,
  isWanted: (name: string) => boolean,
): Generator<PreferenceLine> {
  for (const workload of WORKLOADS) {
    const { kind, pods, replicas } = workload;
    const name = `preferences-${kind}-${pods}${replicas === 1 ? '-distinct' : ''}`;
    if (!isWanted(name)) continue;
    const runs = pods > 1_000 ? RUNS_OF_MANY : RUNS;
    const rounds = Array.from({ length: runs }, () =>
      POLICIES.map((preferencePolicy) => timed(workload, { ...options, packing: 'cheapest', preferencePolicy })),
    );
    const [last = []] = rounds;
    yield {
      workload: name,
      pods,
      nodesByPolicy: last.map(({ plan }) => plan.claims.length).join(' / '),
      usdByPolicy: last.map(({ plan }) => priceOf(plan).toFixed(2)).join(' / '),
      cpuMsByPolicy: POLICIES.map((_, at) =>
        Math.round(Math.min(...rounds.map((round) => round[at]?.cpuMs ?? Number.POSITIVE_INFINITY))),
      ).join(' / '),
      timesRespect: Number(
        median(rounds.map(([, priced, respect]) => (priced?.cpuMs ?? 0) / (respect?.cpuMs ?? 1))).toFixed(2),
      ),
    };
  }
}
