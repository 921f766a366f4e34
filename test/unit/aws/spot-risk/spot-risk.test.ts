/** Effect of interruptions on prices, counting of instance-hours, and persistence across restarts. */
import { describe, expect, it } from '@jest/globals';
import { NODE_CLAIM, type NodeClaim } from '#api/objects';
import { ConfigMapDocument } from '#kube/reconcilers';
import { silent } from '#observe/logger';
import { SPOT_RISK_NAME, SpotRisk, spotRiskKeeper } from '../../../../src/aws/spot-risk/spot-risk.ts';
import { spotRiskWatch } from '../../../../src/aws/spot-risk/watch.ts';
import { MemoryKube } from '../../../support/memory-kube.ts';
import { recordingLog } from '../../kube/fakes.ts';
import { type VirtualClock, virtualClock } from '../../virtualclock.ts';

const HOUR = 3_600_000;
const POOL = { instanceType: 'm5.large', zone: 'us-west-2a' };
const OTHER = { instanceType: 'c5.large', zone: 'us-west-2a' };

function interrupt(risk: SpotRisk, count: number, pool = POOL): void {
  for (let at = 0; at < count; at++) risk.interrupted(`i-${pool.instanceType}-${at}`, pool, 'interruption');
}
const partOf = (risk: SpotRisk, { instanceType, zone } = POOL): number => risk.partOf(instanceType, zone);

describe('spot risk', () => {
  it('raises only the price of the interrupted pool, until it expires', async () => {
    const clock = virtualClock();
    const risk = new SpotRisk(1, clock);
    interrupt(risk, 4);
    expect(partOf(risk)).toBe(0.15);
    expect(partOf(risk, OTHER)).toBe(0);
    expect(partOf(risk, { ...POOL, zone: 'us-west-2b' })).toBe(0);
    await clock.advance(600 * HOUR);
    risk.refresh();
    expect(partOf(risk)).toBe(0);
  });

  it('reports the affected types after a change, and only then', () => {
    const risk = new SpotRisk(1, virtualClock());
    const before = risk.version;
    risk.ran(POOL, 1);
    risk.capacityError(POOL);
    risk.refresh();
    expect([risk.version, risk.sequence('m5.large')]).toEqual([before, 0]);
    interrupt(risk, 4);
    expect(risk.version).toBeGreaterThan(before);
    expect(risk.sequence('m5.large')).toBeGreaterThan(0);
    expect(risk.sequence('c5.large')).toBe(0);
    const now = risk.version;
    risk.refresh();
    expect(risk.version).toBe(now);
  });

  it('counts an instance once, including its recommendation', () => {
    const risk = new SpotRisk(1, virtualClock());
    for (let again = 0; again < 3; again++) risk.interrupted('i-1', POOL, 'recommendation');
    expect(risk.views()[0]?.interruptions).toBe(0.25);
    for (let again = 0; again < 3; again++) risk.interrupted('i-1', POOL, 'interruption');
    risk.interrupted('i-1', POOL, 'recommendation');
    expect(risk.views()[0]?.interruptions).toBe(1);
  });

  it('has no effect with a weight of 0', () => {
    const risk = new SpotRisk(0, virtualClock());
    interrupt(risk, 50);
    risk.capacityError(POOL);
    expect([partOf(risk), risk.views(), risk.changes, risk.isOn]).toEqual([0, [], 0, false]);
  });

  it('is reported for pools with events, the highest risk first', () => {
    const risk = new SpotRisk(1, virtualClock());
    risk.ran({ ...POOL, zone: 'us-west-2c' }, 100);
    interrupt(risk, 1, OTHER);
    interrupt(risk, 6);
    risk.capacityError(POOL);
    expect(risk.views()).toEqual([
      {
        ...POOL,
        interruptions: 6,
        capacityErrors: 1,
        instanceHours: 0,
        interruptionsPerHour: expect.closeTo(0.2542, 4),
        addedPart: 0.25,
      },
      expect.objectContaining({ ...OTHER, addedPart: 0.05 }),
    ]);
  });
});

