/** Conditions for the replacement of unhealthy nodes. */
import { describe, expect, it } from '@jest/globals';
import {
  INITIALIZED_LABEL,
  NODE,
  NODE_CLAIM,
  NODE_POOL,
  NODEPOOL_LABEL,
  type Node,
  POD,
  TERMINATION_TIMESTAMP_ANNOTATION,
  ZONE_LABEL,
} from '#api/objects';
import { ApiError } from '#kube/client';
import { type Bench, bench, claimOf, count, daemonOf, failing, nodeOf, PROVIDER_ID, podOf } from './bench.ts';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const REPAIR = ['--feature-gates=NodeRepair=true'];
const broken = new ApiError(500, 'InternalError', 'the API server has a bad day');

describe('the counter of repairs', () => {
  it.each([
    ['its name if repair is disabled', [], '# TYPE karpenter_nodeclaims_unhealthy_disrupted_total counter'],
    [
      'each condition if repair is enabled',
      REPAIR,
      'karpenter_nodeclaims_unhealthy_disrupted_total{condition="ready",nodepool="",capacity_type="",image_id=""} 0',
    ],
  ])('contains %s before the first repair', async (_, argv, line) => {
    expect(await bench(argv).metrics.text()).toContain(line);
  });
});

describe('repair', () => {
  const NOT_READY_FOR = 31 * MINUTE;
  const sick = (b: Bench, name = 'node', more: Partial<Node['metadata']> = {}, id = PROVIDER_ID): Node => ({
    ...nodeOf(name, more, 'False'),
    spec: { providerID: id },
    status: { conditions: [{ type: 'Ready', status: 'False', lastTransitionTime: b.time(-NOT_READY_FOR) }] },
  });
  const deadline = (b: Bench): string | undefined =>
    b.claim('claim')?.metadata.annotations?.[TERMINATION_TIMESTAMP_ANNOTATION];

  it.each([
    { there: undefined, becomes: '2026-01-01T00:00:00Z' },
    { there: '2025-12-31T23:59:00Z', becomes: '2025-12-31T23:59:00Z' },
    { there: '2026-01-01T01:00:00Z', becomes: '2026-01-01T00:00:00Z' },
    { there: 'soon', becomes: '2026-01-01T00:00:00Z' },
    { there: '5', becomes: '2026-01-01T00:00:00Z' },
  ])('changes the deadline $there to $becomes', async ({ there, becomes }) => {
    const b = bench(REPAIR);
    const annotations = there === undefined ? {} : { [TERMINATION_TIMESTAMP_ANNOTATION]: there };
    b.put(NODE_CLAIM, claimOf('claim', { annotations }));
    b.put(NODE, sick(b));
    await b.clock.advance(10);
    expect(deadline(b)).toBe(becomes);
    expect(b.calls).toEqual(['delete NodeClaim claim']);
  });

  it('leaves a node whose recovery the cache does not show', async () => {
    const b = bench(REPAIR);
    b.put(NODE_CLAIM, claimOf('claim'));
    b.put(NODE, sick(b));
    b.world.unseenNode = nodeOf('node');
    await b.clock.advance(5 * MINUTE);
    expect(b.calls).toEqual([]);
    expect(deadline(b)).toBeUndefined();
    b.world.unseenNode = undefined;
    await b.clock.advance(10 * SECOND);
    expect(b.calls).toEqual(['delete NodeClaim claim']);
  });

  describe('a condition whose writer resets its time', () => {
    const withReason = (b: Bench, reason: string, status: 'True' | 'False' = 'False'): Node => ({
      ...sick(b),
      status: { conditions: [{ type: 'Ready', status, reason, lastTransitionTime: b.time() }] },
    });
    const flap = async (b: Bench, minutes: number): Promise<void> => {
      for (let minute = 0; minute < minutes; minute += 1) {
        b.put(NODE, withReason(b, `Reason${minute}`));
        await b.clock.advance(MINUTE);
      }
    };

    it('counts from its start while only its reason changes', async () => {
      const b = bench(REPAIR);
      b.put(NODE_CLAIM, claimOf('claim'));
      await flap(b, 29);
      expect(b.calls).toEqual([]);
      await flap(b, 2);
      expect(b.calls).toEqual(['delete NodeClaim claim']);
    });

    it('counts again after a recovery', async () => {
      const b = bench(REPAIR);
      b.put(NODE_CLAIM, claimOf('claim'));
      await flap(b, 20);
      b.put(NODE, withReason(b, 'KubeletReady', 'True'));
      await b.clock.advance(SECOND);
      await flap(b, 29);
      expect(b.calls).toEqual([]);
    });

    it('counts again if a newer time has the same reason, because a recovery can be missed', async () => {
      const b = bench(REPAIR);
      b.put(NODE_CLAIM, claimOf('claim'));
      for (let minute = 0; minute < 60; minute += 10) {
        b.put(NODE, withReason(b, 'KubeletNotReady'));
        await b.clock.advance(10 * MINUTE);
      }
      expect(b.calls).toEqual([]);
    });
  });

  it('waits while the watch of Nodes is stale', async () => {
    const b = bench(REPAIR);
    b.world.watches = [{ resource: 'nodes', ageMs: 70 * SECOND, isStale: true }];
    b.put(NODE_CLAIM, claimOf('claim'));
    b.put(NODE, sick(b));
    await b.clock.advance(MINUTE);
    expect(b.calls).toEqual([]);
    b.world.watches = [];
    await b.clock.advance(10 * SECOND);
    expect(b.calls).toEqual(['delete NodeClaim claim']);
  });

  it('shortens the deadline of a claim that is being deleted, and neither deletes nor counts the claim again', async () => {
    const b = bench(REPAIR);
    b.put(NODE_CLAIM, claimOf('claim', { deletionTimestamp: b.time() }));
    b.put(NODE, sick(b));
    await b.clock.advance(10);
    expect(deadline(b)).toBe('2026-01-01T00:00:00Z');
    expect(b.calls).toEqual([]);
    expect(await b.metrics.text()).not.toContain('nodeclaims_disrupted_total{');
  });

  it('is retried if the deletion fails, and counted with its pods when it succeeds', async () => {
    const b = bench(REPAIR);
    failing(b, 'delete NodeClaim', broken, 2);
    b.put(NODE_CLAIM, claimOf('claim'));
    b.put(POD, podOf('web'));
    b.put(POD, daemonOf('daemon'));
    b.put(NODE, sick(b, 'node', { labels: { [NODEPOOL_LABEL]: 'default', [INITIALIZED_LABEL]: 'true' } }));
    await b.clock.advance(5 * SECOND);
    expect(count(b, 'delete NodeClaim claim')).toBe(1);
    const text = await b.metrics.text();
    const labels =
      'reason="unhealthy",nodepool="default",capacity_type="",consolidation_policy="",termination_mode="graceful"';
    expect(text).toContain(`karpenter_nodeclaims_disrupted_total{${labels}} 1`);
    expect(text).toContain(`karpenter_pods_disruption_initiated_total{${labels}} 1`);
    expect(b.lines.find(({ message }) => message === 'deleting unhealthy node')?.fields).toMatchObject({
      Node: { name: 'node' },
      NodeClaim: { name: 'claim' },
    });
    expect(b.events.map(({ object, reason, message }) => [object.kind, reason, message])).toEqual(
      ['NodeClaim', 'Node'].map((kind) => [
        kind,
        'Unhealthy',
        expect.stringMatching(/^Deleting the NodeClaim: condition Ready of its node has been \S+ since \S+Z$/),
      ]),
    );
  });

  it('publishes events with three keys for the Node if it is blocked, and is retried after five minutes', async () => {
    const b = bench(REPAIR);
    const nodePool = { apiVersion: 'karpenter.sh/v1', kind: 'NodePool', metadata: { name: 'default' }, spec: {} };
    b.put(NODE_POOL, nodePool);
    b.put(NODE_CLAIM, claimOf('claim'));
    b.put(NODE, sick(b));
    b.put(NODE, sick(b, 'other', {}, 'aws:///zone-a/i-2'));
    await b.clock.advance(10);
    const told = b.events.filter(({ reason }) => reason === 'NodeRepairBlocked');
    expect(told.map(({ object, dedupe, windowMs }) => [object.kind, object.metadata.name, dedupe, windowMs])).toEqual([
      ['Node', 'node', ['uid-node'], 15 * MINUTE],
      ['Node', 'node', ['uid-claim'], 15 * MINUTE],
      ['Node', 'node', ['uid-default'], 15 * MINUTE],
    ]);
    b.put(NODE, nodeOf('other'));
    await b.clock.advance(4 * MINUTE);
    expect(b.calls).toEqual([]);
    await b.clock.advance(MINUTE);
    expect(b.calls).toEqual(['delete NodeClaim claim']);
  });

  it('spares a node that its annotation protects, until the annotation is removed', async () => {
    const b = bench(REPAIR);
    b.put(NODE_CLAIM, claimOf('claim'));
    b.put(NODE, sick(b, 'node', { annotations: { 'karpenter.sh/do-not-repair': 'true' } }));
    await b.clock.advance(30 * MINUTE);
    expect(b.calls).toEqual([]);
    expect(b.events.find(({ reason }) => reason === 'NodeRepairBlocked')?.message).toBe(
      'the annotation karpenter.sh/do-not-repair of the node forbids repairs',
    );
    b.put(NODE, sick(b));
    await b.clock.advance(5 * MINUTE);
    expect(b.calls).toEqual(['delete NodeClaim claim']);
  });

  it('pauses in a zone where many nodes fail together, and repairs a node of another zone', async () => {
    const b = bench(REPAIR);
    const inZone = (zone: string) => ({ labels: { [ZONE_LABEL]: zone, [NODEPOOL_LABEL]: 'default' } });
    const ids = Array.from({ length: 12 }, (_, index) => `aws:///zone/i-${index}`);
    for (const [index, id] of ids.entries()) {
      const zone = index < 4 ? 'zone-a' : 'zone-b';
      const name = `node-${index}`;
      b.put(NODE_CLAIM, { ...claimOf(`claim-${index}`), status: { providerID: id, nodeName: name } });
      const healthy = { ...nodeOf(name, inZone(zone)), spec: { providerID: id } };
      b.put(NODE, index < 4 || index === 11 ? sick(b, name, inZone(zone), id) : healthy);
    }
    await b.clock.advance(MINUTE);
    expect(b.calls).toEqual(['delete NodeClaim claim-11']);
    expect(b.events.filter(({ reason }) => reason === 'NodeRepairBlocked').map(({ message }) => message)).toContain(
      'more than 20% nodes are unhealthy in the nodepool: 4 of 4 nodes in zone zone-a became unhealthy between 2025-12-31T23:29:00Z and 2025-12-31T23:29:00Z',
    );
  });

  it('considers only the nodes of its NodePool', async () => {
    const b = bench(REPAIR);
    b.put(NODE_CLAIM, claimOf('claim'));
    b.put(NODE, sick(b));
    b.put(NODE, sick(b, 'stranger', { labels: { [NODEPOOL_LABEL]: 'another' } }, 'aws:///zone-a/i-2'));
    await b.clock.advance(10);
    expect(b.calls).toEqual(['delete NodeClaim claim']);
  });

  it.each([
    { when: 'no NodeClaim', claims: [] },
    { when: 'two NodeClaims', claims: ['one', 'two'] },
  ])('ignores a node with $when', async ({ claims }) => {
    const b = bench(REPAIR);
    for (const name of claims) b.put(NODE_CLAIM, claimOf(name));
    b.put(NODE, sick(b));
    await b.clock.advance(MINUTE);
    expect(b.calls).toEqual([]);
  });

  it('starts when a condition changes while the operator runs', async () => {
    const b = bench(REPAIR);
    b.put(NODE_CLAIM, claimOf('claim'));
    b.put(NODE, nodeOf('node'));
    await b.clock.advance(MINUTE);
    expect(b.calls).toEqual([]);
    b.put(NODE, sick(b));
    await b.clock.advance(10);
    expect(b.calls).toEqual(['delete NodeClaim claim']);
  });

  it.each([
    { age: 29 * MINUTE, calls: [] },
    { age: 30 * MINUTE, calls: ['delete NodeClaim claim'] },
  ])('starts for a node that is $age ms old and has no transition time', async ({ age, calls }) => {
    const b = bench(REPAIR);
    b.put(NODE_CLAIM, claimOf('claim'));
    const node = sick(b, 'node', { creationTimestamp: b.time(-age) });
    b.put(NODE, { ...node, status: { conditions: [{ type: 'Ready', status: 'False' }] } });
    await b.clock.advance(10);
    expect(b.calls).toEqual(calls);
  });

  it('is cancelled if the node recovers in time', async () => {
    const b = bench(REPAIR);
    b.put(NODE_CLAIM, claimOf('claim'));
    const node = sick(b);
    b.put(NODE, {
      ...node,
      status: { conditions: [{ type: 'Ready', status: 'False', lastTransitionTime: b.time() }] },
    });
    await b.clock.advance(29 * MINUTE);
    b.put(NODE, { ...node, status: { conditions: [{ type: 'Ready', status: 'True', lastTransitionTime: b.time() }] } });
    await b.clock.advance(MINUTE * 10);
    expect(b.calls).toEqual([]);
  });
});
