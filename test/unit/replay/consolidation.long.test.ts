/** Consolidation with the default settings in small clusters with known results, and after a wave of many services. */
import { describe, expect, it } from '@jest/globals';
import type { Budget, KubeObject, NodePool } from '#api/objects';
import { CALM_FROM_MINUTE, waves } from '../../../bench/cluster/life-plan.ts';
import { KARPENTER, type NodeOptions, SETTINGS, type Setting, setOf } from '../../../bench/life/settings.ts';
import type { ReplayRun } from '../../../src/replay/result.ts';
import { run } from '../../../src/replay/run.ts';
import type { ObjectRef, Trace, TraceEvent } from '../../../src/replay/trace/trace.ts';
import { DEFAULT_WORLD } from '../../../src/replay/world-model/world-model.ts';
import { NEUTRAL_WORLD } from '../../support/short-life.ts';

const DEFAULT = SETTINGS.find(({ name }) => name === 'default') ?? KARPENTER;
const START = '2026-01-05T09:00:00Z';
/** Second at which the demand falls. */
const FALL = 300;

interface ServicePods {
  readonly replicas: number;
  readonly cpu: string;
  readonly memory?: string;
  /** True if each pod needs a node of its own. */
  readonly isSpread?: boolean;
}

function service(name: string, { replicas, cpu, memory = '256Mi', isSpread = false }: ServicePods): KubeObject {
  const labels = { app: name };
  const apart = { labelSelector: { matchLabels: labels }, topologyKey: 'kubernetes.io/hostname' };
  const affinity = { podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [apart] } };
  return {
    ...{ apiVersion: 'apps/v1', kind: 'Deployment', metadata: { namespace: 'default', name } },
    spec: {
      replicas,
      selector: { matchLabels: labels },
      template: {
        metadata: { labels },
        spec: {
          terminationGracePeriodSeconds: 0,
          containers: [{ name: 'main', image: 'pause', resources: { requests: { cpu, memory } } }],
          ...(isSpread && { affinity }),
        },
      },
    },
  } as unknown as KubeObject;
}

const refOf = (name: string): ObjectRef => ({ apiVersion: 'apps/v1', kind: 'Deployment', namespace: 'default', name });

interface Cluster {
  readonly events: readonly TraceEvent[];
  readonly minutes: number;
  readonly nodes: NodeOptions;
  readonly families?: readonly string[];
  readonly budget?: string;
  readonly seed?: number;
  readonly setting?: Setting;
}

/** Returns the NodePools of the cluster with its budget and families. */
const objectsOf = ({ nodes, families, budget = '100%', setting = DEFAULT }: Cluster): readonly KubeObject[] =>
  setOf(setting, 'none', nodes).objects.map((object) => {
    if (object.kind !== 'NodePool') return object;
    const { spec, ...pool } = object as NodePool;
    const family = { key: 'karpenter.k8s.aws/instance-family', operator: 'In', values: families } as const;
    const requirements = [...spec.template.spec.requirements, ...(families === undefined ? [] : [family])];
    const budgets: readonly Budget[] = [{ nodes: budget }];
    const template = { ...spec.template, spec: { ...spec.template.spec, requirements } };
    return { ...pool, spec: { ...spec, template, disruption: { ...spec.disruption, budgets } } } as KubeObject;
  });

function played(cluster: Cluster): Promise<ReplayRun> {
  const { events, minutes, setting = DEFAULT, seed } = cluster;
  const trace: Trace = {
    header: { trace: 'karpenter/v1', name: 'consolidation', start: START, seconds: 60 * minutes },
    events: () => events,
  };
  const world = seed === undefined ? NEUTRAL_WORLD : { ...DEFAULT_WORLD, seed };
  const set = { name: setting.name, says: [], args: setting.args, objects: objectsOf(cluster) };
  return run({ trace, world, set, signal: undefined, onProgress: () => {} });
}

/** Five nodes with 8 vCPUs for two pods each, of which one remains, so that 4 vCPUs suffice. */
const HALVED: readonly TraceEvent[] = [
  { at: 0, apply: service('staying', { replicas: 5, cpu: '3', isSpread: true }) },
  { at: 0, apply: service('ending', { replicas: 5, cpu: '4', isSpread: true }) },
  { at: FALL, delete: refOf('ending') },
];

