/**
 * The reference's scheduling benchmark, and larger clusters. Each line has the best time of a few solves with new
 * input, including the compilation of the snapshot. CPU time includes the garbage collector's threads.
 */
import type { NodePool, Pod } from '#api/objects';
import { DEFAULT_NODE_HOURLY_FEE } from '#api/values';
import { NO_CHARGES } from '#engine/costs';
import type { Plan, Snapshot, SolveOptions, StateNode } from '#engine/model';
import { solve } from '#engine/solve';
import { benchmarkTypes } from './catalogue.ts';
import { goRandom } from './gorand.ts';
import { type Draw, diversePods, genericPods, preferencePods } from './pods.ts';

const SEED = 42;
const TYPES = 400;
const GIB = 2 ** 30;

export interface Workload extends Partial<Pick<SolveOptions, 'preferencePolicy' | 'packing'>> {
  readonly name: string;
  readonly pods: (draw: Draw) => readonly Pod[];
  readonly nodes?: (draw: Draw) => readonly StateNode[];
  /** Measured pods per second of the reference on a similar machine. */
  readonly reference?: number;
  readonly runs: number;
}

/** Pods per second of the reference, by workload. */
const REFERENCE: Readonly<Record<string, number>> = {
  'diverse-100': 553,
  'diverse-500': 397,
  'diverse-1000': 392,
  'diverse-2000': 409,
  'diverse-5000': 352,
  'preference-4000-respect': 72,
  'preference-4000-ignore': 2888,
};

const named = (name: string, pods: Workload['pods'], more: Partial<Workload> = {}): Workload => {
  const reference = REFERENCE[name];
  return { name, pods, runs: 5, ...(reference === undefined ? {} : { reference }), ...more };
};

export const WORKLOADS: readonly Workload[] = [
  ...[1000, 10_000].map((n) => named(`generic-${n}`, (draw) => genericPods(n, draw))),
  ...[1, 50, 100, 500, 1000, 1500, 2000, 5000].map((n) =>
    named(`diverse-${n}`, (draw) => diversePods(n, draw), { runs: 8 }),
  ),
  ...[10_000, 20_000, 50_000].map((n) => named(`diverse-${n}`, (draw) => diversePods(n, draw), { runs: 3 })),
  named('existing-100000', (draw) => diversePods(100_000, draw), { nodes: () => emptyNodes(10_000), runs: 2 }),
  ...[100, 200, 500, 1000, 5000, 10_000].map((n) =>
    named(`cheapest-${n}`, (draw) => diversePods(n, draw), { packing: 'cheapest', runs: n > 1000 ? 3 : 8 }),
  ),
  named('preference-4000-respect', (draw) => preferencePods(4000, draw)),
  named('preference-4000-priced', (draw) => preferencePods(4000, draw), { preferencePolicy: 'Priced' }),
  named('preference-4000-ignore', (draw) => preferencePods(4000, draw), { preferencePolicy: 'Ignore' }),
];

const POOL: NodePool = {
  apiVersion: 'karpenter.sh/v1',
  kind: 'NodePool',
  metadata: { name: 'bench' },
  spec: {
    limits: { cpu: '10000000', memory: '10000000Gi' },
    template: {
      metadata: { labels: { 'testing/cluster': 'unspecified' } },
      spec: {
        nodeClassRef: { group: 'karpenter.test.sh', kind: 'TestNodeClass', name: 'default' },
        requirements: [],
        expireAfter: 'Never',
      },
    },
  },
};

/** Nodes of 16 CPU and 64 GiB, distributed over three zones. */
function emptyNodes(count: number): readonly StateNode[] {
  return Array.from({ length: count }, (_, index): StateNode => {
    const name = `node-${String(index).padStart(6, '0')}`;
    const labels = {
      'kubernetes.io/hostname': name,
      'topology.kubernetes.io/zone': `test-zone-${1 + (index % 3)}`,
      'karpenter.sh/capacity-type': 'spot',
      'karpenter.sh/nodepool': 'bench',
    };
    return {
      name,
      providerId: `aws:///${name}`,
      node: { apiVersion: 'v1', kind: 'Node', metadata: { name, labels } },
      registered: true,
      initialized: true,
      labels,
      annotations: {},
      taints: [],
      capacity: { cpu: 16_000, memory: 64 * GIB, pods: 110, nodes: 1 },
      allocatable: { cpu: 15_900, memory: 63 * GIB, pods: 110 },
      pods: [],
      markedForDeletion: false,
      nominatedUntilMs: 0,
      bufferPods: 0,
    };
  });
}

