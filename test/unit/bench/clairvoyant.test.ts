/** Policies of the benchmark that knows the future, at cases that can be computed by hand. */
import { describe, expect, it } from '@jest/globals';
import type { Node, Pod } from '#api/objects';
import { pseudoRandom } from '#engine/model';
import { bestNodes, DomainCounts, type NodeView } from '#local/testing';
import type { Trace, TraceEvent } from '#replay/trace';
import { clairvoyantBenchmark, clairvoyantTable, comparePolicies } from '../../../bench/clairvoyant/clairvoyant.ts';
import {
  type Demand,
  type DemandedPod,
  type FixedPod,
  fixedPods,
  readDemand,
} from '../../../bench/clairvoyant/demand.ts';
import { Life, type LifeWorld } from '../../../bench/clairvoyant/life.ts';
import { lowerBoundUsd, undominated, worthFor } from '../../../bench/clairvoyant/offers.ts';
import { courseOf, packClairvoyantly, priceOfChains } from '../../../bench/clairvoyant/packing.ts';
import { rollOut } from '../../../bench/clairvoyant/rollout.ts';
import { bestNode } from '../../../bench/clairvoyant/scores.ts';

const GIB = 1024;
const FOREVER = Number.POSITIVE_INFINITY;
const TIMES = { boot: 40, unpaid: 8, seconds: 3600 };

const offer = (name: string, usd: number, cpu: number, memory = 4 * GIB) => ({ name, usd, cpu, memory });
const job = (at: number, runs: number, cpu: number): FixedPod => ({
  ...{ at, runs, cpu, memory: GIB, workload: -1 },
  until: FOREVER,
});
const demandOf = (pods: readonly DemandedPod[], more: Partial<Demand> = {}): Demand => ({
  ...{ seconds: 3600, pods, scales: [], workloads: 0, daemons: { cpu: 0, memory: 0 } },
  ...more,
});
const SMALL = offer('small', 1, 1000);
const MIDDLE = offer('middle', 1.9, 3000);
const LARGE = offer('large', 2, 4000);
const worldOf = (demand: Demand, offers = [SMALL, MIDDLE, LARGE]): LifeWorld => ({
  ...{ demand, offers, worth: { cpu: 0.0005, memory: 0 }, unpaid: 8 },
  bootSeconds: () => 40,
});

const template = (cpu: string) => ({
  spec: { containers: [{ name: 'c', resources: { requests: { cpu, memory: '1Gi' } } }] },
});
const applied = (kind: string, name: string, spec: object, at = 0, runsFor?: number): TraceEvent => ({
  ...{ at, apply: { apiVersion: 'apps/v1', kind, metadata: { name }, spec } },
  ...(runsFor !== undefined && { runsFor }),
});
const traceOf = (...events: readonly TraceEvent[]): Trace => ({
  header: { trace: 'karpenter/v1', name: 'small', start: '2026-01-05T00:00:00Z', seconds: 3600 },
  events: () => events,
});
const WEB = { apiVersion: 'apps/v1', kind: 'Deployment', namespace: 'default', name: 'web' };

describe('demand of a trace', () => {
  it('has the pods of Jobs and the replicas of workloads, and ends the youngest replicas first', async () => {
    const demand = await readDemand(
      traceOf(
        applied('DaemonSet', 'agent', { template: template('100m') }),
        applied('Deployment', 'web', { replicas: 1, template: template('500m') }),
        applied('Job', 'batch', { parallelism: 2, completions: 3, template: template('2') }, 10, 60),
        { at: 100, scale: WEB, replicas: 2 },
        { at: 200, scale: WEB, replicas: 1 },
        { at: 300, delete: WEB },
      ),
      3,
    );
    expect(demand.daemons).toEqual({ cpu: 100, memory: GIB });
    expect(fixedPods(demand).map(({ at, runs, cpu, until }) => [at, runs, cpu, until])).toEqual([
      [0, FOREVER, 500, 300],
      [10, 63, 2000, FOREVER],
      [10, 63, 2000, FOREVER],
      [73, 63, 2000, FOREVER],
      [100, FOREVER, 500, 200],
    ]);
  });

  it('rejects pods that choose their nodes', async () => {
    const { spec } = template('1');
    const picky = applied('Deployment', 'web', { template: { spec: { ...spec, affinity: {} } } });
    await expect(readDemand(traceOf(picky), 3)).rejects.toThrow(
      'Deployment "web": pods with affinity are not supported',
    );
    const gpu = applied('Pod', 'p', spec);
    await expect(readDemand(traceOf(gpu), 3)).rejects.toThrow('Pod "p": this kind is not supported');
  });
});

