/** Repair with the section `repair` of a NodePolicy: budgets, grace periods and reboots. */
import { describe, expect, it } from '@jest/globals';
import {
  getCondition,
  NODE,
  NODE_CLAIM,
  NODE_POLICY,
  NODE_POOL,
  type Node,
  type NodePolicy,
  type NodePool,
  type RepairSection,
  TERMINATION_TIMESTAMP_ANNOTATION,
} from '#api/objects';
import { ApiError } from '#kube/client';
import { partial } from '../../../support/partial.ts';
import { type Bench, bench, claimOf, failing, nodeOf } from './bench.ts';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const REGISTERED = { type: 'Registered', status: 'True', lastTransitionTime: '2025-12-31T00:00:00Z' } as const;

const policyOf = (repair: RepairSection): NodePolicy => ({
  apiVersion: 'karpenter-ts.sh/v1alpha1',
  kind: 'NodePolicy',
  metadata: { name: 'all' },
  spec: { repair },
});

const POOL = partial<NodePool>({ apiVersion: 'karpenter.sh/v1', kind: 'NodePool', metadata: { name: 'default' } });

/** Nodes of one NodePool, the first of which are unhealthy. */
function world(repair: RepairSection, { nodes = 1, sick = 1, type = 'Ready' } = {}) {
  const b = bench(['--feature-gates=NodeRepair=true']);
  b.put(NODE_POOL, POOL);
  b.put(NODE_POLICY, policyOf(repair));
  for (let index = 0; index < nodes; index += 1) {
    const status = { providerID: `aws:///a/i-${index}`, nodeName: `node-${index}`, conditions: [REGISTERED] };
    b.put(NODE_CLAIM, { ...claimOf(`claim-${index}`), status });
  }
  for (let index = 0; index < nodes; index += 1) b.put(NODE, nodeNumber(b, index, { type, isSick: index < sick }));
  return b;
}

const nodeNumber = (
  b: Pick<Bench, 'time'>,
  index: number,
  { type = 'Ready', isSick = false, bootID = 'boot-1' },
): Node => ({
  ...nodeOf(`node-${index}`, { labels: { 'karpenter.sh/nodepool': 'default', 'karpenter.sh/registered': 'true' } }),
  spec: { providerID: `aws:///a/i-${index}` },
  status: {
    nodeInfo: { bootID },
    conditions: [
      {
        type: 'Ready',
        status: type === 'Ready' && isSick ? 'False' : 'True',
        lastTransitionTime: b.time(-40 * MINUTE),
      },
      ...(type === 'Ready'
        ? []
        : [
            {
              type,
              status: isSick ? 'False' : 'True',
              reason: isSick ? 'Fault' : 'Fine',
              lastTransitionTime: b.time(-40 * MINUTE),
            } as const,
          ]),
    ],
  },
});
const condition = (more: Partial<NonNullable<RepairSection['conditions']>[number]> = {}) => ({
  type: 'KernelReady',
  status: 'False' as const,
  toleration: '10m',
  ...more,
});

describe('a budget of a repair', () => {
  it('limits the repairs of a NodePool to 10 % of its nodes by default', async () => {
    const b = world({}, { nodes: 20, sick: 4 });
    await b.clock.advance(SECOND);
    expect(b.calls.filter((call) => call.startsWith('delete NodeClaim'))).toHaveLength(2);
    expect(b.events.find(({ reason }) => reason === 'NodeRepairBlocked')?.message).toBe(
      '2 of 20 nodes are being disrupted, 2 allowed',
    );
  });

  it('lets the next node follow when a NodeClaim is gone', async () => {
    const b = world({ budgets: [{ nodes: '1' }] }, { nodes: 20, sick: 2 });
    await b.clock.advance(SECOND);
    const [first = ''] = b.calls;
    const claim = b.claim(first.replace('delete NodeClaim ', ''));
    if (claim === undefined) throw new Error('no NodeClaim is deleted');
    b.remove(NODE_CLAIM, claim);
    await b.clock.advance(2 * MINUTE);
    expect(new Set(b.calls.filter((call) => call.startsWith('delete NodeClaim'))).size).toBe(2);
  });

  it('allows none with an invalid schedule, and names it', async () => {
    const b = world(
      { budgets: [{ nodes: '5', schedule: 'never ever ever ever ever', duration: '1h' }] },
      { nodes: 20 },
    );
    await b.clock.advance(MINUTE);
    expect(b.calls).toEqual([]);
    expect(b.events.find(({ reason }) => reason === 'NodeRepairBlocked')?.message).toContain('invalid cron schedule');
  });
});

