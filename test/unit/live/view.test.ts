import { beforeEach, describe, expect, it } from '@jest/globals';
import { EMPTYING_TAINT, NODE, NODE_CLAIM, NODE_POOL, POD, type Pod } from '#api/objects';
import { CostAccount } from '#engine/costs';
import { nodeDetails, podDetails } from '../../../src/live/details.ts';
import { pendingGroups } from '../../../src/live/pending.ts';
import { Searches } from '../../../src/live/search.ts';
import { LiveFeed } from '../../../src/live/stream.ts';
import { LiveView } from '../../../src/live/view.ts';
import { present } from '../../support/present.ts';
import { LiveCluster, NOW_MS } from './live-cluster.ts';

let live: LiveCluster;
let view: LiveView;
beforeEach(() => {
  live = new LiveCluster();
  view = new LiveView(live.sources);
});

/** Runs one round of the background price updates. */
async function price(): Promise<void> {
  const stop = new AbortController();
  const running = view.run(stop.signal);
  await live.clock.advance(0);
  stop.abort();
  await live.clock.advance(10_000);
  await running;
}

const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'waits-0', namespace: 'default' } };

describe('the state of the live page', () => {
  it('has nodes with requested resources, price and the reason that they are kept', async () => {
    live.fill(1, 4);
    live.verdicts = [
      {
        node: 'node-0.internal',
        code: 'pdb',
        text: 'pdb',
        object: { kind: 'PodDisruptionBudget', namespace: 'a', name: 'b' },
        methods: [],
      },
    ];
    await price();
    expect(view.nodes()).toEqual([
      {
        name: 'node-0.internal',
        nodeClaim: 'claim-0',
        nodePool: 'default',
        instanceType: 'm7i.2xlarge',
        zone: 'us-west-2a',
        capacityType: 'spot',
        createdMs: NOW_MS - 3_600_000,
        state: 'ready',
        pods: 4,
        shares: { cpu: [1_000, 8_000], memory: [4 * 2 ** 29, 32 * 2 ** 30], pods: [4, 58] },
        blocks: [[31, 'running', 4]],
        usdPerHour: 0.25,
        // pods request an eighth of the CPUs and a sixteenth of the memory, which have 65 % and 35 % of the price
        idleUsdPerHour: 0.224203,
        verdict: { code: 'pdb', text: 'pdb', object: 'PodDisruptionBudget a/b' },
      },
    ]);
    expect(view.summary()).toMatchObject({ nodes: 1, pods: 4, pendingPods: 0, usdPerHour: 0.25, unpriced: 0 });
    expect(view.summary()).toMatchObject({
      usdPerMonth: 182.5,
      idleUsdPerMonth: 163.67,
      requested: { cpu: 0.125, memory: 0.063 },
      spotShare: 1,
    });
  });

  it('has the stages of rollouts, from the conditions of their NodePools', () => {
    live.fill(1, 1);
    expect(view.summary()).not.toHaveProperty('rollout');
    const [found] = live.cluster.stores.nodePools.list();
    if (found === undefined) throw new Error('expected a NodePool');
    const message = 'by NodePolicy careful, until 2026-11-22T12:10:00Z';
    const conditions = [{ type: 'DriftRollout', status: 'True' as const, reason: 'Soak', message }];
    live.stores.store(NODE_POOL).put(live.versioned({ ...found, status: { conditions } }));
    expect(view.summary().rollout).toBe(`rollout of NodePool ${found.metadata.name}: Soak, ${message}`);
  });

  it('has the used parts of the last sample while it is recent', async () => {
    live.fill(2, 1);
    const used = async (afterMs: number) => {
      await live.clock.advance(afterMs);
      view.summary();
      await live.clock.advance(0);
      return view.summary().used;
    };
    expect(await used(0)).toBeUndefined();
    live.uses = new Map([
      ['default/pod-0-0', { cpu: { p50: 1_600, p95: 1_600 }, memory: { p50: 2 ** 31, p95: 2 ** 31 } }],
    ]);
    expect(await used(30_000)).toBeUndefined();
    expect(await used(31_000)).toEqual({ cpu: 0.1, memory: 0.031 });
    live.uses = undefined;
    expect(await used(61_000)).toEqual({ cpu: 0.1, memory: 0.031 });
    expect(await used(5 * 60_000)).toBeUndefined();
  });

  it('has the same idle cost as the cost report', async () => {
    live.fill(5, 3);
    live.pod('large', 'node-1.internal', { phase: 'Succeeded' });
    await price();
    const account = new CostAccount();
    for (const node of live.cluster.nodes()) account.add(node, { usdPerHour: 0.25 });
    const { total } = account.report(NOW_MS);
    expect(view.summary().idleUsdPerMonth).toBeCloseTo(total.idleUsdPerHour * 730, 2);
  });

  it('shows the soft taint of nodes that can become empty', () => {
    live.fill(2, 1);
    const nodes = live.stores.store(NODE);
    const [node] = nodes.list();
    if (node === undefined) throw new Error('the cluster has no nodes');
    nodes.put(live.versioned({ ...node, spec: { ...node.spec, taints: [EMPTYING_TAINT] } }));
    expect(view.nodes().map(({ name, isEmptying }) => [name, isEmptying])).toEqual([
      ['node-0.internal', true],
      ['node-1.internal', undefined],
    ]);
  });

  it('has a block for each kind of pods, in thousandths of the tightest resource', () => {
    live.claim(0);
    live.node(0);
    const podOf = (name: string, cpu: string, more: Partial<Pod> & { owner?: string } = {}): void => {
      const pod = live.pod(name, 'node-0.internal', more.status);
      const { owner, ...rest } = more;
      const ownerReferences = owner === undefined ? [] : [{ apiVersion: 'apps/v1', kind: owner, name: 'x', uid: 'x' }];
      live.stores.store(POD).put(
        live.versioned({
          ...pod,
          metadata: { ...pod.metadata, ...rest.metadata, ownerReferences },
          spec: { ...pod.spec, containers: [{ name: 'main', resources: { requests: { cpu } } }] },
        }),
      );
    };
    podOf('a', '1');
    podOf('b', '1');
    podOf('agent', '100m', { owner: 'DaemonSet' });
    podOf('starts', '2', { status: { phase: 'Pending' } });
    podOf('ends', '500m', {
      metadata: { name: 'ends', namespace: 'default', deletionTimestamp: '2026-11-22T12:00:00Z' },
    });
    podOf('done', '4', { status: { phase: 'Succeeded' } });
    expect(view.nodes()[0]?.blocks).toEqual([
      [250, 'starting', 1],
      [125, 'running', 2],
      [63, 'leaving', 1],
      [13, 'daemon', 1],
    ]);
  });

  it('limits the number of blocks of a node, and keeps the number of pods', () => {
    live.claim(0);
    live.node(0);
    for (let index = 1; index <= 100; index += 1) {
      const pod = live.pod(`pod-${index}`, 'node-0.internal');
      const requests = { cpu: `${index * 8}m` };
      const spec = { ...pod.spec, containers: [{ name: 'main', resources: { requests } }] };
      live.stores.store(POD).put(live.versioned({ ...pod, spec }));
    }
    const blocks = view.nodes()[0]?.blocks ?? [];
    expect(blocks).toHaveLength(40);
    expect(blocks.reduce((sum, [, , pods]) => sum + pods, 0)).toBe(100);
    expect(blocks[39]).toEqual([31, 'running', 61]);
  });

  it('contains the parts of prices for surplus CPU credits', async () => {
    live.fill(2, 1);
    live.surplus = 0.05;
    await price();
    expect(view.summary()).toMatchObject({ usdPerHour: 0.5, surplusCreditsUsdPerHour: 0.1 });
    expect(view.nodes()[0]).toMatchObject({ usdPerHour: 0.25, surplusCreditsUsdPerHour: 0.05 });
    expect(nodeDetails('claim-0', live.cluster, view)?.node.surplusCreditsUsdPerHour).toBe(0.05);
    live.surplus = 0;
    await price();
    expect(view.nodes()[0]).not.toHaveProperty('surplusCreditsUsdPerHour');
  });

  it('counts nodes with an unknown price', async () => {
    live.price = undefined;
    live.fill(2, 0);
    await price();
    expect(view.summary()).toMatchObject({ usdPerHour: 0, unpriced: 2 });
    expect(view.nodes()[0]).not.toHaveProperty('usdPerHour');
  });

  it('keeps prices for a while if they cannot be updated', async () => {
    live.fill(1, 0);
    await price();
    live.price = undefined;
    await price();
    expect(view.summary()).toMatchObject({ usdPerHour: 0.25, unpriced: 0 });
    live.lookupError = new Error('no answer');
    await price();
    expect(view.summary()).toMatchObject({ usdPerHour: 0.25, unpriced: 0 });
  });

  it('lists pending pods, longest first, with their last event', () => {
    live.fill(1, 0, 2);
    view.note({ object: pod, type: 'Warning', reason: 'FailedScheduling', message: 'first' });
    view.note({ object: pod, type: 'Warning', reason: 'FailedScheduling', message: 'Failed to schedule pod, no room' });
    expect(view.saidOf('default/waits-0')).toBe('no room');
    view.note({ object: pod, type: 'Normal', reason: 'Nominated', message: 'elsewhere' });
    expect(view.pending()).toEqual([
      { pod: 'default/waits-0', sinceMs: NOW_MS - 60_000, reason: 'elsewhere', cause: expect.any(String) },
      { pod: 'default/waits-1', sinceMs: NOW_MS - 60_000 },
    ]);
    live.pod('waits-0', 'node-0.internal');
    expect(view.pending().map((each) => each.pod)).toEqual(['default/waits-1']);
    expect(view.saidOf('default/waits-0')).toBeUndefined();
  });

  it('groups pending pods by cause, counts all, and names the pods with the longest waits', () => {
    for (let index = 0; index < 300; index += 1) live.pod(`waits-${index}`);
    const message = 'Failed to schedule pod, at its limit. Raise it. Details: resources={"cpu":"2"}';
    view.note({ object: pod, type: 'Warning', reason: 'FailedScheduling', message });
    const cause = { object: { kind: 'NodePool', name: 'default' }, field: 'cpu', offered: '4' };
    live.podVerdicts = [1, 2].map((index) => ({
      ...{ pod: `default/waits-${index}`, code: 'unschedulable', text: `needs ${index}` },
      cause: { ...cause, code: 'limits', wanted: `${index}`, remedy: '' },
    }));
    live.podVerdicts.push({ pod: 'default/waits-0', code: 'undecided', text: 'not decided' });
    const groups = pendingGroups(view.pending(), 3);
    expect(groups.map(({ reason, pods, others }) => [reason, pods, others.length])).toEqual([
      ['at its limit. Raise it.', 1, 0],
      ['needs 1', 2, 1],
      [undefined, 297, 2],
    ]);
  });

  it('reports launched and terminated nodes with their price', async () => {
    const claim = live.claim(0, false);
    live.claim(0);
    await price();
    live.stores.store(NODE_CLAIM).remove(live.stores.store(NODE_CLAIM).get(claim.metadata) ?? claim);
    expect(view.decisions.list().map(({ topic, text, usdPerHour }) => [topic, text, usdPerHour])).toEqual([
      ['bought', 'Launched m7i.2xlarge in us-west-2a, spot for NodePool default', 0.25],
      ['given-back', 'Removed m7i.2xlarge in us-west-2a, spot', -0.25],
    ]);
  });
});

