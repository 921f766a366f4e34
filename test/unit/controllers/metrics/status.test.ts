import { describe, expect, it } from '@jest/globals';
import {
  type Condition,
  NODE_CLAIM,
  NODECLAIM_CONDITIONS,
  NODEPOOL_LABEL,
  type NodeClaim,
  POD,
  type Pod,
} from '#api/objects';
import { type EventNote, runControllers } from '#kube/reconcilers';
import { silent } from '#observe/logger';
import { nodeLabelName } from '#observe/metrics';
import { createMetrics } from '#observe/setup';
import { pricesOf } from '../../../../src/controllers/metrics/cost.ts';
import { PodWaits } from '../../../../src/controllers/metrics/pods.ts';
import { StatusMetrics } from '../../../../src/controllers/metrics/status.ts';
import { handFed } from '../../kube/fakes.ts';
import { virtualClock } from '../../virtualclock.ts';

const START = Date.UTC(2026, 0, 1);
const at = (seconds: number): string => new Date(START + seconds * 1_000).toISOString();

function observed() {
  const clock = virtualClock(START);
  const { informers, store } = handFed();
  const metrics = createMetrics();
  const events: EventNote[] = [];
  const deps = { clock, metrics, events: { publish: (...notes: EventNote[]) => events.push(...notes) } };
  const controllers = [
    new StatusMetrics({ ...deps, events: { publish: (...notes) => void events.push(...notes) } }, NODE_CLAIM, {
      labels: [NODEPOOL_LABEL],
      conditions: NODECLAIM_CONDITIONS,
      older: true,
    }),
  ];
  const { signal } = new AbortController();
  runControllers({ controllers, informers, clock, log: silent, metrics, signal });
  let version = 0;
  const put = (conditions: readonly Condition[], more: Partial<NodeClaim['metadata']> = {}): NodeClaim => {
    version += 1;
    const claim = {
      apiVersion: 'karpenter.sh/v1',
      kind: 'NodeClaim',
      metadata: {
        name: 'a',
        uid: 'u',
        resourceVersion: String(version),
        labels: { [NODEPOOL_LABEL]: 'default' },
        ...more,
      },
      spec: {},
      status: { conditions },
    } as unknown as NodeClaim;
    store(NODE_CLAIM).put(claim);
    return claim;
  };
  return { clock, metrics, events, put, remove: (claim: NodeClaim) => store(NODE_CLAIM).remove(claim) };
}

const launched = (status: Condition['status'], seconds: number, reason = 'Launched', message = ''): Condition => ({
  type: 'Launched',
  status,
  reason,
  message,
  lastTransitionTime: at(seconds),
});