describe('an offer', () => {
  it('leaves out types that cost more than a larger type', () => {
    const dear = offer('dear', 2.1, 3000);
    expect(undominated([dear, LARGE, SMALL, MIDDLE])).toEqual([SMALL, MIDDLE, LARGE]);
  });

  it('rates an amount by the price of fractions of types', () => {
    const [cpu, memory] = [offer('c', 1, 4000, 8 * GIB), offer('r', 2, 4000, 32 * GIB)];
    const worth = worthFor({ cpu: 8000, memory: 40 * GIB }, [cpu, memory]);
    expect(8000 * worth.cpu + 40 * GIB * worth.memory).toBeCloseTo(3);
  });

  it('bounds the cost by fractions of the type that suits each pod', async () => {
    const pods = [{ ...job(0, 1800, 2000), memory: 8 * GIB }];
    const offers = [offer('c', 1, 4000, 4 * GIB), offer('r', 1.5, 4000, 16 * GIB)];
    // half of r for half an hour; the pod would need two of c
    expect(await lowerBoundUsd(demandOf(pods), pods, offers)).toBeCloseTo(0.375);
  });
});

describe('packing with known ends', () => {
  it('pays a node from its start to the end of its last pod', () => {
    const course = (...pods: readonly FixedPod[]) => courseOf(pods, LARGE, TIMES);
    // ready at 140
    expect(course(job(100, 60, 1000))).toEqual({ cpu: 1000, memory: GIB, seconds: 92 });
    expect(course(job(100, 60, 1000), job(120, 60, 2000))).toEqual({ cpu: 3000, memory: 2 * GIB, seconds: 92 });
    // idle for 20 s, which costs less than a boot
    expect(course(job(100, 60, 1000), job(220, 60, 1000))?.seconds).toBe(172);
    expect(course(job(100, 60, 1000), job(300, 60, 1000))?.seconds).toBe(184);
  });

  it('lets a pod wait for room at most as long as a node boots', () => {
    expect(courseOf([job(0, 100, 3000), job(110, 100, 3000)], LARGE, TIMES)?.seconds).toBe(232);
    expect(courseOf([job(0, 100, 3000), job(90, 100, 3000)], LARGE, TIMES)).toBeUndefined();
  });

  it('puts pods with the same end together', () => {
    const pods = [job(0, 3000, 2000), job(0, 600, 2000), job(1, 3000, 2000), job(1, 600, 2000)];
    const chains = packClairvoyantly(pods, { ...TIMES, offers: [LARGE], iterations: 200 });
    expect(chains.map((chain) => chain.pods.map(({ runs }) => runs)).sort()).toEqual([
      [3000, 3000],
      [600, 600],
    ]);
    expect(priceOfChains(chains)).toBeCloseTo((2 * (3032 + 632)) / 3600);
  });
});

