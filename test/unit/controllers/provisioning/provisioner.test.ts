import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { EC2_NODE_CLASS, NODE_POOL, type NodeClaim, POD } from '#api/objects';
import type { Snapshot } from '#engine/model';
import { localSolver } from '#engine-worker';
import type { Pressure } from '#process/memory';
import { present } from '../../../support/present.ts';
import { World } from '../harness.ts';

let world: World;
beforeEach(() => {
  world = new World();
});
afterEach(() => world.kill());

const messages = (text: string): number => world.lines.filter(({ message }) => message === text).length;

describe('provisioning', () => {
  it('launches nodes for a burst of pods together', async () => {
    world.nodePool();
    world.start();
    await world.pass(2);
    world.pending(6);
    await world.pass(20);

    expect(world.pods.every(({ spec }) => spec.nodeName)).toBe(true);
    expect(messages('found provisionable pod(s)')).toBe(1);
    expect(world.claims).toHaveLength(1);
    expect(await world.metrics.text()).toMatch(
      /nodeclaims_created_total\{reason="provisioned",nodepool="default".*\} 1/,
    );
  });

  it('creates few NodeClaims at a time while memory is short, and finally all', async () => {
    const asked: unknown[] = [];
    const mostLaunches: Pressure['mostLaunches'] = (work) => {
      asked.push(work);
      return 2;
    };
    world.pressure = { stage: 1, stretch: 2, mostLaunches, onShort: () => undefined, publishTo: () => undefined };
    world.nodePool();
    world.start();
    await world.pass(2);
    world.pending(5, '7');
    const created: number[] = [];
    for (let second = 0; second < 40; second++) {
      await world.pass(1);
      created.push(world.claims.length);
    }
    const growth = created.map((count, at) => count - (created[at - 1] ?? 0));
    expect(Math.max(...growth)).toBe(2);
    expect(asked[0]).toEqual({ pending: 5, launching: 0 });
    expect(world.pods.every(({ spec }) => spec.nodeName)).toBe(true);
    expect(messages('found provisionable pod(s)')).toBeGreaterThanOrEqual(3);
  });

  it('prepares the solver once, as soon as a NodePool can launch nodes, while no pods are pending', async () => {
    const prepared: number[] = [];
    world.solver = Object.assign(localSolver(), {
      warmUp: async ({ pools, pendingPods }: Snapshot) => void prepared.push(pools.length, pendingPods.length),
    });
    world.start();
    await world.pass(5);
    expect(prepared).toEqual([]);
    world.nodePool();
    await world.pass(5);
    world.pending(2);
    await world.pass(20);
    expect(prepared).toEqual([1, 0]);
  });

  it('tries the preparation once if the instance types cannot be listed', async () => {
    const prepared: number[] = [];
    world.solver = Object.assign(localSolver(), { warmUp: async () => void prepared.push(1) });
    world.nodePool();
    const list = jest.spyOn(world.cloud, 'instanceTypes').mockRejectedValue(new Error('throttled'));
    world.start();
    await world.pass(2);
    const calls = list.mock.calls.length;
    await world.pass(10);
    expect(list.mock.calls.length - calls).toBeLessThan(5);
    expect(prepared).toEqual([]);
  });

  it('logs and counts a NodePool that reached a limit of packing', async () => {
    const local = localSolver();
    world.solver = (snapshot, options) => local(snapshot, { ...options, packingWork: 1 });
    world.nodePool();
    world.start();
    await world.pass(2);
    world.pending(6);
    await world.pass(20);

    expect(world.pods.every(({ spec }) => spec.nodeName)).toBe(true);
    expect(messages('could not pack pods at a lower price, launching the nodes of first-fit')).toBe(1);
    expect(await world.metrics.text()).toMatch(/scheduler_unpacked_nodepools_total\{reason="work".*\} 1/);
  });

  it('schedules pods to a node that is being launched instead of launching another', async () => {
    world.joining = false;
    world.nodePool();
    world.start();
    await world.pass(2);
    world.pending(1, '600m');
    await world.pass(5);
    world.pending(1, '600m');
    await world.pass(30);

    expect(world.claims).toHaveLength(1);
    expect(messages('computed unready node(s) will fit pod(s)')).toBeGreaterThan(0);
    world.joining = true;
    await world.pass(10);
    expect(world.pods.every(({ spec }) => spec.nodeName)).toBe(true);
  });

  describe('while kube-scheduler binds pods otherwise than planned', () => {
    /** Launches two nodes for two small and two large pods. The first node joins, and small pods take the room of a large one. */
    async function joinFirst(): Promise<() => void> {
      world.joining = false;
      world.nodePool('default', { disruption: { consolidateAfter: 'Never' } });
      world.start();
      await world.pass(2);
      world.pending(2, '700m', 'a-small');
      world.pending(2, '7', 'large');
      await world.pass(5);
      expect(world.claims).toHaveLength(2);
      const [first, second] = [...world.cloud.instances].sort(([, a], [, b]) => cpuOf(b.created) - cpuOf(a.created));
      world.join(present(first)[0], present(first)[1].created);
      await world.pass(15);
      const bound = world.pods.filter(({ spec }) => spec.nodeName);
      expect(bound.filter(({ metadata }) => metadata.labels?.app === 'a-small')).toHaveLength(2);
      expect(bound.length).toBeLessThan(4);
      return () => void world.join(present(second)[0], present(second)[1].created);
    }
    const cpuOf = ({ status }: NodeClaim): number => Number(status?.capacity?.cpu ?? 0);
    const launchedAgain = async (): Promise<string | undefined> =>
      /nodeclaims_second_round_total\{nodepool="default".*\} (\d+)/.exec(await world.metrics.text())?.[1];

    it('launches a node for the pod without room before the second node joins', async () => {
      const joinSecond = await joinFirst();
      expect(world.claims).toHaveLength(3);
      expect(await launchedAgain()).toBe('1');
      world.joining = true;
      joinSecond();
      await world.pass(20);
      expect(world.claims).toHaveLength(3);
    });
  });

  /** Makes launches wait for the test, and returns the function that completes them. */
  function slowLaunches(): () => void {
    const { promise, resolve } = Promise.withResolvers<void>();
    const { create } = world.cloud;
    world.cloud.create = async (...args) => {
      await promise;
      return create.apply(world.cloud, args);
    };
    return resolve;
  }

  it('delays the next decision during a launch, and decides immediately afterwards', async () => {
    world.nodePool();
    const launch = slowLaunches();
    world.start();
    await world.pass(2);
    world.pending(1, '7');
    await world.pass(4);
    world.pending(1, '7', 'late');
    await world.pass(4);
    expect(world.claims).toHaveLength(1);

    launch();
    await world.pass(20);
    expect(world.claims).toHaveLength(2);
    expect(world.pods.every(({ spec }) => spec.nodeName)).toBe(true);
  });

  it('waits at most a minute for a launch, and launches no second node for its pods however long the launch takes', async () => {
    world.nodePool('default', { limits: { cpu: '100' } });
    const launch = slowLaunches();
    world.start();
    await world.pass(2);
    world.pending(1, '7');
    await world.pass(30);
    world.pending(1, '7', 'late');
    await world.pass(25);
    expect(world.claims).toHaveLength(1);
    await world.pass(30);
    expect(world.claims).toHaveLength(2);
    await world.pass(60);
    expect(world.claims).toHaveLength(2);

    launch();
    await world.pass(20);
    expect(world.claims).toHaveLength(2);
    expect(world.pods.every(({ spec }) => spec.nodeName)).toBe(true);
  });

  it('does not let a failing claim block other pods, and launches no second node for its pods', async () => {
    world.nodePool('broken', { weight: 100, limits: { cpu: '8' } });
    world.nodePool('sound');
    world.cloud.beforeCreate = ({ metadata }) => {
      if (metadata.name.startsWith('broken')) throw new Error('Cannot read quantity "Ti"');
    };
    world.start();
    await world.pass(2);
    world.pending(1, '7', 'first');
    await world.pass(5);
    expect(world.claims.map(({ metadata }) => metadata.labels?.['karpenter.sh/nodepool'])).toEqual(['broken']);
    world.pending(3, '1', 'late');
    await world.pass(10);
    // The claim uses 8 cores, and the limit of its NodePool allows no further claim.
    expect(world.claims.map(({ metadata }) => metadata.labels?.['karpenter.sh/nodepool'])).toEqual(['broken', 'sound']);
    expect(world.pods.filter(({ spec }) => spec.nodeName).map(({ metadata }) => metadata.labels?.app)).toEqual([
      'late',
      'late',
      'late',
    ]);
    await world.pass(120);
    expect(world.claims).toHaveLength(2);
  });

  it('schedules pods to a failing claim of an earlier process', async () => {
    world.nodePool();
    world.cloud.beforeCreate = () => {
      throw new Error('throttled');
    };
    world.start();
    await world.pass(2);
    world.pending(1, '1');
    await world.pass(5);
    world.kill();
    world.start();
    await world.pass(30);
    expect(world.claims).toHaveLength(1);
    world.cloud.beforeCreate = () => undefined;
    await world.pass(60);
    expect(world.claims).toHaveLength(1);
    expect(world.pods.every(({ spec }) => spec.nodeName)).toBe(true);
  });

  it('consolidates nodes during a failing launch', async () => {
    world.nodePool();
    world.start();
    await world.pass(2);
    const pods = world.pending(1, '1');
    await world.pass(20);
    expect(world.nodes).toHaveLength(1);
    world.cloud.beforeCreate = () => {
      throw new Error('Cannot read quantity "Ti"');
    };
    world.pending(1, '7', 'stuck');
    await world.pass(5);
    world.removePods(...pods);
    await world.pass(120);
    expect(world.nodes).toHaveLength(0);
    expect(world.claims.filter(({ status }) => status?.providerID)).toHaveLength(0);
  });

  it('publishes the reason that a pod is pending every five minutes', async () => {
    world.nodePool();
    world.start();
    await world.pass(2);
    world.pending(1, '100');
    await world.pass(40);

    const [refused, again] = world.events.filter(({ reason }) => reason === 'FailedScheduling');
    expect(refused?.message).toMatch(/^Failed to schedule pod, /);
    expect(refused).toMatchObject({ type: 'Warning', windowMs: 300_000 });
    expect(again?.dedupe).toEqual(refused?.dedupe);
    expect(messages('could not schedule pod')).toBeGreaterThan(0);
    expect(await world.metrics.text()).toMatch(/scheduler_unschedulable_pods_count\{controller="provisioner"\} 1/);
  });

  it('publishes that a pod with device claims is skipped, and the reason', async () => {
    world.nodePool();
    world.start();
    await world.pass(2);
    const [pod] = world.pending(1);
    world.kube.patch(POD, pod?.metadata ?? { name: '' }, { spec: { resourceClaims: [{ name: 'gpu' }] } });
    await world.pass(40);

    const skipped = 'skipping pod with Dynamic Resource Allocation requirements, not yet supported by Karpenter';
    const said = world.lines.find(({ message }) => message === skipped);
    expect(said).toMatchObject({ level: 'info', fields: { Pod: { name: pod?.metadata.name, namespace: 'default' } } });
    expect(messages('could not schedule pod')).toBe(0);
    expect(world.events.find(({ reason }) => reason === 'FailedScheduling')?.message).toBe(
      'Failed to schedule pod, pod has Dynamic Resource Allocation requirements that are not yet supported by Karpenter',
    );
  });

  it('ignores a NodePool that is not ready', async () => {
    const pool = world.nodePool();
    world.kube.delete(NODE_POOL, pool.metadata);
    world.nodePool('broken', {
      template: {
        spec: { ...pool.spec.template.spec, nodeClassRef: { ...pool.spec.template.spec.nodeClassRef, name: 'gone' } },
      },
    });
    world.start();
    await world.pass(2);
    const [pod] = world.pending(1);
    await world.pass(5);

    expect(world.claims).toEqual([]);
    expect(messages('ignoring nodepool, not ready')).toBeGreaterThan(0);
    expect(messages('no dynamic nodepools found')).toBeGreaterThan(0);
    expect(world.events.find(({ reason }) => reason === 'FailedScheduling')?.message).toBe(
      'Failed to schedule pod, NodePool "broken" is not ready: EC2NodeClass gone: NodeClass not found on cluster. ' +
        `Correct the field that the message names. All reasons: karpenter explain pod ${pod?.metadata.name} -n default`,
    );
    expect(await world.metrics.text()).toContain('pods_scheduling_decision_duration_seconds_count 1');
    const ready = world.kube
      .get(NODE_POOL, { name: 'broken' })
      .status?.conditions?.find(({ type }) => type === 'NodeClassReady');
    expect(ready).toMatchObject({ status: 'False', reason: 'NodeClassNotFound' });
  });

  it('publishes the reason for pods only after the NodeClass has been evaluated', async () => {
    const pool = world.nodePool();
    world.kube.delete(NODE_POOL, pool.metadata);
    const { spec } = pool.spec.template;
    const fresh = {
      ...world.kube.get(EC2_NODE_CLASS, { name: 'default' }),
      metadata: { name: 'fresh' },
      spec: { amiSelectorTerms: [{ alias: 'al2023@v1' }], subnetSelectorTerms: [], securityGroupSelectorTerms: [] },
      status: {},
    };
    world.kube.create(EC2_NODE_CLASS, fresh);
    world.nodePool('new', { template: { spec: { ...spec, nodeClassRef: { ...spec.nodeClassRef, name: 'fresh' } } } });
    world.start();
    await world.pass(2);
    world.pending(1);
    await world.pass(15);
    const refused = () => world.events.filter(({ reason }) => reason === 'FailedScheduling');
    expect(messages('no dynamic nodepools found')).toBeGreaterThan(0);
    expect(refused()).toEqual([]);

    const message = 'AMISelector did not match any AMIs';
    const conditions = [{ type: 'AMIsReady', status: 'False' as const, reason: 'AMINotFound', message }];
    world.kube.patch(EC2_NODE_CLASS, { name: 'fresh' }, { status: { conditions } }, 'status');
    await world.pass(30);
    expect(refused()[0]?.message).toContain(`EC2NodeClass fresh: ${message}: alias al2023@v1`);
  });

  it('names a NodePool that is not ready in the log of pods that ready NodePools cannot serve, and in the event the command', async () => {
    const pool = world.nodePool();
    const { spec } = pool.spec.template;
    world.nodePool('broken', {
      template: { spec: { ...spec, nodeClassRef: { ...spec.nodeClassRef, name: 'gone' } } },
    });
    world.start();
    await world.pass(2);
    world.pending(1, '500');
    await world.pass(5);
    expect(world.events.find(({ reason }) => reason === 'FailedScheduling')?.message).toMatch(
      /^Failed to schedule pod, NodePool "default" has no instance type with enough room: the pod requests cpu 500, but the largest has cpu 7900m\. [^.]*\. All reasons: karpenter explain pod \S+ -n default$/,
    );
    expect(world.lines.find(({ message }) => message === 'could not schedule pod')?.fields.error).toMatch(
      /Details: no instance type has enough resources, .*; NodePool broken is not used \(not-ready\): EC2NodeClass gone: NodeClass not found on cluster$/,
    );
  });

  it('warns once about preferences that can prevent consolidation', async () => {
    world.nodePool('default', { limits: { cpu: '1' } });
    world.start(['--preference-policy=Respect']);
    await world.pass(2);
    const [pod] = world.pending(1);
    const labelSelector = { matchLabels: { app: 'web' } };
    const constraint = {
      maxSkew: 1,
      topologyKey: 'topology.kubernetes.io/zone',
      whenUnsatisfiable: 'ScheduleAnyway',
      labelSelector,
    };
    world.kube.patch(POD, pod?.metadata ?? { name: '' }, { spec: { topologySpreadConstraints: [constraint] } });
    await world.pass(60);

    expect(messages('pod(s) have a preferred TopologySpreadConstraint which can prevent consolidation')).toBe(1);
    expect(messages('pod(s) have a preferred Anti-Affinity which can prevent consolidation')).toBe(0);
  });

  it('respects the limits of a NodePool', async () => {
    world.nodePool('default', { limits: { cpu: '2' } });
    world.start();
    await world.pass(2);
    world.pending(4, '1500m');
    await world.pass(40);

    expect(world.claims).toHaveLength(1);
    const [pool] = world.kube.all(NODE_POOL);
    expect(pool?.status?.resources).toMatchObject({ cpu: '2', nodes: '1' });
    expect(pool?.status?.nodes).toBe(1);
  });

  it('launches the next node for pods of a node that is being deleted', async () => {
    world.nodePool();
    world.start();
    await world.pass(2);
    const [pod] = world.pending(1);
    await world.pass(15);
    expect(world.nodes).toHaveLength(1);

    // The pod cannot be evicted until its node is deleted, so its next node is launched before it is pending again.
    world.kube.beforeWrite = (operation) => {
      if (operation === 'delete pods') throw new Error('not yet');
    };
    world.cluster.markForDeletion(present(world.claims[0]?.status?.providerID));
    world.pending(1, '100m', 'other');
    await world.pass(15);
    expect(world.kube.find(POD, pod?.metadata ?? { name: '' })?.spec.nodeName).toBeDefined();
    expect(world.claims).toHaveLength(2);
    const created = world.lines.filter(({ message }) => message === 'created nodeclaim').at(-1);
    expect(created?.fields.requests).toMatchObject({ cpu: '1100m' });
  });

  it('measures runs, solves, pending work and eligible zones', async () => {
    const zonal = { nodeSelector: { 'topology.kubernetes.io/zone': 'zone-b' } };
    const { promise: held, resolve: release } = Promise.withResolvers<void>();
    const local = localSolver();
    world.solver = async (snapshot, options) => {
      await held;
      return local(snapshot, options);
    };
    world.joining = false; // keeps the pods pending
    world.nodePool();
    world.start();
    await world.pass(2);
    const [pod] = world.pending(3);
    world.kube.patch(POD, pod?.metadata ?? { name: '' }, { spec: zonal });
    await world.pass(5);

    const during = await world.metrics.text();
    expect(during).toMatch(/karpenter_scheduler_queue_depth\{controller="provisioner",scheduling_id="[^"]+"\} 3/);
    expect(during).toMatch(
      /karpenter_scheduler_unfinished_work_seconds\{controller="provisioner",scheduling_id="[^"]+"\} [1-9]/,
    );
    release();
    await world.pass(15);
    const after = await world.metrics.text();
    expect(after).not.toMatch(/karpenter_scheduler_(queue_depth|unfinished_work_seconds)\{/);
    expect(after).toContain(
      'karpenter_scheduler_pending_pods_by_effective_zone_count{controller="provisioner",zone="zone-b"} 1',
    );
    expect(after).toContain(
      'karpenter_scheduler_pending_pods_by_effective_zone_count{controller="provisioner",zone="flexible"} 2',
    );
    expect(after).toMatch(/karpenter_scheduler_scheduling_duration_seconds_count\{controller="provisioner"\} [2-9]/);
  });

  it('does not record times of pods that were deleted during the solve, or apply them to new pods with the same name', async () => {
    const { promise: held, resolve: release } = Promise.withResolvers<void>();
    const { promise: never } = Promise.withResolvers<void>();
    const local = localSolver();
    let solves = 0;
    world.solver = async (snapshot, options) => {
      solves += 1;
      await (solves === 1 ? held : never);
      return local(snapshot, options);
    };
    world.nodePool();
    world.start();
    await world.pass(2);
    const pods = [...world.pending(2), ...world.pending(2, '1000')];
    await world.pass(3);
    expect(solves).toBe(1);
    world.removePods(...pods);
    // One pod of each kind is created again, as in a StatefulSet.
    const again = [pods[0], pods[2]].flatMap((pod) => pod ?? []);
    for (const { metadata, ...pod } of again)
      world.kube.create(POD, { ...pod, metadata: { name: metadata.name, namespace: metadata.namespace ?? '' } });
    await world.pass(1);
    release();
    await world.pass(3);
    expect(world.claims).not.toEqual([]);
    const timings = [...world.cluster.podTimings.entries()];
    expect(timings.map(([key]) => key).sort()).toEqual(again.map(({ metadata }) => `default/${metadata.name}`).sort());
    for (const [, timing] of timings) {
      expect(timing.acknowledgedMs).toBeDefined();
      expect(timing).not.toHaveProperty('decidedMs');
      expect(timing).not.toHaveProperty('schedulableMs');
    }
  });

  it('counts unschedulable pods only while they exist', async () => {
    world.nodePool();
    world.start();
    await world.pass(2);
    const pods = world.pending(2, '100');
    await world.pass(5);
    const unschedulable = async (): Promise<string | undefined> =>
      /scheduler_unschedulable_pods_count\{controller="provisioner"\} (\d+)/.exec(await world.metrics.text())?.[1];
    expect(await unschedulable()).toBe('2');
    world.removePods(...pods.slice(1));
    await world.pass(1);
    expect(await unschedulable()).toBe('1');
    world.removePods(...pods.slice(0, 1));
    await world.pass(1);
    expect(await unschedulable()).toBe('0');
    expect(await world.metrics.text()).not.toMatch(/effective_zone_count\{/);
  });

  it('checks the remedies of refused pods once, after its launches', async () => {
    const solves: { readonly claims: number; readonly isCheck: boolean }[] = [];
    const solver = localSolver();
    world.solver = async (snapshot, options) => {
      solves.push({ claims: world.claims.length, isCheck: options.packing === 'compatible' });
      return solver(snapshot, options);
    };
    world.nodePool('default', { limits: { cpu: '1' } });
    world.nodePool('other');
    world.start();
    await world.pass(2);
    world.pending(1, '2', 'small');
    world.pending(2, '500', 'large');
    await world.pass(60);
    const checks = solves.filter(({ isCheck }) => isCheck);
    expect(checks.map(({ claims }) => claims > 0)).toEqual(checks.map(() => true));
    expect(checks.length).toBeGreaterThan(0);
    const others = solves.length - checks.length;
    expect(others).toBeGreaterThan(3);
    const failures = world.events.filter(({ reason }) => reason === 'FailedScheduling');
    expect(failures.some(({ message }) => message.includes('No solve has checked'))).toBe(false);
    await world.pass(60);
    expect(solves.filter(({ isCheck }) => isCheck)).toHaveLength(checks.length);
    expect(solves.length).toBeGreaterThan(others + checks.length);
  });

  it('publishes refusals without checks if the checks fail', async () => {
    const solver = localSolver();
    world.solver = async (snapshot, options) => {
      if (options.packing === 'compatible') throw new Error('the engine worker has ended');
      return solver(snapshot, options);
    };
    world.nodePool();
    world.start();
    world.pending(1, '500');
    await world.pass(20);
    const failure = world.events.find(({ reason }) => reason === 'FailedScheduling');
    expect(failure?.message).toContain('No solve has checked this change.');
  });
});