describe('StatusMetrics', () => {
  it('sets gauges of conditions, counts transitions and publishes events', async () => {
    const { clock, metrics, events, put } = observed();
    put([launched('Unknown', 0, 'AwaitingReconciliation')]);
    await clock.advance(1_000);
    expect(events).toEqual([]);
    put([launched('True', 4, 'Launched', 'done')]);
    await clock.advance(10_000);
    expect(events.map(({ reason, message, dedupe }) => ({ reason, message, dedupe }))).toEqual([
      {
        reason: 'Launched',
        message:
          'Status condition transitioned, Type: Launched, Status: Unknown -> True, Reason: Launched, Message: done',
        dedupe: undefined,
      },
    ]);
    const text = await metrics.text();
    const labels =
      'namespace="",name="a",karpenter_sh_nodepool="default",type="Launched",status="True",reason="Launched"';
    expect(text).toContain(`operator_nodeclaim_status_condition_count{${labels}} 1`);
    expect(text).toContain(`operator_nodeclaim_status_condition_current_status_seconds{${labels}} 7`);
    expect(text).not.toContain(
      'status_condition_count{namespace="",name="a",karpenter_sh_nodepool="default",type="Launched",status="Unknown"',
    );
    expect(text).toContain(
      'operator_nodeclaim_status_condition_transitions_total{karpenter_sh_nodepool="default",type="Launched",status="True",reason="Launched"} 1',
    );
    expect(text).toContain(
      'operator_nodeclaim_status_condition_transition_seconds_sum{karpenter_sh_nodepool="default",type="Launched",status="Unknown"} 4',
    );
    expect(text).toContain(
      'operator_status_condition_transitions_total{group="karpenter.sh",kind="NodeClaim",type="Launched",status="True",reason="Launched"} 1',
    );
  });

  it('treats an unset condition as Unknown since the creation of the object', async () => {
    const { clock, metrics, events, put } = observed();
    const creationTimestamp = at(0);
    put([], { creationTimestamp });
    await clock.settle();
    const other: Condition = { type: 'Drifted', status: 'True', reason: 'Drifted', lastTransitionTime: at(3) };
    put([launched('True', 3), { ...launched('Unknown', 0, 'NodeNotFound'), type: 'Registered' }, other], {
      creationTimestamp,
    });
    await clock.settle();
    expect(events.map(({ reason, message }) => [reason, message])).toEqual([
      ['Launched', 'Status condition transitioned, Type: Launched, Status: Unknown -> True, Reason: Launched'],
    ]);
    expect(await metrics.text()).toContain(
      'operator_nodeclaim_status_condition_transition_seconds_sum{karpenter_sh_nodepool="default",type="Launched",status="Unknown"} 3',
    );
  });

  it('publishes no event for the initial conditions of an object', async () => {
    const { clock, events, put } = observed();
    put([launched('True', 3)]);
    await clock.settle();
    expect(events).toEqual([]);
  });

  it('has no timers for values that a scrape can compute', async () => {
    const { clock, metrics, put } = observed();
    put([launched('True', 4)]);
    await clock.advance(1_000);
    expect(clock.waiting).toBe(0);
    await clock.advance(60_000);
    expect(await metrics.text()).toContain('type="Launched",status="True",reason="Launched"} 57');
  });

  it('ignores a new message and a removed condition', async () => {
    const { clock, events, put } = observed();
    put([launched('Unknown', 0)]);
    await clock.settle();
    put([launched('Unknown', 0, 'LaunchFailed', 'no capacity')]);
    await clock.settle();
    put([]);
    await clock.settle();
    expect(events).toEqual([]);
  });

  it('distinguishes a successor with the same name', async () => {
    const { clock, metrics, events, put } = observed();
    put([launched('Unknown', 0)]);
    await clock.settle();
    put([launched('True', 4)], { uid: 'successor' });
    await clock.settle();
    expect(events).toEqual([]);
    const labels = 'karpenter_sh_nodepool="default",type="Launched",status="True",reason="Launched"';
    const text = await metrics.text();
    expect(text).toContain(`operator_nodeclaim_status_condition_transitions_total{${labels}} 1`);
    expect(text).not.toContain('operator_nodeclaim_status_condition_transition_seconds_sum{');
  });

  it('measures the deletion of an object and removes its series', async () => {
    const { clock, metrics, events, put, remove } = observed();
    put([launched('True', 0)], { finalizers: ['karpenter.sh/termination'] });
    await clock.advance(1_000);
    const last = put([launched('True', 0)], { finalizers: ['karpenter.sh/termination'], deletionTimestamp: at(1) });
    await clock.advance(20_000);
    expect(await metrics.text()).toContain(
      'operator_nodeclaim_termination_current_time_seconds{namespace="",name="a",karpenter_sh_nodepool="default"} 20',
    );
    remove(last);
    await clock.settle();
    const text = await metrics.text();
    expect(text).not.toContain('name="a"');
    expect(text).toContain('operator_nodeclaim_termination_duration_seconds_sum{karpenter_sh_nodepool="default"} 20');
    expect(events.map(({ message }) => message)).toEqual(['Finalized karpenter.sh/termination']);
  });
});

