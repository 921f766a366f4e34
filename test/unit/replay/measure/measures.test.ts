/** The measurements of a replay: spending, pods, nodes, columns and complaints. */
import { describe, expect, it } from '@jest/globals';
import type { NodeClaim, Pod } from '#api/objects';
import type { StateNode } from '#engine/model';
import type { LocalInstance } from '#local/aws';
import { Columns } from '../../../../src/replay/measure/columns.ts';
import { Complaints } from '../../../../src/replay/measure/measure.ts';
import { NodeLog } from '../../../../src/replay/measure/node-log.ts';
import { PodLives } from '../../../../src/replay/measure/pod-lives.ts';
import { SpendingMeter } from '../../../../src/replay/measure/spending.ts';
import { partial } from '../../../support/partial.ts';
import { claim, pod, stateNode } from '../../engine/disruption/objects.ts';

const HOUR = 3_600_000;

describe('Spending', () => {
  const instance = (id: string, capacityType: 'spot' | 'on-demand' = 'on-demand', nodePool = 'default') =>
    ({
      id,
      type: 'm5.large',
      privateDnsName: `node-${id}`,
      capacityType,
      tags: { 'karpenter.sh/nodepool': nodePool },
    }) as unknown as LocalInstance;

  it('charges an instance from its start to its end, at the price since the previous update', () => {
    let price = 1;
    const spending = new SpendingMeter(() => ({ instance: price, extras: 0.1 }));
    spending.started(instance('a'), 0);
    price = 3;
    expect(spending.usdPerHour()).toBeCloseTo(1.1);
    spending.settle(HOUR);
    expect(spending.usdPerHour()).toBeCloseTo(3.1);
    spending.ended(instance('a'), 1.5 * HOUR);
    // Neither instances that have ended nor unknown instances are charged.
    spending.ended(instance('a'), 9 * HOUR);
    spending.ended(instance('b'), 9 * HOUR);
    spending.settle(9 * HOUR);
    const { instancesUsd, extrasUsd, effectiveUsd, nodeHours, hoursByType } = spending.totals;
    expect(instancesUsd).toBeCloseTo(1 + 1.5);
    expect(extrasUsd).toBeCloseTo(0.15);
    expect(effectiveUsd).toBeCloseTo(2.65);
    expect(nodeHours).toBeCloseTo(1.5);
    expect(hoursByType).toEqual({ 'm5.large': expect.closeTo(1.5) });
    expect([spending.nodes, spending.usdPerHour()]).toEqual([0, 0]);
  });

  it('counts a started instance once, by capacity type and NodePool', () => {
    const spending = new SpendingMeter(({ capacityType }) => ({
      instance: capacityType === 'spot' ? 1 : 4,
      extras: 1,
    }));
    for (const each of [instance('a'), instance('a'), instance('b', 'spot', 'batch')]) spending.started(each, 0);
    expect([spending.nodes, spending.spotNodes]).toEqual([2, 1]);
    spending.ended(instance('a'), HOUR);
    spending.settle(HOUR);
    expect(spending.totals).toMatchObject({
      byCapacityType: { 'on-demand': 5, spot: 2 },
      byNodePool: { default: 5, batch: 2 },
      most: 2,
    });
  });

  it('subtracts the savings of commitments since the previous update', () => {
    const spending = new SpendingMeter(() => ({ instance: 1, extras: 0 }));
    spending.started(instance('a'), 0);
    spending.settle(HOUR, 0.5);
    spending.settle(2 * HOUR, 1);
    expect(spending.totals).toMatchObject({ instancesUsd: 2, effectiveUsd: 1.5 });
  });

  it('adds surplus CPU credits for the requests on a node, which commitments do not cover', () => {
    const cpuCredits = { baseline: 400, utilization: 0.5, usdPerVcpuHour: 0.1 };
    const spending = new SpendingMeter(
      () => ({ instance: 1, extras: 0 }),
      ({ id }) => (id === 'a' ? cpuCredits : undefined),
    );
    for (const each of [instance('a'), instance('b')]) {
      spending.started(each, 0);
      spending.requestsChanged(each.privateDnsName, 2_000, HOUR);
    }
    // (2 vCPU × 0.5 − 0.4) × 0.1
    expect(spending.usdPerHour(0.5)).toBeCloseTo(1.06);
    spending.settle(2 * HOUR, 0.5);
    spending.requestsChanged('node-a', -1_500, 2.5 * HOUR);
    spending.settle(3 * HOUR, 0.5);
    expect(spending.totals).toMatchObject({
      instancesUsd: 6,
      surplusCreditsUsd: expect.closeTo(0.09),
      effectiveUsd: expect.closeTo(3.09),
      byCapacityType: { 'on-demand': expect.closeTo(6.09) },
      byNodePool: { default: expect.closeTo(6.09) },
    });
  });
});