describe('the grace period of a repair', () => {
  const deadline = (b: Pick<Bench, 'claim'>) =>
    b.claim('claim-0')?.metadata.annotations?.[TERMINATION_TIMESTAMP_ANNOTATION];

  it.each([
    { type: 'KernelReady', repair: { gracePeriod: '1h', conditions: [condition()] }, at: '2026-01-01T01:00:00Z' },
    {
      type: 'KernelReady',
      repair: { gracePeriod: '1h', conditions: [condition({ gracePeriod: '5m' })] },
      at: '2026-01-01T00:05:00Z',
    },
    { type: 'Ready', repair: { gracePeriod: '1h' }, at: '2026-01-01T00:00:00Z' },
    { type: 'KernelReady', repair: { conditions: [condition()] }, at: '2026-01-01T00:00:00Z' },
  ])('ends at $at for $type with $repair', async ({ type, repair, at }) => {
    const b = world(repair, { type });
    await b.clock.advance(10);
    expect(b.calls).toEqual(['delete NodeClaim claim-0']);
    expect(deadline(b)).toBe(at);
  });

  it('is never longer than terminationGracePeriod', async () => {
    const b = world({ gracePeriod: '1h', conditions: [condition()] }, { type: 'KernelReady' });
    const claim = b.claim('claim-0');
    if (claim === undefined) throw new Error('the NodeClaim is missing');
    b.put(NODE_CLAIM, { ...claim, spec: { ...claim.spec, terminationGracePeriod: '10m' } });
    await b.clock.advance(10);
    expect(deadline(b)).toBe('2026-01-01T00:10:00Z');
  });
});