describe('a score', () => {
  it('chooses a node that the local scheduler chooses', () => {
    const random = pseudoRandom(7);
    const below = (limit: number): number => Math.floor(random() * limit);
    const podOf = (name: string, cpu: number, memory: number, app: string): Pod => ({
      ...{ apiVersion: 'v1', kind: 'Pod', metadata: { name, namespace: 'default', labels: { app } } },
      spec: { containers: [{ name: 'c', resources: { requests: { cpu: `${cpu}m`, memory: `${memory}Mi` } } }] },
    });
    for (let round = 0; round < 300; round += 1) {
      const places = new Map<string, NodeView & { readonly known: boolean }>();
      const nodes = Array.from({ length: 2 + below(8) }, (_, at) => {
        const name = `n${String(at).padStart(2, '0')}`;
        const all = { cpu: 1000 * (2 + below(15)), memory: GIB * (4 + below(60)) };
        const pods = Array.from({ length: below(5) }, (__, pod) =>
          podOf(`${name}-${pod}`, 100, 200, `app-${below(2)}`),
        );
        const isMarked = below(3) === 0;
        const used = { cpu: 100 * pods.length, memory: 200 * pods.length };
        const bytes = (size: { readonly cpu: number; readonly memory: number }) => ({
          ...size,
          memory: size.memory * 2 ** 20,
        });
        const labels = { 'kubernetes.io/hostname': name, 'topology.kubernetes.io/zone': 'a' };
        const taints = isMarked ? [{ key: 'emptying', effect: 'PreferNoSchedule' as const }] : [];
        const node: Node = { apiVersion: 'v1', kind: 'Node', metadata: { name, labels }, spec: { taints } };
        const amounts = { allocatable: bytes(all), requested: bytes(used), scored: bytes(used) };
        places.set(name, { node, name, labels, pods, known: true, ...amounts });
        return { name, isMarked, offer: all, ...used, pods };
      });
      const isOfWorkload = below(2) === 0;
      const pod = { cpu: 100 + below(1500), memory: 100 + below(3000) };
      const matchLabels = { app: 'app-0' };
      const copies = ({ pods }: { readonly pods: readonly Pod[] }): number =>
        pods.filter(({ metadata }) => metadata.labels?.app === 'app-0').length;
      const replicas = { on: copies, all: nodes.reduce((sum, node) => sum + copies(node), 0) };
      const views = [...places.values()];
      const best = bestNodes(podOf('new', pod.cpu, pod.memory, 'app-0'), views, {
        ...{ nodes: views, repelling: [], withAffinity: [], domainCounts: new DomainCounts(places) },
        defaultSelector: () => (isOfWorkload ? { matchLabels } : undefined),
        ...{ namespace: () => undefined, claim: () => undefined, volume: () => undefined, volumes: () => [] },
        ...{ storageClass: () => undefined, csiNode: () => undefined },
      });
      expect(bestNode<(typeof nodes)[number]>(pod, nodes, isOfWorkload ? replicas : undefined)?.name).toBe(
        best[0]?.name,
      );
    }
  });
});

describe('a life with kube-scheduler', () => {
  it('pays each node from its start until it is empty', () => {
    const life = new Life(worldOf(demandOf([job(10, 100, 1000)])), {}).run();
    expect(life.usd).toBeCloseTo((1 * (40 + 100 - 8)) / 3600);
    expect([life.launches, life.waits[0], life.nodes.length]).toEqual([1, 40, 0]);
  });

  it('keeps an empty node for a pod that arrives soon, or for a fixed time', () => {
    const demand = demandOf([job(0, 60, 1000), job(120, 60, 1000)]);
    expect(new Life(worldOf(demand), {}).run().launches).toBe(1);
    const kept = new Life(worldOf(demand), { keepSeconds: 10 }).run();
    expect(kept.launches).toBe(2);
    expect(kept.usd).toBeCloseTo((2 * (40 + 60 + 10 - 8)) / 3600);
  });

  it('deletes a pod of the node with most replicas first', () => {
    const replica = { at: 0, runs: FOREVER, cpu: 1000, memory: GIB, workload: 0 };
    const scales = [
      { at: 0, workload: 0, replicas: 3 },
      { at: 1000, workload: 0, replicas: 2 },
    ];
    const two = offer('two', 1, 2000);
    const demand = demandOf([replica, replica, replica], { scales, workloads: 1 });
    const life = new Life(worldOf(demand, [two]), {}).run();
    expect(life.nodes.map(({ pods }) => pods)).toEqual([1, 1]);
  });

  it('prefers nodes without a mark', () => {
    const demand = demandOf([job(0, 2000, 3000), job(1, 300, 3000), job(200, 100, 400), job(250, 100, 400)]);
    const life = new Life(worldOf(demand, [LARGE]), { marks: 'worth' });
    while (life.now < 250) {
      life.step();
      life.launch();
    }
    expect(life.nodes.map(({ pods, isMarked }) => [pods, isMarked])).toEqual([
      [2, false],
      [2, false],
    ]);
    const pinned = new Life(worldOf(demand, [LARGE]), { marks: 'worth' });
    while (pinned.now < 250) {
      if (pinned.now > 100) pinned.pin(1, true);
      pinned.step();
      pinned.launch();
    }
    expect(pinned.nodes.map(({ pods, isMarked }) => [pods, isMarked])).toEqual([
      [3, false],
      [1, true],
    ]);
  });
});

