/** Start, wait, execution and rollback of commands. */
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { NODE_CLAIM, NODE_POOL, type NodeClaim, type NodePool } from '#api/objects';
import { ApiError } from '#kube/client';
import { limitMs } from '../../../../src/controllers/disruption/queue.ts';
import { conditionOf, World } from '../harness.ts';
import { CLOSED, startWithNodes } from './disruption-world.ts';

let world: World;
beforeEach(() => {
  world = new World();
});
afterEach(() => world.kill());

const MINUTE = 60;

/** Creates a number of nodes with a large pod and a small pod each. */
async function withNodes(count: number, spec: Partial<NodePool['spec']> = {}): Promise<void> {
  const flags = ['--feature-gates=StaticCapacity=true'];
  await startWithNodes(world, { count, disruption: CLOSED, small: count, spec, flags });
  await world.pass(15);
}

const release = (): unknown =>
  world.kube.patch(NODE_POOL, { name: 'default' }, { spec: { disruption: { budgets: [{ nodes: '100%' }] } } });
/** Blocks further commands. */
const close = (): unknown =>
  world.kube.patch(NODE_POOL, { name: 'default' }, { spec: { disruption: { budgets: [{ nodes: '0' }] } } });
const changeTemplate = (): unknown =>
  world.kube.patch(
    NODE_POOL,
    { name: 'default' },
    { spec: { template: { metadata: { labels: { 'example.com/generation': '2' } } } } },
  );
const drop = (app: string): void =>
  world.removePods(...world.pods.filter(({ metadata }) => metadata.labels?.app === app));
const find = ({ metadata }: NodeClaim): NodeClaim | undefined => world.kube.find(NODE_CLAIM, metadata);
const isMarked = ({ status }: NodeClaim): boolean | undefined =>
  world.cluster.nodeByProviderId(status?.providerID ?? '')?.markedForDeletion;
const fieldsOf = (wanted: string) =>
  world.lines.filter(({ message }) => message === wanted).map(({ fields }) => fields);
const eventsOf = (wanted: string) => world.events.filter(({ reason }) => reason === wanted);
const disruptionErrors = (): readonly string[] =>
  fieldsOf('Reconciler error')
    .filter(({ controller }) => controller === 'disruption')
    .map(({ error }) => String(error));
/** Returns the claims, oldest first. */
function claimsNow(): readonly [NodeClaim, ...NodeClaim[]] {
  const [first, ...others] = world.claims;
  if (first === undefined) throw new Error('expected a claim');
  return [first, ...others];
}

const outOfOrder = (): never => {
  throw new ApiError(500, 'InternalError', 'out of order');
};