describe('a reboot', () => {
  const REBOOT: RepairSection = { conditions: [condition({ action: 'Reboot' })] };
  const state = (b: Pick<Bench, 'claim'>) => {
    const claim = b.claim('claim-0');
    const found = claim && getCondition(claim, 'Rebooting');
    return found && `${found.status} ${found.reason}`;
  };
  const begun = async () => {
    const b = world(REBOOT, { type: 'KernelReady' });
    await b.clock.advance(SECOND);
    expect(b.calls).toEqual(['reboot claim-0']);
    expect(state(b)).toBe('True RebootIssued');
    return b;
  };

  it('ends when the node is healthy with a new boot ID', async () => {
    const b = await begun();
    b.put(NODE, nodeNumber(b, 0, { type: 'KernelReady' }));
    await b.clock.advance(MINUTE);
    expect(state(b)).toBe('True RebootIssued');
    b.put(NODE, nodeNumber(b, 0, { type: 'KernelReady', bootID: 'boot-2' }));
    await b.clock.advance(MINUTE);
    expect(state(b)).toBe('False RebootSucceeded');
    expect(b.calls).toEqual(['reboot claim-0']);
    expect(await b.metrics.text()).toContain(
      'karpenter_nodeclaims_rebooted_total{condition="kernel_ready",nodepool="default",outcome="success"} 1',
    );
    expect(b.events.map(({ object, reason }) => `${object.kind} ${reason}`)).toEqual([
      'Node NodeRebooting',
      'NodeClaim NodeRebooting',
    ]);
  });

  it('is followed by a replacement if the node stays unhealthy for 20 minutes', async () => {
    const b = await begun();
    await b.clock.advance(19 * MINUTE);
    expect(b.calls).toEqual(['reboot claim-0']);
    await b.clock.advance(2 * MINUTE);
    expect(b.calls).toEqual(['reboot claim-0', 'delete NodeClaim claim-0']);
    expect(b.events.map(({ reason }) => reason)).toContain('RebootFailed');
  });

  it('is followed by a replacement at the next fault of the node', async () => {
    const b = await begun();
    b.put(NODE, nodeNumber(b, 0, { type: 'KernelReady', bootID: 'boot-2' }));
    await b.clock.advance(MINUTE);
    b.put(NODE, nodeNumber(b, 0, { type: 'KernelReady', bootID: 'boot-2', isSick: true }));
    await b.clock.advance(MINUTE);
    expect(b.calls).toEqual(['reboot claim-0', 'delete NodeClaim claim-0']);
  });

  it('is requested again after an error, and ends in a replacement if EC2 never accepts it', async () => {
    const b = world(REBOOT, { type: 'KernelReady' });
    failing(b, 'reboot', new ApiError(403, 'Forbidden', 'UnauthorizedOperation'), 1_000);
    await b.clock.advance(10 * MINUTE);
    expect(state(b)).toBe('True RebootRequested');
    expect(b.calls.length).toBeGreaterThan(2);
    await b.clock.advance(12 * MINUTE);
    expect(b.calls.at(-1)).toBe('delete NodeClaim claim-0');
  });

  it('is continued by another leader without a second request', async () => {
    const b = await begun();
    const other = world(REBOOT, { type: 'KernelReady' });
    const claim = b.claim('claim-0');
    if (claim === undefined) throw new Error('the NodeClaim is missing');
    other.put(NODE_CLAIM, claim);
    await other.clock.advance(MINUTE);
    expect(other.calls).toEqual([]);
    other.put(NODE, nodeNumber(other, 0, { type: 'KernelReady', bootID: 'boot-2' }));
    await other.clock.advance(MINUTE);
    expect(state(other)).toBe('False RebootSucceeded');
  });

  const pause = { scope: 'disruption', reason: '', untilMs: Date.parse('2099-01-01T00:00:00Z') } as const;

  it('has 20 minutes again after a pause, and is not requested twice', async () => {
    const b = await begun();
    b.cluster.pause.set(pause);
    await b.clock.advance(90 * MINUTE);
    expect(state(b)).toBe('Unknown RebootIssued');
    b.cluster.pause.set(undefined);
    await b.clock.advance(19 * MINUTE);
    expect(state(b)).toBe('True RebootIssued');
    expect(b.calls).toEqual(['reboot claim-0']);
    await b.clock.advance(2 * MINUTE);
    expect(b.calls).toEqual(['reboot claim-0', 'delete NodeClaim claim-0']);
  });

  it('ends during a pause if the node has recovered', async () => {
    const b = await begun();
    b.cluster.pause.set(pause);
    await b.clock.advance(30 * MINUTE);
    b.put(NODE, nodeNumber(b, 0, { type: 'KernelReady', bootID: 'boot-2' }));
    await b.clock.advance(MINUTE);
    expect(state(b)).toBe('False RebootSucceeded');
  });

  it('is requested after a pause that began before the request', async () => {
    const b = world(REBOOT, { type: 'KernelReady' });
    failing(b, 'reboot', new ApiError(500, 'InternalError', 'try again'), 1);
    await b.clock.advance(1);
    expect(state(b)).toBe('True RebootRequested');
    const before = b.calls.length;
    b.cluster.pause.set(pause);
    await b.clock.advance(90 * MINUTE);
    expect(b.calls).toHaveLength(before);
    b.cluster.pause.set(undefined);
    await b.clock.advance(MINUTE);
    expect(b.calls.slice(before)).toEqual(['reboot claim-0']);
    expect(state(b)).toBe('True RebootIssued');
  });

  it('waits while its NodePool is observed', async () => {
    const b = await begun();
    b.put(NODE_POLICY, { ...policyOf(REBOOT), spec: { repair: REBOOT, mode: 'Observe' } });
    await b.clock.advance(60 * MINUTE);
    expect(state(b)).toBe('Unknown RebootIssued');
    expect(b.calls).toEqual(['reboot claim-0']);
  });

  it('keeps its limit when a new leader has not read the pause yet', async () => {
    const b = await begun();
    b.cluster.pause.awaitRead();
    await b.clock.advance(10 * MINUTE);
    expect(state(b)).toBe('True RebootIssued');
  });

  it('counts as a disrupted node for the budgets', async () => {
    const b = world({ ...REBOOT, budgets: [{ nodes: '1' }] }, { type: 'KernelReady', nodes: 20, sick: 2 });
    await b.clock.advance(5 * MINUTE);
    expect(b.calls).toEqual([expect.stringMatching(/^reboot claim-[01]$/)]);
  });

  it('is left out for a node without a boot ID', async () => {
    const b = world(REBOOT, { type: 'KernelReady' });
    const node = nodeNumber(b, 0, { type: 'KernelReady', isSick: true });
    b.put(NODE, { ...node, status: { ...node.status, nodeInfo: {} } });
    await b.clock.advance(SECOND);
    expect(b.calls).toContain('delete NodeClaim claim-0');
  });
});

describe('the action None', () => {
  it('leaves a node, and does not count it as unhealthy', async () => {
    const b = world({ conditions: [condition({ action: 'None' })] }, { type: 'KernelReady', nodes: 4, sick: 4 });
    await b.clock.advance(60 * MINUTE);
    expect(b.calls).toEqual([]);
    expect(b.events).toEqual([]);
  });
});
