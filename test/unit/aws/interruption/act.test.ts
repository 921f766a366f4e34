/** Effects of each kind of interruption on a NodeClaim, its Node and the recorded shortages. */
import { describe, expect, it } from '@jest/globals';
import { NODE, NODE_CLAIM, type Node, type NodeClaim } from '#api/objects';
import type { EventNote } from '#kube/reconcilers';
import { silent } from '#observe/logger';
import { createMetrics } from '#observe/setup';
import { act, type InterruptionKind } from '../../../../src/aws/interruption/act.ts';
import { awsMetrics } from '../../../../src/aws/metrics.ts';
import { UnavailableOfferings } from '../../../../src/aws/offerings/unavailable.ts';
import type { Reservations } from '../../../../src/aws/reservations/reservations.ts';
import type { SpotPool } from '../../../../src/aws/spot-risk/spot-pools.ts';
import { MemoryKube } from '../../../support/memory-kube.ts';

const clock = { now: () => Date.UTC(2026, 5, 3), sleep: async () => undefined, after: () => () => undefined };
const STAMP = 'karpenter.sh/nodeclaim-termination-timestamp';

function world({ labels = {}, finalizers = [] as string[], withNode = true, hasInstance = true } = {}) {
  const kube = new MemoryKube(clock, 0);
  kube.put(NODE_CLAIM, {
    apiVersion: 'karpenter.sh/v1',
    kind: 'NodeClaim',
    metadata: {
      name: 'claim',
      finalizers,
      labels: {
        'karpenter.sh/nodepool': 'default',
        'karpenter.sh/capacity-type': 'spot',
        'node.kubernetes.io/instance-type': 'm5.large',
        'topology.kubernetes.io/zone': 'us-west-2a',
        ...labels,
      },
    },
    spec: { nodeClassRef: { group: 'karpenter.k8s.aws', kind: 'EC2NodeClass', name: 'default' }, requirements: [] },
    status: hasInstance ? { providerID: 'aws:///us-west-2a/i-1' } : {},
  });
  const node: Node = {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name: 'node' },
    spec: { providerID: 'aws:///us-west-2a/i-1' },
  };
  if (withNode) kube.put(NODE, node);
  const metrics = createMetrics();
  const notes: EventNote[] = [];
  const exhausted: string[] = [];
  const heard: string[] = [];
  const unavailable = new UnavailableOfferings(clock, silent);
  const risks: string[] = [];
  const options = {
    client: kube.client(),
    informers: kube.informers(),
    events: { publish: (...published: readonly EventNote[]) => void notes.push(...published) },
    clock,
    metrics: awsMetrics(metrics),
    unavailable,
    plansEvents: true,
    reservations: { exhausted: (id: string) => void exhausted.push(id) } as unknown as Reservations,
    spotRisk: {
      interrupted: (id: string, pool: SpotPool, kind: string) =>
        void risks.push(`${id} in ${pool.instanceType}/${pool.zone}: ${kind}`),
    },
    interrupted: ({ metadata }: NodeClaim, kind: string) => void heard.push(`${metadata.name}: ${kind}`),
  };
  return {
    kube,
    metrics,
    exhausted,
    risks,
    heard,
    unavailable,
    run: (kind: InterruptionKind, ids: readonly string[] = ['i-1']) => act(kind, ids, options, silent),
    told: () => notes.map(({ object, type, reason, message }) => [object.kind, type, reason, message]),
  };
}

const UNHEALTHY = ['Warning', 'InstanceUnhealthy', 'An unhealthy warning was triggered for the instance'] as const;

describe.each<[InterruptionKind, readonly [string, string, string], 'delete' | 'force' | 'nothing']>([
  ['spot_interrupted', ['Warning', 'SpotInterrupted', 'Spot interruption warning was triggered'], 'delete'],
  [
    'capacity_reservation_interrupted',
    ['Warning', 'CapacityReservationInstanceInterrupted', 'Capacity Reservation interruption warning was triggered'],
    'delete',
  ],
  [
    'rebalance_recommendation',
    ['Normal', 'SpotRebalanceRecommendation', 'Spot rebalance recommendation was triggered'],
    'nothing',
  ],
  ['scheduled_change', UNHEALTHY, 'delete'],
  ['event_status', UNHEALTHY, 'delete'],
  ['instance_status', UNHEALTHY, 'force'],
  ['system_status', UNHEALTHY, 'force'],
  ['instance_stopped', ['Warning', 'InstanceStopping', 'Instance is stopping'], 'delete'],
  ['instance_terminated', ['Warning', 'InstanceTerminating', 'Instance is terminating'], 'delete'],
])('%s', (kind, note, action) => {
  it('is reported on the NodeClaim and the Node, and is handled', async () => {
    const { run, told, kube, metrics, unavailable, exhausted, heard } = world({
      finalizers: ['karpenter.sh/termination'],
      labels: { 'karpenter.k8s.aws/capacity-reservation-id': 'cr-1' },
    });
    await run(kind);
    const claim = kube.find(NODE_CLAIM, { name: 'claim' });
    const both = (...[type, reason, message]: readonly [string, string, string]) => [
      ['NodeClaim', type, reason, message],
      ['Node', type, reason, message],
    ];
    const termination = [
      ['NodeClaim', 'Warning', 'TerminatingOnInterruption', 'Interruption triggered termination for the NodeClaim'],
      ['Node', 'Warning', 'TerminatingOnInterruption', 'Interruption triggered termination for the Node'],
    ];
    expect(told()).toEqual([...both(...note), ...(action === 'nothing' ? [] : termination)]);
    expect(claim?.metadata.deletionTimestamp !== undefined).toBe(action !== 'nothing');
    expect(claim?.metadata.annotations?.[STAMP]).toBe(action === 'force' ? '2026-06-03T00:00:00Z' : undefined);
    const counted = `reason="${kind}",nodepool="default",capacity_type="spot",consolidation_policy="",termination_mode=""`;
    expect((await metrics.text()).includes(`karpenter_nodeclaims_disrupted_total{${counted}} 1`)).toBe(
      action !== 'nothing',
    );
    expect(heard).toEqual(action === 'nothing' ? [] : [`claim: ${kind}`]);
    const offering = { instanceType: 'm5.large', zone: 'us-west-2a', capacityType: 'spot' };
    expect(unavailable.shortage(offering)?.reason).toBe(kind === 'spot_interrupted' ? kind : undefined);
    expect(exhausted).toEqual(kind === 'capacity_reservation_interrupted' ? ['cr-1'] : []);
  });
});

