/** Few of many gangs find room, next to ordinary pods. CPU time includes the compilation of the snapshot. */
import { GANG_ANNOTATION, GANG_MIN_ANNOTATION, type Pod } from '#api/objects';
import type { Snapshot, SolveOptions } from '#engine/model';
import { solve } from '#engine/solve';
import { benchmarkSnapshot } from './scheduling.ts';

const RUNS = 3;
const GANGS = 200;
const PODS_PER_GANG = 32;
/** Approximate number of gangs for which the limit has room. */
const POSSIBLE = 20;
const ORDINARY = 500;

export interface GangLine {
  readonly workload: string;
  readonly gangs: number;
  readonly pods: number;
  /** Number of gangs with room. */
  readonly placed: number;
  readonly nodes: number;
  readonly cpuMilliseconds: number;
}

interface GangWorkload {
  readonly name: string;
  /** Requested milli-CPU of the pods of a gang. */
  readonly cpuOf: (gang: number) => number;
  readonly gangs: number;
  /** Limit of CPU for each pod. */
  readonly cpuPerPod: number;
}

const WORKLOADS: readonly GangWorkload[] = [
  { name: 'gangs-200-alike', cpuOf: () => 1_000, gangs: GANGS, cpuPerPod: 1 },
  // each gang has pods of its own size, so that the result of one gang applies to no other gang
  { name: 'gangs-200-distinct', cpuOf: (gang) => 1_000 + gang, gangs: GANGS, cpuPerPod: 1.1 },
  // each pod needs a node of its own
  { name: 'gangs-200-large', cpuOf: (gang) => 250_000 + gang, gangs: GANGS, cpuPerPod: 400 },
  { name: 'gangs-0', cpuOf: () => 1_000, gangs: 0, cpuPerPod: 1 },
];

const pod = (name: string, cpu: number, annotations: Readonly<Record<string, string>>): Pod => ({
  ...{ apiVersion: 'v1', kind: 'Pod' },
  metadata: { name, namespace: 'default', uid: name, annotations },
  spec: { containers: [{ name: 'app', resources: { requests: { cpu: `${cpu}m`, memory: `${2 * cpu}Mi` } } }] },
  status: { phase: 'Pending' },
});

function snapshotOf({ cpuOf, gangs, cpuPerPod }: GangWorkload): Snapshot {
  const base = benchmarkSnapshot({ name: '', pods: () => [], nodes: () => [], runs: 1 });
  const members = Array.from({ length: gangs }, (_, gang) => {
    const annotations = { [GANG_ANNOTATION]: `gang-${gang}`, [GANG_MIN_ANNOTATION]: String(PODS_PER_GANG) };
    return Array.from({ length: PODS_PER_GANG }, (__, at) => pod(`gang-${gang}-${at}`, cpuOf(gang), annotations));
  });
  const ordinary = Array.from({ length: ORDINARY }, (_, at) => pod(`web-${at}`, 500, {}));
  const cpu = String(ORDINARY / 2 + POSSIBLE * PODS_PER_GANG * cpuPerPod);
  const pools = base.pools.map((input) => ({
    ...input,
    nodePool: { ...input.nodePool, spec: { ...input.nodePool.spec, limits: { cpu } } },
  }));
  return { ...base, pools, pendingPods: [...members.flat(), ...ordinary] };
}

/** Yields the best of a few runs with new input for each workload. */
export function* gangLines(options: SolveOptions, isWanted: (workload: string) => boolean): Generator<GangLine> {
  for (const workload of WORKLOADS.filter(({ name }) => isWanted(name))) {
    let cpuMilliseconds = Number.POSITIVE_INFINITY;
    let [nodes, placed, pods] = [0, 0, 0];
    for (let run = 0; run < RUNS; run++) {
      const snapshot = snapshotOf(workload);
      globalThis.gc?.();
      const before = process.cpuUsage();
      const plan = solve(snapshot, { ...options, explain: true });
      const { user, system } = process.cpuUsage(before);
      cpuMilliseconds = Math.min(cpuMilliseconds, (user + system) / 1000);
      nodes = plan.claims.length;
      placed = workload.gangs - plan.refusals.size / PODS_PER_GANG;
      pods = snapshot.pendingPods.length;
    }
    const { name, gangs } = workload;
    yield { workload: name, gangs, pods, placed, nodes, cpuMilliseconds: Number(cpuMilliseconds.toFixed(1)) };
  }
}