/** The default fee of a node, which the reference does not have. */
const DEFAULT_EXTRAS = { ...NO_CHARGES, feeUsdPerHour: DEFAULT_NODE_HOURLY_FEE };

const snapshotOf = (
  pendingPods: readonly Pod[],
  nodes: readonly StateNode[],
  packing: SolveOptions['packing'],
): Snapshot => ({
  nowMs: 0,
  pools: [
    {
      nodePool: POOL,
      instanceTypes: benchmarkTypes(TYPES),
      ...(packing === 'cheapest' && { extras: DEFAULT_EXTRAS }),
    },
  ],
  nodes,
  pendingPods,
  daemonPods: [],
  namespaces: [],
  podDisruptionBudgets: [],
  persistentVolumeClaims: [],
  persistentVolumes: [],
  storageClasses: [],
});

/** Returns fresh input for a workload. */
export function benchmarkSnapshot({ pods, nodes, packing }: Workload): Snapshot {
  const draw = goRandom(SEED);
  return snapshotOf(pods(draw), nodes?.(draw) ?? [], packing);
}

export const OPTIONS: SolveOptions = {
  preferencePolicy: 'Respect',
  minValuesPolicy: 'Strict',
  reservedMode: 'strict',
  ignoreDraRequests: true,
  // The node counts of the reference are based on its own packing.
  packing: 'compatible',
};

export interface SchedulingLine {
  readonly workload: string;
  readonly pods: number;
  /** Number of launched nodes. */
  readonly nodes: number;
  readonly milliseconds: number;
  readonly cpuMilliseconds: number;
  readonly podsPerSecond: number;
  /** Speed relative to the reference. */
  readonly timesReference?: number;
  readonly usdPerHour: number;
  readonly heapMb: number;
}

const placedBy = ({ claims, placements }: Plan): number =>
  [...claims, ...placements].reduce((sum, { pods }) => sum + pods.length, 0);

const rounded = (value: number, digits: number): number => Number(value.toFixed(digits));

/** Returns the plan of the last run and the line. */
export function measure(workload: Workload): {
  readonly plan: Plan;
  readonly line: SchedulingLine;
} {
  const { name, pods: _pods, nodes: _nodes, reference, runs, ...how } = workload;
  const best = { ms: Number.POSITIVE_INFINITY, cpuMs: Number.POSITIVE_INFINITY };
  let plan = solve(snapshotOf([], [], 'compatible'), OPTIONS);
  let heapMb = 0;
  for (let run = 0; run < runs; run++) {
    const snapshot = benchmarkSnapshot(workload);
    globalThis.gc?.();
    const before = process.cpuUsage();
    const startMs = performance.now();
    plan = solve(snapshot, { ...OPTIONS, ...how });
    best.ms = Math.min(best.ms, performance.now() - startMs);
    const { user, system } = process.cpuUsage(before);
    best.cpuMs = Math.min(best.cpuMs, (user + system) / 1000);
    heapMb = Math.max(heapMb, process.memoryUsage().heapUsed / 2 ** 20);
  }
  const placed = placedBy(plan);
  const podsPerSecond = (placed / best.ms) * 1000;
  const line = {
    workload: name,
    pods: placed,
    nodes: plan.claims.length,
    milliseconds: rounded(best.ms, 1),
    cpuMilliseconds: rounded(best.cpuMs, 1),
    podsPerSecond: Math.round(podsPerSecond),
    ...(reference === undefined ? {} : { timesReference: rounded(podsPerSecond / reference, 1) }),
    usdPerHour: rounded(
      plan.claims.reduce((sum, { usdPerHour }) => sum + usdPerHour, 0),
      2,
    ),
    heapMb: Math.round(heapMb),
  };
  return { plan, line };
}