describe('an instance-hour', () => {
  const claim = (name: string, labels: Record<string, string>, status: NodeClaim['status']): NodeClaim => ({
    apiVersion: 'karpenter.sh/v1',
    kind: 'NodeClaim',
    metadata: { name, labels },
    spec: { nodeClassRef: { group: 'karpenter.k8s.aws', kind: 'EC2NodeClass', name: 'default' }, requirements: [] },
    ...(status === undefined ? {} : { status }),
  });
  const spot = {
    'karpenter.sh/capacity-type': 'spot',
    'node.kubernetes.io/instance-type': 'm5.large',
    'topology.kubernetes.io/zone': 'us-west-2a',
  };

  it('is counted for a running spot instance, and not for time without a pass', async () => {
    const clock = virtualClock();
    const kube = new MemoryKube(clock, 0);
    const risk = new SpotRisk(1, clock);
    const launched = { providerID: 'aws:///us-west-2a/i-1' };
    kube.put(NODE_CLAIM, claim('one', spot, launched));
    kube.put(NODE_CLAIM, claim('two', spot, launched));
    kube.put(NODE_CLAIM, claim('launching', spot, {}));
    kube.put(NODE_CLAIM, claim('on-demand', { ...spot, 'karpenter.sh/capacity-type': 'on-demand' }, launched));
    const watch = spotRiskWatch(risk, kube.informers(), clock);
    interrupt(risk, 1);
    const look = () => watch.reconcile({} as Parameters<typeof watch.reconcile>[0]);
    for (let minute = 0; minute < 60; minute++) {
      await clock.advance(60_000);
      expect(await look()).toEqual({ kind: 'after', waitMs: 60_000 });
    }
    expect(risk.views()[0]?.instanceHours).toBeCloseTo(2, 1);
    await clock.advance(10 * HOUR);
    await look();
    expect(risk.views()[0]?.instanceHours).toBeLessThan(2.2);
  });
});

describe('the persistence of spot pools', () => {
  const REF = { name: SPOT_RISK_NAME, namespace: 'karpenter' };
  function operator(kube: MemoryKube, clock: VirtualClock) {
    const { log, lines } = recordingLog();
    const client = kube.client();
    const risk = new SpotRisk(1, clock);
    const keeper = spotRiskKeeper({ client, log, namespace: REF.namespace }, risk);
    if (keeper === undefined) throw new Error('a keeper is expected');
    return { risk, keeper, lines, document: new ConfigMapDocument({ client, log: silent, ...REF }) };
  }

  it('survives restarts', async () => {
    const clock = virtualClock();
    const kube = new MemoryKube(clock);
    const first = operator(kube, clock);
    await first.keeper.reconcile();
    interrupt(first.risk, 6);
    await first.keeper.write();
    const second = operator(kube, clock);
    await second.keeper.reconcile();
    expect(partOf(second.risk)).toBe(0.25);
    expect([...first.lines, ...second.lines]).toEqual([]);
  });

  it('starts again with a log line if the text is invalid', async () => {
    const clock = virtualClock();
    const kube = new MemoryKube(clock);
    const { keeper, risk, lines, document } = operator(kube, clock);
    await document.write(['{"version":1,"at":"2026-01-01T00:00:00Z","pools":[{"instanceType":"m5.large"}]}']);
    await keeper.reconcile();
    expect(lines).toMatchObject([
      {
        message: 'failed reading the stored document, keeping it and starting with an empty one',
        fields: { ConfigMap: REF },
      },
    ]);
    interrupt(risk, 4);
    await keeper.write();
    expect(await document.read()).toContain('"interruptions":4');
  });

  it('is disabled with a weight of 0, or without a namespace', () => {
    const clock = virtualClock();
    const client = new MemoryKube(clock).client(new AbortController().signal);
    expect(spotRiskKeeper({ client, log: silent, namespace: 'karpenter' }, new SpotRisk(0, clock))).toBeUndefined();
    expect(spotRiskKeeper({ client, log: silent, namespace: '' }, new SpotRisk(1, clock))).toBeUndefined();
  });
});