describe('a command that starts', () => {
  it('creates its replacement before cluster state excludes its node, so that no second node is launched', async () => {
    await withNodes(1);
    const [old] = claimsNow();
    const seen: unknown[] = [];
    world.kube.beforeWrite = (at) => {
      if (at === 'create nodeclaims') seen.push([isMarked(old), world.disruptedNodes().length]);
    };
    changeTemplate();
    release();
    world.joining = false;
    await world.pass(30);
    expect(seen).toEqual([[false, 1]]);
    expect(isMarked(old)).toBe(true);
    expect(conditionOf(find(old), 'DisruptionReason')).toBe('True/Drifted');
  });

  it('continues with the nodes that can be marked if it has no replacement', async () => {
    await withNodes(3);
    drop('large');
    world.deploy('small', 0);
    await world.pass(2);
    const [, stubborn] = world.nodes;
    world.kube.beforeWrite = (at, name) => {
      if (at === 'patch nodes' && name === stubborn?.metadata.name) outOfOrder();
    };
    release();
    await world.pass(40);
    expect(fieldsOf('disrupting node(s)')[0]).toMatchObject({ 'disrupted-node-count': 3 });
    expect(world.nodes.map(({ metadata }) => metadata.name)).toEqual([stubborn?.metadata.name]);
    expect(world.cluster.nodes().map(({ markedForDeletion }) => markedForDeletion)).toEqual([false]);
    expect(await world.metrics.text()).toMatch(/nodeclaims_disrupted_total\{reason="empty",.*\} 2\n/);

    world.kube.beforeWrite = () => undefined;
    await world.pass(60);
    expect(world.nodes).toEqual([]);
  });

  it('launches no replacement if its node cannot be marked', async () => {
    await withNodes(1);
    const [old] = claimsNow();
    world.kube.beforeWrite = (at) => {
      if (at === 'patch nodes') outOfOrder();
    };
    changeTemplate();
    release();
    await world.pass(20);
    expect(disruptionErrors()[0]).toBe('Error: disrupting, disrupting candidates, marking disrupted, out of order');
    expect(world.claims).toHaveLength(1);
    expect(isMarked(old)).toBe(false);
    expect(await world.metrics.text()).not.toMatch(/voluntary_disruption_decisions_total\{/);

    world.kube.beforeWrite = () => undefined;
    await world.pass(2 * MINUTE);
    expect(find(old)).toBeUndefined();
    expect(world.claims).toHaveLength(1);
  });

  it('launches no replacement if one of several nodes cannot be marked', async () => {
    await withNodes(2);
    drop('large');
    await world.pass(20);
    const [, stubborn] = world.nodes;
    world.kube.beforeWrite = (at, name) => {
      if (at === 'patch nodes' && name === stubborn?.metadata.name) outOfOrder();
    };
    release();
    await world.pass(20);
    expect(fieldsOf('disrupting node(s)')[0]).toMatchObject({ decision: 'replace', 'disrupted-node-count': 2 });
    expect(disruptionErrors()[0]).toBe('Error: disrupting, disrupting candidates, marking disrupted, out of order');
    expect(world.kube.writes.filter((write) => write === 'create nodeclaims')).toHaveLength(2);
  });

  it('checks limits again when it creates the replacement, and leaves no marks if the check fails', async () => {
    await withNodes(1, { limits: { cpu: '100' } });
    const [old] = claimsNow();
    world.kube.beforeWrite = (at) => {
      if (at !== 'patch nodes') return;
      world.kube.beforeWrite = () => undefined;
      world.kube.patch(NODE_POOL, { name: 'default' }, { spec: { limits: { cpu: '4' } } });
    };
    changeTemplate();
    release();
    await world.pass(30);
    expect(disruptionErrors()).toEqual([
      'Error: disrupting, disrupting candidates, launching replacement nodeclaim, resource usage exceeds limit (limit=4, resource-name=cpu, usage=8)',
    ]);
    expect(world.claims.map(({ metadata }) => metadata.name)).toEqual([old.metadata.name]);
    expect(world.disruptedNodes()).toEqual([]);
    expect(conditionOf(find(old), 'DisruptionReason')).toBeUndefined();
    expect(isMarked(old)).toBe(false);
  });

  it('nominates pods for the nodes of its simulation, and publishes events', async () => {
    await withNodes(2);
    drop('large');
    world.deploy('small', 7); // All pods fit on one node, which no cheaper type could replace.
    const waiting = world.pending(1, '64', 'giant');
    await world.pass(20);
    world.events.length = 0;
    release();
    await world.pass(25);
    const [command] = fieldsOf('disrupting node(s)');
    expect(command).toMatchObject({ decision: 'delete', 'disrupted-node-count': 1, 'pod-count': 1 });
    const nominated = eventsOf('Nominated').filter(({ object }) => object.metadata.name.startsWith('small'));
    const kept = world.cluster.nodes().find(({ markedForDeletion }) => !markedForDeletion);
    expect(nominated[0]?.message).toBe(
      `Pod should schedule on: nodeclaim/${kept?.nodeClaim?.metadata.name}, node/${kept?.name}`,
    );
    expect(kept?.nominatedUntilMs).toBeGreaterThan(0);
    // The command publishes the result of its simulation immediately. The provisioner publishes events for pending
    // pods, too.
    const at = world.events.findIndex(
      ({ reason, object }) => reason === 'Nominated' && object.metadata.name.startsWith('small'),
    );
    expect(world.events.slice(at, at + 2).map(({ reason, object }) => [reason, object.metadata.name])).toEqual([
      ['Nominated', nominated[0]?.object.metadata.name],
      ['FailedScheduling', waiting[0]?.metadata.name],
    ]);
  });

  it.each([
    { what: 'is created', fails: false },
    { what: 'cannot be created', fails: true },
  ])('reserves its replacement in a static NodePool until it $what', async ({ fails }) => {
    world.nodePool('default', {
      replicas: 1,
      limits: { nodes: '2' },
      disruption: { consolidateAfter: '0s', budgets: [{ nodes: '100%' }] },
    });
    world.start(['--feature-gates=StaticCapacity=true']);
    await world.pass(20);
    const held: [string, number][] = [];
    world.kube.beforeWrite = (at) => {
      if (at !== 'patch nodes' && at !== 'create nodeclaims') return;
      held.push([at, world.cluster.reservedNodes.of('default')]);
      if (fails) outOfOrder();
      if (at === 'create nodeclaims') world.kube.beforeWrite = () => undefined;
    };
    changeTemplate();
    await world.pass(20);
    const last = fails ? ['patch nodes', 1] : ['create nodeclaims', 1];
    expect([held[0], held.at(-1)]).toEqual([['patch nodes', 1], last]);
    expect(world.cluster.reservedNodes.of('default')).toBe(0);
  });
});

describe('a command that waits', () => {
  it('publishes events for the replacement and the node', async () => {
    await withNodes(1);
    const [old] = claimsNow();
    const [node] = world.nodes;
    changeTemplate();
    release();
    await world.pass(60);
    const replacement = world.claims.find(({ metadata }) => metadata.name !== old.metadata.name);
    const uid = replacement?.metadata.uid;
    expect(fieldsOf('disrupting node(s)')[0]).toMatchObject({
      command: expect.stringMatching(
        new RegExp(
          `^Drifted/[0-9a-f-]{36}: replace: nodepools=\\[default\\]: \\[${node?.metadata.name}\\] -> \\[1 replacement\\] \\(savings: \\$0.00\\)$`,
        ),
      ),
      decision: 'replace',
      'disrupted-node-count': 1,
      'replacement-node-count': 1,
      'pod-count': 2,
      'disrupted-nodes': [
        {
          Node: { name: node?.metadata.name },
          NodeClaim: { name: old.metadata.name },
          'instance-type': 'm.2xlarge',
          'capacity-type': 'on-demand',
        },
      ],
      'replacement-nodes': [{ 'capacity-type': 'on-demand', 'instance-types': 'm.2xlarge' }],
    });
    expect(eventsOf('DisruptionLaunching')[0]).toMatchObject({
      object: { kind: 'NodeClaim', metadata: { uid } },
      type: 'Normal',
      message: 'Launching NodeClaim: Drifted',
      dedupe: [uid, 'Drifted'],
    });
    expect(eventsOf('DisruptionWaitingReadiness')[0]).toMatchObject({
      object: { kind: 'NodeClaim', metadata: { uid } },
      type: 'Normal',
      message: 'Waiting on readiness to continue disruption',
      dedupe: [uid],
    });
    expect(eventsOf('DisruptionTerminating').slice(0, 2)).toMatchObject([
      { object: { kind: 'Node' }, message: 'Disrupting Node: Drifted', dedupe: [node?.metadata.uid, 'Drifted'] },
      {
        object: { kind: 'NodeClaim' },
        message: 'Disrupting NodeClaim: Drifted',
        dedupe: [old.metadata.uid, 'Drifted'],
      },
    ]);
    // The queue publishes events for nodes that it handles.
    expect(world.events.map(({ message }) => message)).not.toContain('Candidate is already being disrupted');
    const text = await world.metrics.text();
    const labels = 'decision="replace",reason="drifted",consolidation_type=""';
    expect(text).toContain(`karpenter_voluntary_disruption_decisions_total{${labels}} 1`);
    expect(text).toContain(
      `karpenter_voluntary_disruption_decisions_by_nodepool_total{nodepool="default",${labels}} 1`,
    );
    const disrupted =
      'reason="drifted",nodepool="default",capacity_type="on-demand",consolidation_policy="",termination_mode="graceful"';
    expect(text).toContain(`karpenter_nodeclaims_disrupted_total{${disrupted}} 1`);
    expect(text).toContain(`karpenter_pods_disruption_initiated_total{${disrupted}} 2`);
  });

  it('counts each node once, even if deletions are retried', async () => {
    await withNodes(2);
    drop('large');
    world.deploy('small', 0);
    await world.pass(2);
    const [first] = claimsNow();
    let failures = 0;
    world.kube.beforeWrite = (at, name) => {
      if (at !== 'delete nodeclaims' || name !== first.metadata.name || failures >= 8) return;
      failures += 1;
      outOfOrder();
    };
    release();
    await world.pass(60);
    expect(failures).toBe(8);
    expect(world.claims).toEqual([]);
    expect(await world.metrics.text()).toMatch(/nodeclaims_disrupted_total\{reason="empty",.*\} 2\n/);
    expect(eventsOf('DisruptionTerminating')).toHaveLength(4);
    expect(fieldsOf('command succeeded')).toHaveLength(1);
  });

  it('completes without counting if its node was deleted by another client', async () => {
    await withNodes(1);
    const [old] = claimsNow();
    world.joining = false;
    changeTemplate();
    release();
    await world.pass(30);
    expect(world.claims).toHaveLength(2);
    world.kube.delete(NODE_CLAIM, old.metadata);
    await world.pass(60);
    expect(find(old)).toBeUndefined();
    world.joining = true;
    await world.pass(20);
    expect(fieldsOf('command succeeded')).toHaveLength(1);
    expect(eventsOf('DisruptionTerminating')).toEqual([]);
    expect(await world.metrics.text()).not.toMatch(/nodeclaims_disrupted_total\{reason="drifted"/);
  });

  it('does not depend on a replacement after it was initialized once', async () => {
    await withNodes(1);
    const [old] = claimsNow();
    changeTemplate();
    release();
    let replacement: NodeClaim | undefined;
    world.kube.beforeWrite = (at, name) => {
      if (at !== 'delete nodeclaims' || name !== old.metadata.name) return;
      replacement = world.claims.find(({ metadata }) => metadata.name !== old.metadata.name);
      outOfOrder();
    };
    await world.pass(40);
    expect(conditionOf(replacement, 'Initialized')).toBe('True/Initialized');
    // The replacement is removed later, while the queue only waits for the deletion of the old node.
    world.kube.beforeWrite = (at, name) => {
      if (at === 'create nodeclaims') outOfOrder();
      if (at === 'delete nodeclaims' && name === old.metadata.name) outOfOrder();
    };
    world.kube.delete(NODE_CLAIM, replacement?.metadata ?? { name: '' });
    await world.pass(60);
    expect(world.claims.map(({ metadata }) => metadata.name)).toEqual([old.metadata.name]);
    expect(fieldsOf('failed terminating nodes while executing a disruption command')).toEqual([]);
    world.kube.beforeWrite = () => undefined;
    await world.pass(30);
    expect(fieldsOf('command succeeded')).toHaveLength(1);
  });
});

describe('a command that times out', () => {
  it.each([
    { candidates: 1, minutes: 10 },
    { candidates: 7_500, minutes: 10 },
    { candidates: 15_000, minutes: 20 },
    { candidates: 45_000, minutes: 60 },
    { candidates: 90_000, minutes: 60 },
  ])('has a limit of $minutes minutes with $candidates nodes in the queue', ({ candidates, minutes }) => {
    expect(limitMs(candidates)).toBe(minutes * 60_000);
  });

  it.each([
    ['ten minutes', 0],
    ['ten minutes, even if the clock is set back meanwhile', -60],
  ])('is rolled back after %s: marks, nominations, and its metric', async (_, minutes) => {
    await withNodes(1);
    const [old] = claimsNow();
    world.joining = false;
    changeTemplate();
    release();
    await world.pass(30);
    expect(world.disruptedNodes()).toHaveLength(1);
    close();
    world.clock.put(minutes * 60_000);
    await world.pass(9 * MINUTE);
    expect(world.disruptedNodes()).toHaveLength(1);
    const failure = 'failed terminating nodes while executing a disruption command';
    for (let second = 0; second < 2 * MINUTE && fieldsOf(failure).length === 0; second += 1) await world.pass(1);
    expect(world.disruptedNodes()).toEqual([]);
    expect(conditionOf(find(old), 'DisruptionReason')).toBeUndefined();
    expect(isMarked(old)).toBe(false);
    expect(fieldsOf(failure)).toMatchObject([
      { decision: 'replace', error: expect.objectContaining({ message: 'command reached timeout' }) },
    ]);
    expect(await world.metrics.text()).toContain(
      'karpenter_voluntary_disruption_queue_failures_total{decision="replace",reason="drifted",consolidation_type="replace"} 1',
    );
    // The replacement remains until it is consolidated.
    expect(find(old)).toBeDefined();
    expect(world.claims).toHaveLength(2);
  });

  it('fails even if its last attempt succeeds', async () => {
    await withNodes(1);
    const [old] = claimsNow();
    let endMs = Number.POSITIVE_INFINITY;
    world.kube.beforeWrite = (at, name) => {
      if (at === 'create nodeclaims') endMs = world.clock.now() + 10 * MINUTE * 1000;
      // All attempts before the timeout fail, and later attempts are too late.
      if (at === 'delete nodeclaims' && name === old.metadata.name && world.clock.now() <= endMs) outOfOrder();
    };
    changeTemplate();
    release();
    await world.pass(40);
    close();
    await world.pass(11 * MINUTE);
    expect(find(old)).toBeUndefined();
    expect(eventsOf('DisruptionTerminating')).toHaveLength(2);
    expect(fieldsOf('command succeeded')).toEqual([]);
    expect(fieldsOf('failed terminating nodes while executing a disruption command')).toHaveLength(1);
    expect(await world.metrics.text()).toMatch(/queue_failures_total\{decision="replace",.*\} 0\n/);
  });
});