describe('PodLives', () => {
  const waiting = (name: string): Pod =>
    pod(name, { spec: { nodeName: '', containers: [] }, status: { phase: 'Pending' } });
  const lost = { phase: 'Running', conditions: [{ type: 'DisruptionTarget', status: 'True' }] } as NonNullable<
    Pod['status']
  >;

  it('measures the time from the creation of a pod to its binding, once', () => {
    const lives = new PodLives();
    for (let index = 1; index <= 100; index += 1) {
      lives.changed(waiting(`pod-${index}`), 1_000);
      lives.changed(pod(`pod-${index}`), 1_000 + index * 1_000);
      lives.changed(pod(`pod-${index}`), 900_000);
    }
    lives.changed(waiting('late'), 0);
    expect([lives.running, lives.waiting]).toEqual([100, 1]);
    expect(lives.summary(5_000)).toMatchObject({
      pods: 100,
      p50: 50,
      p95: 95,
      p99: 99,
      longest: 100,
      stillWaiting: 1,
    });
  });

  it('includes pods that still wait, with the time until the end', () => {
    const lives = new PodLives();
    lives.changed(waiting('bound'), 0);
    lives.changed(pod('bound'), 10_000);
    lives.changed(waiting('late'), 5_000);
    const summary = lives.summary(605_000);
    expect(summary).toMatchObject({ pods: 1, stillWaiting: 1, p50: 10, p95: 600, longest: 600 });
    expect(summary.podHours).toBeCloseTo(610 / 3600);
    expect(summary.upTo?.at(-1)).toEqual({ seconds: 600, pods: 2 });
  });

  it('has no times without pods', () => {
    const none = { pods: 0, p50: 0, p99: 0, longest: 0, podHours: 0, stillWaiting: 0 };
    expect(new PodLives().summary(0)).toMatchObject({ ...none, upTo: [] });
  });

  it('counts a pod that lost its node once, and ignores pods that never had a node', () => {
    const lives = new PodLives();
    lives.changed(pod('a'), 0);
    lives.changed(pod('a', { status: lost }), 1);
    lives.changed(pod('a', { status: lost }), 2);
    lives.changed({ ...waiting('b'), status: lost }, 2);
    expect(lives.evictions).toBe(1);
  });

  it('removes finished and deleted pods, and ignores DaemonSet pods', () => {
    const lives = new PodLives();
    for (const name of ['a', 'b', 'c']) lives.changed(pod(name), 0);
    lives.changed(pod('a', { status: { phase: 'Succeeded' } }), 1);
    lives.gone(pod('a'));
    lives.gone(pod('b'));
    lives.gone(pod('never seen'));
    const ownerReferences = [{ apiVersion: 'apps/v1', kind: 'DaemonSet', name: 'agent', uid: 'uid', controller: true }];
    lives.changed(pod('agent', { metadata: { ownerReferences } }), 1);
    expect([lives.running, lives.waiting, lives.summary(900_000).pods]).toEqual([1, 0, 3]);
  });
});

describe('NodeLog', () => {
  const at = (seconds: number) => {
    const time = { seconds };
    return { time, log: new NodeLog({ now: () => time.seconds, priceOf: (id) => (id.endsWith('a') ? 0.5 : 0.25) }) };
  };
  const labelled = (name: string): NodeClaim => {
    const made = claim(name);
    const labels = {
      'karpenter.sh/nodepool': 'default',
      'node.kubernetes.io/instance-type': 'm5.large',
      'topology.kubernetes.io/zone': 'us-west-2a',
      'karpenter.sh/capacity-type': 'spot',
    };
    return { ...made, metadata: { ...made.metadata, labels } };
  };
  const unlaunched = (name: string): NodeClaim => ({ ...labelled(name), status: {} });
  const disrupted = (name: string, reason: string): NodeClaim => ({
    ...labelled(name),
    status: { conditions: [{ type: 'DisruptionReason', status: 'True', reason }] } as NonNullable<NodeClaim['status']>,
  });
  const facts = { nodePool: 'default', instanceType: 'm5.large', zone: 'us-west-2a', capacityType: 'spot' };

  it('records the launch of a node and its end, with the reason from its claim', () => {
    const { time, log } = at(10);
    log.changed(unlaunched('a'));
    expect(log.entries).toEqual([]);
    log.changed(labelled('a'));
    log.changed(labelled('a'));
    time.seconds = 70;
    log.gone(disrupted('a', 'Underutilized'));
    expect(log.entries).toEqual([
      { at: 10, what: 'bought', name: 'a', usdPerHour: 0.5, ...facts },
      { at: 70, what: 'given back', name: 'a', usdPerHour: 0.5, reason: 'Underutilized', ...facts },
    ]);
    expect(log.summary()).toEqual({ bought: 1, givenBack: 1, byReason: { Underutilized: 1 } });
  });

  it('prefers the reason of the operator, and has a default for unexplained ends', () => {
    const { log } = at(0);
    for (const name of ['a', 'b', 'c', 'd']) log.changed(labelled(name));
    log.decisions.record(
      partial({
        kind: 'deleted',
        nodeClaim: 'a',
        nodePool: 'default',
        at: '',
        reason: 'node_unhealthy',
      }),
    );
    log.decisions.record(
      partial({
        kind: 'interrupted',
        nodeClaim: 'b',
        nodePool: 'default',
        at: '',
        reason: 'spot_interrupted',
      }),
    );
    log.gone(disrupted('a', 'Empty'));
    log.gone(labelled('b'));
    log.gone(labelled('c'));
    // A later claim with the same name has its own reasons.
    log.changed(labelled('a'));
    log.gone(labelled('a'));
    expect(log.summary().byReason).toEqual({ Deleted: 2, NodeUnhealthy: 1, Interrupted: 1 });
    expect(log.entries.filter(({ what }) => what === 'interrupted')).toEqual([
      { at: 0, what: 'interrupted', name: 'b', usdPerHour: 0.25, reason: 'SpotInterrupted', ...facts },
    ]);
  });

  it('distinguishes failed launches from terminated nodes', () => {
    const { log } = at(5);
    log.decisions.record(
      partial({
        kind: 'deleted',
        nodeClaim: 'a',
        nodePool: 'default',
        at: '',
        reason: 'insufficient_capacity',
      }),
    );
    log.gone(unlaunched('a'));
    expect(log.entries).toEqual([
      expect.objectContaining({ what: 'launch failed', name: 'a', instanceType: '', reason: 'InsufficientCapacity' }),
    ]);
    expect(log.summary()).toEqual({ bought: 0, givenBack: 0, byReason: {} });
    log.takenBack(true);
    log.takenBack(false);
    expect(log.interruptions()).toEqual({ count: 2, survived: 1, capacityErrors: 1 });
  });
});

