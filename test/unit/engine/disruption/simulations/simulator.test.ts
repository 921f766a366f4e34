import { describe, expect, it } from '@jest/globals';
import { type NodePool, type Pod, ZONE_LABEL } from '#api/objects';
import {
  type Simulation,
  type SimulationOptions,
  strandedText,
} from '../../../../../src/engine/disruption/simulations/simulation.ts';
import { Simulator } from '../../../../../src/engine/disruption/simulations/simulator.ts';
import type { PoolInput, Snapshot, SolveOptions, StateNode } from '../../../../../src/engine/model.ts';
import { snapshot } from '../../build.ts';
import { at, budget, claim, instanceType, NOW, pod, pool, stateNode } from '../objects.ts';

const types = [instanceType('m.large', 2, 0.1)];
const quietPool: PoolInput = { nodePool: pool('default', { consolidateAfter: '10m' }), instanceTypes: types };

const busy = (name: string, cpu = '100m'): Pod =>
  pod(name, { spec: { nodeName: 'x', containers: [{ name: 'main', resources: { requests: { cpu } } }] } });
const pending = (name: string): Pod =>
  pod(name, {
    spec: { nodeName: '', containers: [{ name: 'main', resources: { requests: { cpu: '100m' } } }] },
    status: { phase: 'Pending', conditions: [{ type: 'PodScheduled', status: 'False', reason: 'Unschedulable' }] },
  });

interface Scene {
  readonly gone: StateNode;
  readonly others?: readonly StateNode[];
  readonly pendingPods?: readonly Pod[];
  readonly pools?: readonly PoolInput[];
  /** Other nodes belong to these NodePools, which launch no nodes for pods. */
  readonly otherPools?: readonly NodePool[];
  readonly more?: Partial<Snapshot>;
}

const snapshotOf = ({ gone, others = [], pendingPods = [], pools = [quietPool], more = {} }: Scene): Snapshot => ({
  ...snapshot({ nowMs: NOW, nodes: [gone, ...others], pendingPods }),
  pools,
  ...more,
});

function simulatorOf(scene: Scene, limits: Pick<SolveOptions, 'deadlineMs' | 'elapsedMs'> = {}): Simulator {
  const { pools = [quietPool], otherPools = [] } = scene;
  return new Simulator(snapshotOf(scene), {
    nodePools: [...pools.map(({ nodePool }) => nodePool), ...otherPools],
    solve: {
      ...{ preferencePolicy: 'Respect', minValuesPolicy: 'Strict', reservedMode: 'off', ignoreDraRequests: true },
      ...limits,
    },
  });
}

const simulate = (scene: Scene, options: SimulationOptions = { sparesQuietNodes: false }): Simulation | undefined =>
  simulatorOf(scene).without([scene.gone.providerId], options);

/** State of a node that was initialized this long ago. */
const initialized = (name: string, agoMs: number) =>
  claim(name, {
    status: {
      providerID: `aws:///${name}`,
      conditions: [{ type: 'Initialized', status: 'True', lastTransitionTime: at(NOW - agoMs) }],
    },
  });

