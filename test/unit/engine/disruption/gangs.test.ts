/** Running gangs under the disruption methods. */
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { GANG_DISRUPTION_ANNOTATION, type Pod } from '#api/objects';
import type { Candidate, Command } from '../../../../src/engine/disruption/command.ts';
import { withinBudgets } from '../../../../src/engine/disruption/method.ts';
import { described, passCluster, passInput, prepare } from '../../../../src/engine/disruption/pass.ts';
import { METHODS, review } from '../../../../src/engine/disruption/review.ts';
import type { StateNode } from '../../../../src/engine/model.ts';
import { passOn, untilAtRest } from '../../../support/cluster-course.ts';
import { type Cluster, clusterOf } from '../../../support/clusters.ts';
import { inGang } from '../gangs/build.ts';
import { Draw } from '../scenarios.ts';
import { at, claim, instanceType, NOW, pod, pool, stateNode } from './objects.ts';

const service = {
  ownerReferences: [{ apiVersion: 'apps/v1', kind: 'StatefulSet', name: 'web', uid: 'u', controller: true }],
};
const requesting = (own: Pod, value: string): Pod => ({
  ...own,
  metadata: { ...own.metadata, annotations: { ...own.metadata.annotations, [GANG_DISRUPTION_ANNOTATION]: value } },
});

/** Members of random gangs, by name of the gang. */
const membersOf = (nodes: readonly StateNode[]): ReadonlyMap<string, readonly { node: string; pod: Pod }[]> => {
  const all = nodes.flatMap((node) => node.pods.map((each) => ({ node: node.providerId, pod: each })));
  const groups = Map.groupBy(all, (each) => each.pod.metadata.annotations?.['karpenter-ts.sh/gang'] ?? '');
  groups.delete('');
  return groups;
};

/** Marks pods of several nodes as gangs, and some nodes as drifted. */
function withGangs(cluster: Cluster, seed: number): Cluster {
  const draw = new Draw(seed);
  const nodes = cluster.snapshot.nodes.map((node) => {
    const pods = node.pods.map((each, index) => {
      if (index === 0 || !draw.chance(0.15)) return each;
      const gang = draw.below(5);
      return requesting(inGang(each, `gang-${gang}`), gang === 0 ? 'WhenFinished' : 'Together');
    });
    const { nodeClaim } = node;
    if (nodeClaim === undefined || !draw.chance(0.2)) return { ...node, pods };
    const conditions = [
      ...(nodeClaim.status?.conditions ?? []),
      { type: 'Drifted', status: 'True' as const, lastTransitionTime: at(cluster.snapshot.nowMs - 60_000) },
    ];
    return { ...node, pods, nodeClaim: { ...nodeClaim, status: { ...nodeClaim.status, conditions } } };
  });
  return { ...cluster, snapshot: { ...cluster.snapshot, nodes } };
}

/** Checks a command, and counts the gangs that it moves and leaves. */
function judge(command: Command, { snapshot }: Cluster, seen: Record<'whole' | 'kept', number>): void {
  const gone = new Set(command.candidates.map(({ providerId }) => providerId));
  for (const [name, members] of membersOf(snapshot.nodes)) {
    const evicted = members.filter(({ node }) => gone.has(node)).length;
    expect([0, members.length]).toContain(evicted);
    if (evicted > 1) expect(name).not.toBe('gang-0');
    if (evicted > 1 && gone.size > 1) seen.whole += 1;
    if (evicted === 0) seen.kept += 1;
  }
}

