import { describe, expect, it } from '@jest/globals';
import { NODE, NODE_CLAIM, type NodeClaim, POD } from '#api/objects';
import { expiration } from '../../../../src/controllers/nodeclaim/expiration.ts';
import { bench, daemonOf, nodeOf, podOf, settledClaim } from '../node/bench.ts';

const MINUTE = 60_000;
type Bench = ReturnType<typeof bench>;

describe('expiration', () => {
  const start = (): Bench => bench([], (deps) => [expiration(deps)]);
  const aged = (expireAfter: string | undefined, more: Partial<NodeClaim['metadata']> = {}): NodeClaim => {
    const claim = settledClaim('claim');
    const { expireAfter: _, ...spec } = claim.spec;
    return {
      ...claim,
      metadata: { ...claim.metadata, creationTimestamp: '2026-01-01T00:00:00Z', ...more },
      spec: { ...spec, ...(expireAfter !== undefined && { expireAfter }) },
    };
  };

  it('deletes a claim at its exact age, even with protected pods, and counts the pods that move', async () => {
    const b = start();
    b.put(NODE, { ...nodeOf('node'), metadata: { ...nodeOf('node').metadata, labels: {} } });
    b.put(POD, podOf('web', {}, { annotations: { 'karpenter.sh/do-not-disrupt': 'true' } }));
    b.put(POD, daemonOf('daemon'));
    b.put(NODE_CLAIM, aged('720h'));
    await b.clock.advance(720 * 60 * MINUTE - 1);
    expect(b.calls).toEqual([]);
    await b.clock.advance(1);
    expect(b.calls).toEqual(['delete NodeClaim claim']);
    const labels =
      'reason="expired",nodepool="default",capacity_type="",consolidation_policy="",termination_mode="graceful"';
    const text = await b.metrics.text();
    expect(text).toContain(`karpenter_nodeclaims_disrupted_total{${labels}} 1`);
    expect(text).toContain(`karpenter_pods_disruption_initiated_total{${labels}} 1`);
  });

  it('reports an expireAfter that cannot be parsed once, does not expire the claim, and does not retry', async () => {
    const b = start();
    b.put(NODE_CLAIM, aged('99999999h'));
    await b.clock.advance(60 * MINUTE);
    b.put(NODE_CLAIM, aged('99999999h', { annotations: { a: 'b' } }));
    await b.clock.advance(10_000 * 60 * MINUTE);
    expect(b.calls).toEqual([]);
    expect(b.events.map(({ reason, message }) => [reason, message])).toEqual([
      [
        'UnreadableField',
        'Cannot use spec.expireAfter of the NodeClaim, so the claim does not expire: Cannot read duration "99999999h": ' +
          'longer than 292 years; correct it in the NodePool, or delete the NodeClaim',
      ],
    ]);
    expect(b.lines.filter(({ level }) => level === 'error').map(({ message }) => message)).toEqual([
      'unreadable field of nodeclaim',
    ]);
  });

  it.each([
    { what: 'that never expires', claim: aged('Never') },
    { what: 'without a creation time', claim: aged(undefined) },
    { what: 'that is being deleted', claim: aged('1s', { deletionTimestamp: '2026-01-01T00:00:00Z' }) },
    {
      what: 'of another provider',
      claim: { ...aged('1s'), spec: { ...aged('1s').spec, nodeClassRef: { group: 'x', kind: 'X', name: 'x' } } },
    },
  ])('ignores a claim $what', async ({ claim }) => {
    const b = start();
    b.put(NODE_CLAIM, claim);
    await b.clock.advance(10_000 * 60 * MINUTE);
    expect(b.calls).toEqual([]);
  });
});
