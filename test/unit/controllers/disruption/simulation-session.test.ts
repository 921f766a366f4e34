/** When simulations go on working on the cluster that others have worked on. */
import { beforeEach, describe, expect, it } from '@jest/globals';
import type { Pod } from '../../../../src/api/kubernetes.ts';
import type { NodePool } from '../../../../src/api/nodepool.ts';
import type { Deps } from '../../../../src/controllers/deps.ts';
import { sessions } from '../../../../src/controllers/disruption/simulation-session.ts';
import type { InstanceType, StateNode } from '../../../../src/engine/model.ts';
import type { SimulationInput, SimulationRunner } from '../../../../src/engine-worker/simulation-runner.ts';
import { parseSettings } from '../../../../src/process/settings.ts';
import { at, claim, instanceType, NOW, pod, pool, stateNode } from '../../engine/disruption/objects.ts';
import { type VirtualClock, virtualClock } from '../../virtualclock.ts';

interface Seen {
  nodes: readonly StateNode[];
  pods: readonly Pod[];
  pools: readonly NodePool[];
  types: readonly InstanceType[];
  virtualPods: readonly Pod[];
  claims: readonly object[];
}

const ready = (): NodePool =>
  ({
    ...pool('default', { consolidateAfter: '10m' }),
    status: { conditions: [{ type: 'Ready', status: 'True' }] },
  }) as NodePool;
const waiting = (name: string): Pod =>
  pod(name, {
    spec: { nodeName: '', containers: [] },
    status: { phase: 'Pending', conditions: [{ type: 'PodScheduled', status: 'False', reason: 'Unschedulable' }] },
  });

let seen: Seen;
let clock: VirtualClock;
let simulated: SimulationInput[];
let opened: (changes?: Partial<SimulationRunner>) => ReturnType<typeof sessions>;
let open: ReturnType<typeof sessions>;
beforeEach(() => {
  clock = virtualClock(NOW);
  simulated = [];
  seen = {
    nodes: [stateNode('a')],
    pods: [waiting('one')],
    pools: [ready()],
    types: [instanceType('m.large', 2, 0.1)],
    virtualPods: [],
    claims: [],
  };
  const nothing = { list: () => [] as const };
  const none: readonly never[] = [];
  const empty = { list: () => none };
  const cluster = {
    nodes: () => seen.nodes,
    unlaunched: { overdue: () => none, podsOfOverdueClaims: () => new Set() },
    virtualPods: { list: () => seen.virtualPods },
    defaultSpread: () => undefined,
    manages: () => true,
    stores: {
      pods: { byIndex: () => seen.pods },
      nodePools: { list: () => seen.pools },
      persistentVolumeClaims: { list: () => seen.claims },
      daemonSets: nothing,
      ...{ namespaces: empty, podDisruptionBudgets: empty, persistentVolumes: empty, storageClasses: empty },
    },
  };
  const settings = parseSettings(['--cluster-name=test', '--cluster-endpoint=https://test'], {});
  const deps = { cluster, clock, cloud: { instanceTypes: async () => seen.types }, settings };
  opened = (changes = {}) => sessions(deps as unknown as Deps, { ...runner, ...changes });
  const runner: SimulationRunner = {
    simulate: async (input) => {
      simulated.push(input);
      return undefined;
    },
    decide: async () => ({ commands: [], exhausted: true, events: [] }),
  };
  open = opened();
});

/** On the cluster as it is now. */
const simulate = async (): Promise<SimulationInput | undefined> => {
  await open().simulate([], { sparesQuietNodes: true });
  return simulated.at(-1);
};

describe('sessions of simulations', () => {
  it('work on one cluster while nothing has changed but the time', async () => {
    const first = await simulate();
    await clock.advance(24 * 3_600_000);
    expect(await simulate()).toBe(first);
  });

  it('work on another after as long as the runner wants one to hold', async () => {
    open = opened({ sameForMs: 60_000 });
    const first = await simulate();
    await clock.advance(59_999);
    expect(await simulate()).toBe(first);
    await clock.advance(1);
    expect(await simulate()).not.toBe(first);
  });

  it.each<[string, () => Partial<Seen>]>([
    ['a node', () => ({ nodes: [stateNode('a')] })],
    ['a pod that waits', () => ({ pods: [waiting('one')] })],
    ['the number of pods that wait', () => ({ pods: [] })],
    ['a NodePool', () => ({ pools: [ready()] })],
    ['a price', () => ({ types: [...seen.types] })],
    ['a capacity buffer', () => ({ virtualPods: [pod('room')] })],
    ['a volume claim', () => ({ claims: [{}] })],
  ])('work on another when %s has changed', async (_, change) => {
    const first = await simulate();
    Object.assign(seen, change());
    const second = await simulate();
    expect(second).not.toBe(first);
    expect(await simulate()).toBe(second);
  });

  it('work on another once a node has been quiet for long enough', async () => {
    const conditions = [{ type: 'Initialized', status: 'True' as const, lastTransitionTime: at(NOW) }];
    seen.nodes = [stateNode('a', { claim: claim('a', { status: { conditions } }) })];
    const first = await simulate();
    await clock.advance(599_999);
    expect(await simulate()).toBe(first);
    await clock.advance(1);
    expect(await simulate()).not.toBe(first);
  });
});