describe('Columns', () => {
  const COUNTS = { usdPerHour: 1 / 3, nodes: 2, spotNodes: 1, runningPods: 3, waitingPods: 4 };
  const requesting = (name: string, phase: 'Running' | 'Succeeded' = 'Running'): Pod =>
    pod(name, {
      spec: { containers: [{ name: 'main', resources: { requests: { cpu: '500m', memory: '1Gi' } } }] } as Pod['spec'],
      status: { phase },
    });
  const node = (registered: boolean, ...pods: readonly Pod[]): StateNode => ({
    ...stateNode('node-1', { pods }),
    allocatable: { cpu: 2_000, memory: 4 * 2 ** 30 } as StateNode['allocatable'],
    registered,
  });

  it('has one row of counts and resources per step, in cores and GiB', () => {
    const columns = new Columns(60);
    columns.add(COUNTS, [node(true, requesting('a'), requesting('b', 'Succeeded')), node(false, requesting('c'))]);
    columns.add(COUNTS, []);
    expect(columns.series).toEqual({
      stepSeconds: 60,
      usdPerHour: [0.333333, 0.333333],
      nodes: [2, 2],
      spotNodes: [1, 1],
      runningPods: [3, 3],
      waitingPods: [4, 4],
      cpuRequested: [0.5, 0],
      cpuAllocatable: [2, 0],
      memoryRequested: [1, 0],
      memoryAllocatable: [4, 0],
    });
    expect(columns.idle).toEqual({ cpu: 0.75, memory: 0.75 });
  });

  it('has no idle resources without nodes', () => {
    expect(new Columns(60).idle).toEqual({ cpu: 0, memory: 0 });
  });
});

describe('Complaints', () => {
  it('counts errors by message, most frequent first, with an example each', () => {
    const complaints = new Complaints();
    const log = complaints.logger.with({ controller: 'nodeclaim', NodeClaim: { name: 'a' }, reconcileID: 'id' });
    log.error('launch failed', { error: new Error('sold out'), tries: 2 });
    complaints.logger.error('other');
    log.error('launch failed', { error: new Error('again') });
    log.info('all is well');
    log.debug('very');
    expect(complaints.told).toEqual([
      { message: 'launch failed', count: 2, example: 'NodeClaim=a tries=2 sold out' },
      { message: 'other', count: 1, example: '' },
    ]);
  });

  it('counts an object once, even if it is retried', () => {
    const complaints = new Complaints();
    const log = complaints.logger.with({ controller: 'provisioner' });
    for (const name of ['a', 'b', 'a', 'a'])
      log.with({ reconcileID: Math.random() }).error('no room', { Pod: { name, namespace: 'web' }, error: 'full' });
    expect(complaints.told).toEqual([{ message: 'no room', count: 2, example: 'Pod=web/a full' }]);
  });

  it('reports at most fifty messages, and distinguishes at most a thousand', () => {
    const complaints = new Complaints();
    for (let index = 0; index < 1_500; index += 1) complaints.logger.error(`message ${index}`);
    const { told } = complaints;
    expect(told).toHaveLength(50);
    expect(told[0]).toEqual({ message: 'other errors', count: 500, example: '' });
  });
});