describe.each(['0s', '30s'])('consolidation after %s with the default settings', (consolidateAfter) => {
  it.each([
    'spot',
    'on-demand',
  ] as const)('leaves the least number of %s nodes after a scale-down', async (capacity) => {
    const { series } = await played({
      events: [
        { at: 0, apply: service('web', { replicas: 100, cpu: '1' }) },
        { at: FALL, scale: refOf('web'), replicas: 40 },
      ],
      minutes: 10,
      nodes: { capacity, consolidateAfter, cpus: [4, 4] },
    });
    expect(series.nodes[5]).toBe(34);
    expect(series.nodes.at(-1)).toBe(14);
  });

  it('replaces nodes by nodes of half the price, with one eviction for each', async () => {
    const { series, evictions, nodes } = await played({
      ...{ events: HALVED, minutes: 15, families: ['c6g'] },
      nodes: { capacity: 'on-demand', consolidateAfter, cpus: [4, 8] },
    });
    expect(series.nodes.at(-1)).toBe(5);
    expect(series.usdPerHour.at(-1)).toBeCloseTo((series.usdPerHour[5] ?? 0) / 2, 1);
    expect(evictions).toBe(5);
    expect(Object.keys(nodes.hoursByType).sort()).toEqual(['c6g.2xlarge', 'c6g.xlarge']);
  });

  it('replaces on-demand nodes by spot nodes as soon as the NodePool allows them', async () => {
    const before: NodeOptions = { capacity: 'on-demand', consolidateAfter, cpus: [4, 4] };
    const after = objectsOf({ events: [], minutes: 0, nodes: { ...before, capacity: 'mixed' } });
    const { cost, series } = await played({
      events: [
        { at: 0, apply: service('web', { replicas: 3, cpu: '3' }) },
        ...after.filter(({ kind }) => kind === 'NodePool').map((apply) => ({ at: FALL, apply })),
      ],
      ...{ minutes: 15, nodes: before },
    });
    expect(cost.byCapacityType.spot).toBeGreaterThan(0);
    expect(series.spotNodes.at(-1)).toBe(3);
  });

  it('disrupts no more nodes at a time than budgets allow', async () => {
    const nodes: NodeOptions = { capacity: 'on-demand', consolidateAfter, cpus: [4, 8] };
    const results = [];
    for (const budget of ['0', '1', '2'])
      results.push(await played({ ...{ events: HALVED, minutes: 20, nodes, budget }, families: ['c6g'] }));
    const [none, ...some] = results;
    expect(none).toMatchObject({ evictions: 0, nodes: { bought: 5 } });
    some.forEach(({ series, evictions }, index) => {
      expect(Math.max(...series.nodes)).toBeLessThanOrEqual(5 + index + 1);
      expect(series.usdPerHour.at(-1)).toBeCloseTo((series.usdPerHour[5] ?? 0) / 2, 1);
      expect(evictions).toBe(5);
    });
  });
});

function waveEvents(seed: number): readonly TraceEvent[] {
  const { services, steps } = waves(seed);
  return [
    ...services.map(({ name, replicas, cpuMilli, memoryMib }) => ({
      at: 0,
      apply: service(name, { replicas, cpu: `${cpuMilli}m`, memory: `${memoryMib}Mi` }),
    })),
    ...steps.map(({ second, name, replicas }) => ({ at: second, scale: refOf(name), replicas })),
  ];
}

describe('consolidation of a cluster that is calm after a wave', () => {
  it.each([
    'spot',
    'on-demand',
  ] as const)("costs at most 10 %% more than with Karpenter's settings in twenty minutes, with %s nodes", async (capacity) => {
    let [ours, karpenters] = [0, 0];
    for (const seed of [1, 2, 3]) {
      const nodes: NodeOptions = { capacity, consolidateAfter: '30s' };
      const cluster = { events: waveEvents(seed), minutes: CALM_FROM_MINUTE + 20, nodes, seed };
      ours += (await played(cluster)).series.usdPerHour.at(-1) ?? Number.POSITIVE_INFINITY;
      karpenters += (await played({ ...cluster, setting: KARPENTER })).series.usdPerHour.at(-1) ?? 0;
    }
    expect(karpenters).toBeGreaterThan(0);
    expect(ours / karpenters).toBeLessThanOrEqual(1.1);
  });
});