describe('disruption of random clusters with running gangs', () => {
  it('evicts a gang as a whole or not at all, within budgets, and never a gang that stays until it finishes', async () => {
    const seen = { commands: 0, whole: 0, kept: 0 };
    await fc.assert(
      fc.asyncProperty(fc.nat(10_000), fc.constantFrom('50%', '100%'), async (seed, budget) => {
        const shape = { seed, nodes: 12, podsPerNode: 5, workloads: 4, ruled: 0, fill: [0.2, 0.6] as const };
        const pools = [{ name: 'default', capacityTypes: ['on-demand'], budget }];
        const cluster = withGangs(
          clusterOf({ ...shape, pools, offered: /^[cmr]6i\./, bought: /^m6i\.(|x|2x)large$/ }),
          seed,
        );
        let steps = 0;
        for await (const { command, before } of untilAtRest(cluster)) {
          judge(command, before, seen);
          const allowed = Math.ceil((before.snapshot.nodes.length * Number.parseInt(budget, 10)) / 100);
          expect(command.candidates.length).toBeLessThanOrEqual(allowed);
          seen.commands += 1;
          if (++steps === 6) break;
        }
      }),
      { numRuns: 40, seed: 11, endOnFailure: true },
    );
    expect(seen.commands).toBeGreaterThan(20);
    expect(seen.whole).toBeGreaterThan(5);
    expect(seen.kept).toBeGreaterThan(5);
  });
});

const types = [1, 2, 4, 8].map((cpu) => instanceType(`m.${cpu}`, cpu, cpu * 0.05));
const pools = [
  { nodePool: pool('default', { consolidateAfter: '0s', budgets: [{ nodes: '100%' }] }), instanceTypes: types },
];

const member = (name: string, more: Parameters<typeof pod>[1] = {}) =>
  inGang(pod(name, { ...more, metadata: { ...more.metadata } }), 'train', 2);
const on = (name: string, pods: readonly Pod[], more: Parameters<typeof stateNode>[1] = {}) =>
  stateNode(name, { type: 'm.4', pods, ...more });

async function reasonsOf(nodes: readonly StateNode[], method = 'drift') {
  const pass = passInput(
    passCluster({ nodes, podDisruptionBudgets: [] }, pools, { inProgress: new Set(), consolidation: 'compatible' }),
    { nowMs: NOW, spotToSpot: false, simulate: async () => undefined, elapsedMs: () => 0 },
  );
  const found = METHODS.find(({ name }) => name === method);
  if (found === undefined) throw new Error(method);
  const { blocks, declined, candidates } = await prepare(found, pass);
  return {
    candidates: candidates.map(({ name }) => name),
    reasons: Object.fromEntries([...blocks, ...[...declined].map(([id, { reason }]) => [id, reason] as const)]),
  };
}

const drifted = (name: string, minutes: number, terminationGracePeriod?: string) =>
  claim(name, {
    spec: terminationGracePeriod === undefined ? {} : { terminationGracePeriod },
    status: {
      conditions: [
        { type: 'Drifted', status: 'True', lastTransitionTime: at(NOW - minutes * 60_000) },
        { type: 'Consolidatable', status: 'True' },
        { type: 'Initialized', status: 'True', lastTransitionTime: at(NOW - 3_000_000) },
      ],
    },
  });