describe('an interruption', () => {
  it('is reported and recorded, but not counted again, if its instance is already being deleted', async () => {
    const { run, told, kube, metrics, unavailable } = world({ finalizers: ['karpenter.sh/termination'] });
    await kube.client().delete(NODE_CLAIM, { name: 'claim' });
    await run('spot_interrupted');
    expect(told().map(([, , reason]) => reason)).toEqual(['SpotInterrupted', 'SpotInterrupted']);
    expect(unavailable.version).toBeGreaterThan(0);
    expect(await metrics.text()).not.toContain('nodeclaims_disrupted_total{');
  });

  it.each<InterruptionKind>([
    'instance_terminated',
    'instance_stopped',
  ])('is not reported as %s if the operator terminates the instance itself', async (kind) => {
    const { run, told, kube } = world({ finalizers: ['karpenter.sh/termination'] });
    await kube.client().delete(NODE_CLAIM, { name: 'claim' });
    await run(kind);
    expect(told()).toEqual([]);
  });

  it('is reported only on the NodeClaim if its instance has no node', async () => {
    const { run, told } = world({ withNode: false });
    await run('spot_interrupted');
    expect(told().map(([kind]) => kind)).toEqual(['NodeClaim', 'NodeClaim']);
  });

  it('keeps an existing termination time', async () => {
    const { run, kube } = world({ finalizers: ['karpenter.sh/termination'] });
    const annotations = { [STAMP]: '2026-01-01T00:00:00Z' };
    await kube.client().patch(NODE_CLAIM, { name: 'claim' }, { metadata: { annotations } });
    await run('system_status');
    expect(kube.find(NODE_CLAIM, { name: 'claim' })?.metadata.annotations?.[STAMP]).toBe('2026-01-01T00:00:00Z');
  });

  it('records no shortage if the type or the zone of the instance is missing', async () => {
    const { run, unavailable } = world({ labels: { 'topology.kubernetes.io/zone': '' } });
    await run('spot_interrupted');
    expect(unavailable.version).toBe(0);
  });

  it('has no effect if its instance belongs to another cluster', async () => {
    const { run, told, kube } = world();
    await run('spot_interrupted', ['i-2', 'i-3']);
    expect(told()).toEqual([]);
    expect(kube.find(NODE_CLAIM, { name: 'claim' })).toBeDefined();
  });
});

it.each(['', 'undefined'])('ignores NodeClaims without an instance, even if the instance is "%s"', async (id) => {
  const { kube, run, told } = world({ hasInstance: false, withNode: false });
  await run('spot_interrupted', [id]);
  expect(kube.find(NODE_CLAIM, { name: 'claim' })).toBeDefined();
  expect(told()).toEqual([]);
});

describe('spot risk', () => {
  it.each<[InterruptionKind, readonly string[]]>([
    ['spot_interrupted', ['i-1 in m5.large/us-west-2a: interruption']],
    ['rebalance_recommendation', ['i-1 in m5.large/us-west-2a: recommendation']],
    ['instance_stopped', []],
    ['instance_terminated', []],
    ['scheduled_change', []],
    ['capacity_reservation_interrupted', []],
  ])('changes after %s', async (kind, expected) => {
    const { run, risks } = world();
    await run(kind);
    expect(risks).toEqual(expected);
  });

  it('is recorded only for spot instances with a known pool', async () => {
    for (const labels of [{ 'karpenter.sh/capacity-type': 'on-demand' }, { 'topology.kubernetes.io/zone': '' }]) {
      const { run, risks } = world({ labels });
      await run('spot_interrupted');
      await run('rebalance_recommendation');
      expect(risks).toEqual([]);
    }
  });
});
