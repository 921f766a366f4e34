/**
 * The scheduling benchmark: `npm run bench [-- WORKLOAD…]`, one JSON line per workload. Each line times one solve of
 * fresh input, the best of a few runs; compiling the snapshot is part of it. Any pod left pending fails the run.
 */
import type { Pod } from '../../src/api/kubernetes.ts';
import type { NodePool } from '../../src/api/nodepool.ts';
import type { Plan, Snapshot, SolveOptions } from '../../src/engine/model.ts';
import { solve } from '../../src/engine/solve.ts';
import { benchmarkTypes } from './catalogue.ts';
import { disruptionLines, savingsLines } from './disruption.ts';
import { goRandom } from './gorand.ts';
import { packingLines } from './packing.ts';
import { type Draw, diversePods, genericPods, preferencePods } from './pods.ts';

const SEED = 42;
const TYPES = 400;
const RUNS = 3;

interface Workload extends Partial<Pick<SolveOptions, 'preferencePolicy' | 'packing'>> {
  readonly name: string;
  readonly pods: (draw: Draw) => readonly Pod[];
}

const WORKLOADS: readonly Workload[] = [
  ...[1000, 10_000].map((n): Workload => ({ name: `generic-${n}`, pods: (draw) => genericPods(n, draw) })),
  ...[1, 50, 100, 500, 1000, 1500, 2000, 5000, 10_000, 20_000].map(
    (n): Workload => ({ name: `diverse-${n}`, pods: (draw) => diversePods(n, draw) }),
  ),
  ...[1000, 10_000].map(
    (n): Workload => ({ name: `cheapest-${n}`, pods: (draw) => diversePods(n, draw), packing: 'cheapest' }),
  ),
  { name: 'preference-4000-respect', pods: (draw) => preferencePods(4000, draw) },
  { name: 'preference-4000-ignore', pods: (draw) => preferencePods(4000, draw), preferencePolicy: 'Ignore' },
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

function snapshotOf(pendingPods: readonly Pod[]): Snapshot {
  return {
    nowMs: 0,
    pools: [{ nodePool: POOL, instanceTypes: benchmarkTypes(TYPES) }],
    nodes: [],
    pendingPods,
    daemonPods: [],
    namespaces: [],
    podDisruptionBudgets: [],
    persistentVolumeClaims: [],
    persistentVolumes: [],
    storageClasses: [],
  };
}

const OPTIONS: SolveOptions = {
  preferencePolicy: 'Respect',
  minValuesPolicy: 'Strict',
  reservedMode: 'strict',
  ignoreDraRequests: true,
  // the reference's node counts are those of its own way of packing
  packing: 'compatible',
};

function measure({ name: _, pods, ...how }: Workload): { readonly plan: Plan; readonly ms: number } {
  const options: SolveOptions = { ...OPTIONS, ...how };
  let best: { plan: Plan; ms: number } | undefined;
  for (let run = 0; run < RUNS; run++) {
    const snapshot = snapshotOf(pods(goRandom(SEED)));
    const start = performance.now();
    const plan = solve(snapshot, options);
    const ms = performance.now() - start;
    if (best === undefined || ms < best.ms) best = { plan, ms };
  }
  return best ?? { plan: solve(snapshotOf([]), options), ms: 0 };
}

const wanted = process.argv.slice(2);
for (const workload of WORKLOADS) {
  if (wanted.length > 0 && !wanted.some((name) => workload.name.startsWith(name))) continue;
  const { plan, ms } = measure(workload);
  const placed = plan.claims.reduce((sum, { pods }) => sum + pods.length, 0);
  const usdPerHour = plan.claims.reduce((sum, claim) => sum + claim.usdPerHour, 0);
  const line = {
    workload: workload.name,
    pods: placed,
    nodes: plan.claims.length,
    milliseconds: Number(ms.toFixed(1)),
    podsPerSecond: Math.round((placed / ms) * 1000),
    usdPerHour: Number(usdPerHour.toFixed(2)),
    heapMb: Math.round(process.memoryUsage().heapUsed / 2 ** 20),
  };
  process.stdout.write(`${JSON.stringify(line)}\n`);
  if (plan.refusals.size > 0) {
    const [[pod, refusal] = []] = plan.refusals;
    process.stderr.write(`${workload.name}: ${plan.refusals.size} pods stay pending; ${pod}: ${refusal?.text}\n`);
    process.exitCode = 1;
  }
}
if (wanted.length === 0 || wanted.includes('packing'))
  for await (const line of packingLines(OPTIONS)) process.stdout.write(`${JSON.stringify(line)}\n`);
if (wanted.length === 0 || wanted.includes('disruption')) {
  for await (const line of disruptionLines()) process.stdout.write(`${JSON.stringify(line)}\n`);
  for await (const line of savingsLines()) process.stdout.write(`${JSON.stringify(line)}\n`);
}