describe('a node with a pod of a running gang', () => {
  it('stays until the gang finishes if an eviction loses work, with a reason that names the gang', async () => {
    const { candidates, reasons } = await reasonsOf(
      [on('a', [member('a')]), on('b', [member('b')]), on('c', [pod('c')])],
      'single-node consolidation',
    );
    expect(candidates).toEqual(['c']);
    expect(reasons['aws:///a']).toEqual({
      code: 'gang',
      text: 'gang train (2 pods on 2 nodes) is not moved before it finishes',
    });
  });

  it.each([
    { what: 'a finished pod', pods: [member('b', { status: { phase: 'Succeeded' } })] },
    { what: 'no other pod', pods: [] },
  ])('is a candidate if the gang has $what', async ({ pods }) => {
    const { candidates } = await reasonsOf([on('a', [member('a')]), on('b', pods)], 'single-node consolidation');
    expect(candidates).toContain('a');
  });

  it('is a candidate if a single pod of the gang is enough', async () => {
    const single = (name: string) => inGang(pod(name), 'train', 1);
    const nodes = [on('a', [single('a')]), on('b', [single('b')])];
    expect((await reasonsOf(nodes, 'single-node consolidation')).candidates).toEqual(['a', 'b']);
  });

  it('is blocked if another node of the gang must stay, with the reason of that node', async () => {
    const replica = (name: string) => member(name, { metadata: service });
    const kept = on('b', [replica('b')], { annotations: { 'karpenter.sh/do-not-disrupt': 'true' } });
    const { candidates, reasons } = await reasonsOf([on('a', [replica('a')]), kept], 'multi-node consolidation');
    expect(candidates).toEqual([]);
    expect(reasons['aws:///a']?.text).toBe(
      'gang train (2 pods on 2 nodes) moves only as a whole: node b stays, disruption is blocked through the "karpenter.sh/do-not-disrupt" annotation',
    );
  });

  it('waits for the end of the gang for the terminationGracePeriod after it has drifted', async () => {
    const at30 = on('a', [member('a')], { claim: drifted('a', 30, '1h') });
    const waiting = await reasonsOf([at30, on('b', [member('b')])]);
    expect(waiting.candidates).toEqual([]);
    expect(waiting.reasons['aws:///a']?.nearestMiss).toBe(`until ${at(NOW + 30 * 60_000)}`);
    const at90 = on('a', [member('a')], { claim: drifted('a', 90, '1h') });
    expect((await reasonsOf([at90, on('b', [member('b')])])).candidates).toEqual(['a']);
    const endless = on('a', [member('a')], { claim: drifted('a', 90) });
    expect((await reasonsOf([endless, on('b', [member('b')])])).candidates).toEqual([]);
  });

  it('drifts together with the nodes of the gang that have not drifted, if the budget allows all of them', async () => {
    const replica = (name: string) => member(name, { metadata: service });
    const nodes = [on('a', [replica('a')], { claim: drifted('a', 5) }), on('b', [replica('b')])];
    const drive = async (budget: string) => {
      const nodePool = pool('default', { consolidateAfter: '0s', budgets: [{ nodes: budget }] });
      const input = { nodePool, instanceTypes: types };
      const empty = { pendingPods: [], daemonPods: [], namespaces: [], storageClasses: [], podDisruptionBudgets: [] };
      const volumes = { persistentVolumeClaims: [], persistentVolumes: [] };
      const snapshot = { ...empty, ...volumes, nowMs: NOW, nodes, pools: [input] };
      const drift = METHODS.find(({ name }) => name === 'drift');
      if (drift === undefined) throw new Error('drift');
      const { result } = await review(drift, passOn({ snapshot, pools: new Map([['default', input]]) }));
      return result;
    };
    const { commands } = await drive('2');
    expect(commands.map(({ candidates }) => candidates.map(({ name }) => name))).toEqual([['a', 'b']]);
    const { commands: none, reasons } = await drive('1');
    expect(none).toEqual([]);
    expect(reasons?.get('aws:///a')?.text).toBe(
      'the budgets of its NodePool allow not 2 further disruptions, which gang train (2 pods on 2 nodes) needs together, for reason Drifted',
    );
  });
});

describe('withinBudgets', () => {
  const nodes = ['a', 'b', 'c'].map(
    (name) => described(stateNode(name), new Map([['default', { nodePool: pool(), instanceTypes: [] }]])) as Candidate,
  );
  const [a, b, c] = nodes as [Candidate, Candidate, Candidate];
  const gang = { text: 'gang train', candidates: [a, c] };
  const gangs = new Map([
    [a.providerId, gang],
    [c.providerId, gang],
  ]);

  it('accepts the nodes of a gang together at the place of the first, or none of them', () => {
    const taken = (budget: number, candidates = nodes) =>
      withinBudgets(candidates, new Map([['default', budget]]), gangs).taken.map(({ name }) => name);
    expect(taken(3)).toEqual(['a', 'c', 'b']);
    expect(taken(1)).toEqual(['b']);
    expect(taken(3, [a, b])).toEqual(['b']);
  });
});