describe('PodWaits', () => {
  const pod = (phase: string, conditions: readonly Condition[] = [], uid = 'u'): Pod => ({
    apiVersion: 'v1',
    kind: POD.kind,
    metadata: { name: 'p', namespace: 'n', uid, creationTimestamp: at(0) },
    spec: { containers: [] },
    status: { phase, conditions } as NonNullable<Pod['status']>,
  });
  const scheduled: Condition = { type: 'PodScheduled', status: 'True', lastTransitionTime: at(40) };
  const ready: Condition = { type: 'Ready', status: 'True', lastTransitionTime: at(60) };
  const named = '{name="p",namespace="n"}';

  it('measures a pod from pending to running once', async () => {
    const metrics = createMetrics();
    const waits = new PodWaits(metrics);
    const timing = { acknowledgedMs: START + 1_000, decidedMs: START + 3_000, schedulableMs: START + 10_000 };
    expect(waits.observe(pod('Pending'), { acknowledgedMs: START + 1_000 }, START + 2_000)).toBe(true);
    expect(await metrics.text()).toContain(`karpenter_pods_provisioning_scheduling_undecided_time_seconds${named} 1`);
    waits.observe(pod('Pending'), timing, START + 30_000);
    const waiting = await metrics.text();
    expect(waiting).toContain(`karpenter_pods_unbound_time_seconds${named} 30`);
    expect(waiting).toContain(`karpenter_pods_provisioning_unstarted_time_seconds${named} 20`);
    expect(waiting).not.toContain(`undecided_time_seconds${named}`);
    for (let times = 0; times < 2; times += 1)
      expect(waits.observe(pod('Running', [scheduled, ready]), timing, START + 90_000)).toBe(false);
    const text = await metrics.text();
    expect(text).not.toContain(named);
    expect(text).toContain('karpenter_pods_startup_duration_seconds_sum 60');
    expect(text).toContain('karpenter_pods_startup_duration_seconds_count 1');
    expect(text).toContain('karpenter_pods_bound_duration_seconds_sum 40');
    expect(text).toContain('karpenter_pods_provisioning_startup_duration_seconds_sum 50');
    expect(text).toContain('karpenter_pods_provisioning_bound_duration_seconds_sum 30');
  });

  it('ignores pods that were never pending in this process', async () => {
    const metrics = createMetrics();
    new PodWaits(metrics).observe(pod('Running', [scheduled, ready]), {}, START + 90_000);
    expect(await metrics.text()).toContain('karpenter_pods_bound_duration_seconds_count 0');
  });

  it.each([
    { what: 'a pod that is bound but pending', pod: pod('Pending', [scheduled]), bound: 0, gauge: false },
    { what: 'a pod that is running before its binding is visible', pod: pod('Running', []), bound: 0, gauge: true },
    { what: 'a pod that is running', pod: pod('Running', [scheduled]), bound: 1, gauge: false },
  ])('measures the binding time of $what', async ({ pod: seen, bound, gauge }) => {
    const metrics = createMetrics();
    const waits = new PodWaits(metrics);
    waits.observe(pod('Pending'), {}, START + 1_000);
    waits.observe(seen, {}, START + 90_000);
    const text = await metrics.text();
    expect(text).toContain(`karpenter_pods_bound_duration_seconds_count ${bound}`);
    expect(text.includes(`karpenter_pods_unbound_time_seconds${named}`)).toBe(gauge);
    expect(text).toContain(`karpenter_pods_unstarted_time_seconds${named} 90`);
  });

  it('has no pending decision for a pod that has ended, was bound, or was decided on', async () => {
    const ended = pod('Failed');
    const bound = { ...pod('Pending'), spec: { containers: [], nodeName: 'node' } };
    const timings = [{ acknowledgedMs: START }, { acknowledgedMs: START, decidedMs: START }];
    for (const [seen, timing] of [
      [ended, timings[0]],
      [bound, timings[0]],
      [pod('Pending'), timings[1]],
    ] as const) {
      const metrics = createMetrics();
      new PodWaits(metrics).observe(seen, timing ?? {}, START + 5_000);
      expect(await metrics.text()).not.toContain(`undecided_time_seconds${named}`);
    }
  });

  it('removes the gauges of finished and deleted pods', async () => {
    const metrics = createMetrics();
    const waits = new PodWaits(metrics);
    waits.observe(pod('Pending'), {}, START + 1_000);
    waits.observe(pod('Failed', [scheduled]), {}, START + 90_000);
    expect(await metrics.text()).not.toContain(`unstarted_time_seconds${named}`);
    waits.observe(pod('Pending', [], 'successor'), {}, START + 91_000);
    expect(await metrics.text()).toContain(`karpenter_pods_unstarted_time_seconds${named} 91`);
    waits.forget('n/p');
    expect(await metrics.text()).not.toContain(named);
  });
});

describe('a name and a price', () => {
  it.each([
    { label: 'karpenter.sh/nodepool', name: 'nodepool' },
    { label: 'topology.k8s.aws/zone-id', name: 'zone_id' },
    { label: 'node.kubernetes.io/windows-build', name: 'windows_build' },
  ])('maps $label to $name', ({ label, name }) => {
    expect(nodeLabelName(label)).toBe(name);
  });

  it('finds a price by type, capacity type and zone', () => {
    const offering = (capacityType: string, zone: string, usdPerHour: number) => ({
      usdPerHour,
      available: true,
      requirements: [
        { key: 'karpenter.sh/capacity-type', operator: 'In' as const, values: [capacityType] },
        { key: 'topology.kubernetes.io/zone', operator: 'In' as const, values: [zone] },
      ],
    });
    const prices = pricesOf([
      {
        name: 'm5.large',
        requirements: [],
        capacity: {},
        overhead: { kubeReserved: {}, systemReserved: {}, evictionThreshold: {} },
        offerings: [offering('spot', 'a', 0.03), offering('on-demand', 'a', 0.1)],
      },
    ]);
    expect(Object.fromEntries(prices)).toEqual({ 'm5.large/spot/a': 0.03, 'm5.large/on-demand/a': 0.1 });
  });
});