describe('the list of changes', () => {
  it('contains exactly the changes since the last update', async () => {
    live.fill(2, 1);
    await price();
    const feed = new LiveFeed(view);
    const next = () => feed.advance();
    expect(next()).toMatchObject({ nodes: [], gone: [], decisions: [], costs: [] });
    expect(next()).not.toHaveProperty('pending');

    live.pod('more', 'node-1.internal');
    live.pod('waits');
    const node = present(
      live.stores
        .store(NODE)
        .list()
        .find(({ metadata }) => metadata.name === 'node-0.internal'),
    );
    live.stores.store(NODE).remove(node);
    live.stores.store(NODE_CLAIM).remove(present(live.stores.store(NODE_CLAIM).get({ name: 'claim-0' })));
    const change = next();
    expect(change.nodes.map(({ name, pods }) => [name, pods])).toEqual([['node-1.internal', 2]]);
    expect(change.gone).toEqual(['node-0.internal']);
    expect(change.pending?.map((each) => each.pod)).toEqual(['default/waits']);
    expect(change.decisions.map(({ topic }) => topic)).toEqual(['given-back']);
    expect(next()).toMatchObject({ nodes: [], gone: [], decisions: [] });
  });
});

describe('the page of details of an object', () => {
  it('contains pods, methods, conditions and decisions of a node', () => {
    live.fill(1, 2);
    view.decisions.add({ atMs: NOW_MS, topic: 'problem', object: 'NodeClaim/claim-0', text: 'late' });
    view.decisions.add({ atMs: NOW_MS, topic: 'problem', object: 'NodeClaim/other', text: 'late' });
    const found = present(nodeDetails('claim-0', live.cluster, view));
    expect(found.node.name).toBe('node-0.internal');
    expect(found.pods.map((line) => line.pod)).toEqual(['default/pod-0-0', 'default/pod-0-1']);
    expect(found.conditions).toEqual([
      {
        ...{ kind: 'Node', type: 'Ready', status: 'True', reason: 'KubeletReady' },
        ...{ message: 'kubelet is posting ready status', sinceMs: 0 },
      },
    ]);
    expect(found.decisions).toHaveLength(1);
    expect(nodeDetails('nobody', live.cluster, view)).toBeUndefined();
  });

  it('contains the reason that a pod is pending', () => {
    live.fill(1, 0, 1);
    view.note({ object: pod, type: 'Warning', reason: 'FailedScheduling', message: 'no room' });
    expect(podDetails('default/waits-0', live.cluster, view)).toMatchObject({
      phase: 'Pending',
      scheduling: 'Unschedulable',
      reason: 'no room',
      requests: { cpu: 250, memory: 2 ** 29 },
    });
    expect(podDetails('waits-0', live.cluster, view)).toBeUndefined();
  });

  it('is found by parts of names, nodes first and at most fifty', async () => {
    const search = async (text: string) => (await new Searches(live.cluster).find(text)) ?? [];
    live.fill(3, 2);
    expect(await search('  ')).toEqual([]);
    expect((await search('NODE-1')).map(({ kind, name }) => [kind, name])).toEqual([['node', 'node-1.internal']]);
    expect((await search('pod-2')).map(({ kind }) => kind)).toEqual(['pod', 'pod']);
    live.fill(60, 0);
    expect(await search('internal')).toHaveLength(50);
  });

  it('never contains secrets of a pod', () => {
    live.fill(1, 1, 1);
    const shown = [
      new LiveFeed(view).state().toString(),
      nodeDetails('node-0.internal', live.cluster, view),
      podDetails('default/waits-0', live.cluster, view),
    ];
    expect(JSON.stringify(shown)).not.toContain('hunter2');
    expect(JSON.stringify(live.stores.store(POD).list())).toContain('hunter2');
  });
});