describe('a simulation', () => {
  it('moves pods to nodes with room', () => {
    const found = simulate({ gone: stateNode('a', { pods: [busy('p')] }), others: [stateNode('b')] });
    expect(found?.claims).toEqual([]);
    expect(found?.plan.placements).toMatchObject([{ node: 'b', pods: ['default/p'] }]);
    expect(found?.stranded.size).toBe(0);
  });

  it('launches nodes if no node has room', () => {
    const full = stateNode('b', { pods: [busy('q', '1800m')] });
    const found = simulate({ gone: stateNode('a', { pods: [busy('p', '500m')] }), others: [full] });
    expect(found?.claims).toMatchObject([{ nodePool: 'default', pods: ['default/p'] }]);
  });

  it('reports running pods that would be stranded, but not pods that are pending anyway', () => {
    const unsold = { ...quietPool, instanceTypes: [] };
    const found = simulate({
      gone: stateNode('a', { pods: [busy('p')] }),
      pendingPods: [pending('w')],
      pools: [unsold],
    });
    expect([...(found?.stranded.keys() ?? [])]).toEqual(['default/p']);
    expect(found?.plan.refusals.has('default/w')).toBe(true);
  });

  it('does not use uninitialized nodes', () => {
    const coming = stateNode('b', { state: { initialized: false } });
    const found = simulate({ gone: stateNode('a', { pods: [busy('p')] }), others: [coming] });
    expect(found?.stranded.get('default/p')).toBe('would schedule against uninitialized nodeclaim/b, node/b');
  });

  it('lets pods of nodes that are being deleted use uninitialized nodes', () => {
    const coming = stateNode('b', { state: { initialized: false } });
    const going = stateNode('c', { pods: [busy('q')], state: { markedForDeletion: true } });
    const found = simulate({ gone: stateNode('a'), others: [coming, going] });
    expect(found?.plan.placements).toMatchObject([{ node: 'b', pods: ['default/q'] }]);
    expect(found?.stranded.size).toBe(0);
  });

  it('excludes pods that cannot be evicted at all', () => {
    const fixed = { ...busy('p'), metadata: { name: 'p', namespace: 'default', labels: { app: 'db' } } };
    const found = simulate({
      gone: stateNode('a', { pods: [fixed] }),
      more: { podDisruptionBudgets: [budget('db', { selector: { matchLabels: { app: 'db' } }, maxUnavailable: 0 })] },
    });
    expect(found?.plan).toMatchObject({ claims: [], placements: [] });
    expect(found?.plan.refusals.size).toBe(0);
  });

  it('is cancelled if the candidate is being deleted', () => {
    const going = stateNode('a', { state: { markedForDeletion: true } });
    const base = simulate({ gone: stateNode('a'), others: [going] });
    expect(base).toBeUndefined();
  });

  const others = [stateNode('b', { claim: initialized('b', 60_000) })];
  it.each([
    { pool: '10m', spares: true, to: 'a new node' },
    { pool: '10m', spares: false, to: 'b' },
    { pool: '30s', spares: true, to: 'b' },
    { pool: 'Never', spares: true, to: 'b' },
  ])('moves pods to $to if consolidateAfter is $pool and quiet nodes are spared: $spares', ({
    pool: consolidateAfter,
    spares,
    to,
  }) => {
    const pools = [{ ...quietPool, nodePool: pool('default', { consolidateAfter }) }];
    const scene = { gone: stateNode('a', { pods: [busy('p')] }), others, pools };
    const found = simulate(scene, { sparesQuietNodes: spares });
    expect(found?.claims).toHaveLength(to === 'b' ? 0 : 1);
    expect(found?.plan.placements.map(({ node }) => node)).toEqual(to === 'b' ? ['b'] : []);
  });

  it('spares quiet nodes from pods that tolerate everything', () => {
    const anywhere = busy('p');
    const tolerant = { ...anywhere, spec: { ...anywhere.spec, tolerations: [{ operator: 'Exists' as const }] } };
    const found = simulate({ gone: stateNode('a', { pods: [tolerant] }), others }, { sparesQuietNodes: true });
    expect(found?.claims).toMatchObject([{ pods: ['default/p'] }]);
  });

  it('spares quiet nodes of NodePools that launch no nodes for pods', () => {
    const quiet = stateNode('b', { pool: 'static', claim: initialized('b', 60_000) });
    const scene = { gone: stateNode('a', { pods: [busy('p')] }), others: [quiet] };
    const otherPools = [pool('static', { consolidateAfter: '10m' })];
    expect(simulate({ ...scene, otherPools }, { sparesQuietNodes: true })?.claims).toHaveLength(1);
    expect(simulate(scene, { sparesQuietNodes: true })?.claims).toHaveLength(0);
  });

  it('counts pods that stay on the candidate until it terminates', () => {
    const labels = { app: 'web' };
    const spread = {
      topologySpreadConstraints: [
        {
          maxSkew: 1,
          topologyKey: ZONE_LABEL,
          whenUnsatisfiable: 'DoNotSchedule' as const,
          labelSelector: { matchLabels: labels },
        },
      ],
    };
    const web = (name: string, annotations = {}): Pod => ({
      ...busy(name),
      metadata: { name, namespace: 'default', labels, annotations },
      spec: { ...busy(name).spec, ...spread },
    });
    const stays = web('stays', { 'karpenter.sh/do-not-disrupt': 'true' });
    const cleared = claim('a', { spec: { terminationGracePeriod: '1h' } });
    const gone = stateNode('a', { pods: [stays, web('moves')], claim: cleared });
    const found = simulate({ gone, others: [stateNode('c')] });
    // zone-a has `stays` and node `c` has room, but zone-b would then be two pods behind.
    expect(found?.plan.placements).toEqual([]);
    expect(found?.claims.flatMap(({ requirements }) => requirements)).toContainEqual(
      expect.objectContaining({ key: ZONE_LABEL, values: ['zone-b'] }),
    );
  });

  it('spares quiet nodes from moved pods, but not from pending pods', () => {
    const scene = { gone: stateNode('a'), others, pendingPods: [pending('w')] };
    const found = simulate(scene, { sparesQuietNodes: true });
    expect(found?.plan.placements).toMatchObject([{ node: 'b', pods: ['default/w'] }]);
  });
});