describe('a decision that is tried against the future', () => {
  const options = { evictions: 0, evictionUsd: [0.005], cpuSeconds: 60 };

  it('launches a larger node for a pod that comes later', () => {
    const world = worldOf(demandOf([job(0, 3000, 1000), job(60, 2940, 3000)]));
    expect(new Life(world, {}).run().launches).toBe(2);
    const { life, decisions } = rollOut(world, options);
    expect(decisions).toEqual([{ at: 0, what: 'launch', type: 'large', other: 'small' }]);
    expect(life.usd).toBeCloseTo((2 * (40 + 3000 - 8)) / 3600);
  });

  it('evicts pods of workloads only within the limit', () => {
    const pod = { at: 0, runs: FOREVER, cpu: 1000, memory: GIB };
    const pods = [
      { ...pod, workload: 0 },
      { ...pod, cpu: 3000, workload: 1 },
      { ...pod, at: 50, cpu: 3000, workload: 2 },
    ];
    const scales = [0, 1, 2].map((workload) => ({ at: pods[workload]?.at ?? 0, workload, replicas: 1 }));
    const ends = [{ at: 1000, workload: 1, replicas: 0 }];
    const world = worldOf(demandOf(pods, { scales: [...scales, ...ends], workloads: 3 }), [LARGE]);
    const still = rollOut(world, options).life;
    const moving = rollOut(world, { ...options, evictions: 1 }).life;
    expect([still.evictions, moving.evictions]).toEqual([0, 1]);
    expect(moving.usd).toBeLessThan(still.usd - 1);
  });
});

describe('the comparison of policies', () => {
  it('orders the costs from the fewest constraints to the most', async () => {
    const jobs = [0, 30, 400].map((at) =>
      applied('Job', `j${at}`, { parallelism: 2, completions: 2, template: template('3') }, at, 900),
    );
    const played = [{ usd: 1, evictions: 20, launches: 3 }];
    const result = await comparePolicies('small', traceOf(...jobs), 0.3, async () => played);
    const [bound = 0, ...others] = result.policies.map(({ usd }) => usd);
    expect(bound).toBeGreaterThan(0);
    expect(others.filter((usd) => usd > bound)).toHaveLength(4);
    const [, anyMoves = 0, fewMoves = 0, noMoves = 0] = others;
    expect([anyMoves, fewMoves, noMoves].toSorted((a, b) => a - b)).toEqual([anyMoves, fewMoves, noMoves]);
    const [head, , ...rows] = clairvoyantTable([
      { ...result, policies: [played[0] ?? { usd: 0, evictions: 0, launches: 0 }] },
    ]).split('\n');
    expect(head).toBe('|  | small |');
    expect(rows[0]).toBe("| Karpenter's way | $1.00, 20 evictions |");
  });

  it('adds up the costs of several traces', () => {
    const cost = (usd: number) => ({ usd, evictions: 2, launches: 1 });
    const resultOf = (trace: string, usd: number) => ({
      ...{ trace, replays: [cost(usd), cost(usd / 2)], policies: [], decisions: [] },
    });
    const [head, , , second] = clairvoyantTable([resultOf('a', 10), resultOf('b', 30)]).split('\n');
    expect(head).toBe('|  | a | b | together |');
    expect(second).toBe(
      '| default | $5.00 (0.500), 2 evictions | $15.00 (0.500), 2 evictions | $20.00 (0.500), 4 evictions |',
    );
  });

  it('needs traces and a positive CPU time', async () => {
    await expect(clairvoyantBenchmark(['--only', 'none'])).rejects.toThrow('there are no traces; use --traces');
    await expect(clairvoyantBenchmark(['--traces', import.meta.dirname, '--only', 'a'])).rejects.toThrow(
      /^no trace in .* begins with "a"; correct --traces or --only$/,
    );
    const wrong = clairvoyantBenchmark(['--cpu-seconds', '0']);
    await expect(wrong).rejects.toThrow('--cpu-seconds must be a positive number, not "0"');
  });
});