describe('a simulation of a pod that has not started', () => {
  it('may use a quiet node, because the pod would be scheduled there anyway', () => {
    const others = [stateNode('b', { claim: initialized('b', 60_000) })];
    const starting = (phase: 'Pending' | 'Running'): Pod => ({ ...busy('p'), status: { phase } });
    const claimsFor = (phase: 'Pending' | 'Running') =>
      simulate({ gone: stateNode('a', { pods: [starting(phase)] }), others }, { sparesQuietNodes: true })?.claims;
    expect(claimsFor('Pending')).toHaveLength(0);
    expect(claimsFor('Running')).toHaveLength(1);
  });
});

describe('a simulation after another', () => {
  it('has the full deadline as well', () => {
    let now = 0;
    const gone = stateNode('a', { pods: [busy('p')] });
    const base: Snapshot = {
      nowMs: NOW,
      pools: [quietPool],
      nodes: [gone],
      pendingPods: [],
      daemonPods: [],
      namespaces: [],
      podDisruptionBudgets: [],
      persistentVolumeClaims: [],
      persistentVolumes: [],
      storageClasses: [],
    };
    const simulator = new Simulator(base, {
      nodePools: [quietPool.nodePool],
      solve: {
        preferencePolicy: 'Respect',
        minValuesPolicy: 'Strict',
        reservedMode: 'off',
        ignoreDraRequests: true,
        deadlineMs: 1000,
        elapsedMs: () => now,
      },
    });
    const asked = (sparesQuietNodes: boolean) =>
      simulator.without([gone.providerId], { sparesQuietNodes })?.claims.length;
    expect(asked(false)).toBe(1);
    now = 5000;
    expect(asked(true)).toBe(1);
  });

  it('is made once for equal inputs', () => {
    const gone = stateNode('a', { pods: [busy('p')] });
    const simulator = simulatorOf({ gone, others: [stateNode('b'), stateNode('c')] });
    const asked = (options: SimulationOptions, ...ids: readonly string[]) =>
      simulator.without([gone.providerId, ...ids], options);
    const first = asked({ sparesQuietNodes: true });
    expect(asked({ sparesQuietNodes: true })).toBe(first);
    expect(asked({ sparesQuietNodes: false })).not.toBe(first);
    expect(asked({ sparesQuietNodes: true }, 'aws:///b')).not.toBe(first);
  });

  it('is repeated if the first one timed out', () => {
    let now = 0;
    const gone = stateNode('a', { pods: [busy('p')] });
    const elapsedMs = (): number => (now += 400);
    const simulator = simulatorOf({ gone, others: [stateNode('b')] }, { deadlineMs: 100, elapsedMs });
    const asked = () => simulator.without([gone.providerId], { sparesQuietNodes: false });
    const late = asked();
    expect(late?.stranded.size).toBe(1);
    expect(asked()).not.toBe(late);
  });
});

describe('strandedText', () => {
  it('names five pods', () => {
    const stranded = new Map(['a', 'b', 'c', 'd', 'e', 'f', 'g'].map((name) => [`ns/${name}`, 'no']));
    expect(strandedText(stranded)).toBe(
      'not all pods would schedule, ns/a => no; ns/b => no; ns/c => no; ns/d => no; ns/e => no and 2 other(s)',
    );
  });
});
