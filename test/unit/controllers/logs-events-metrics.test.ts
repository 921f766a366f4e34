/** Exact names of log lines, events and metrics that users monitor. */
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { EC2_NODE_CLASS, NODE, NODE_CLAIM, NODE_POOL, type NodePool } from '#api/objects';
import { NodeClaimNotFound } from '#cloud';
import { present } from '../../support/present.ts';
import { conditionOf, World } from './harness.ts';

let world: World;
beforeEach(() => {
  world = new World();
});
afterEach(() => world.kill());

type Template = Partial<NodePool['spec']['template']['spec']>;
type Disruption = Partial<NonNullable<NodePool['spec']['disruption']>>;

/** Creates a NodePool with a template, and pods that need one node. */
async function withNode(template: Template = {}, disruption: Disruption = {}): Promise<void> {
  const seed = world.nodePool('seed');
  world.kube.delete(NODE_POOL, seed.metadata);
  world.nodePool('default', {
    template: { spec: { ...seed.spec.template.spec, ...template } },
    disruption: { consolidateAfter: 'Never', ...disruption },
  });
  world.start();
  await world.pass(2);
  world.deploy('web', 3);
  await world.pass(15);
}

const lines = (wanted: string) => world.lines.filter(({ message }) => message === wanted);
const keys = (wanted: string): readonly string[] =>
  Object.keys(lines(wanted)[0]?.fields ?? {})
    .filter(
      (key) => !['controller', 'controllerGroup', 'controllerKind', 'reconcileID', 'namespace', 'name'].includes(key),
    )
    .sort();
const messages = (reason: string): readonly string[] =>
  world.events.filter((event) => event.reason === reason).map(({ object, message }) => `${object.kind}: ${message}`);

async function expectMetrics(...wanted: readonly (string | RegExp)[]): Promise<void> {
  const text = await world.metrics.text();
  for (const each of wanted) expect(text).toMatch(each);
}

describe('the life of a node', () => {
  it('is logged at its start', async () => {
    await withNode();
    expect(keys('launched nodeclaim')).toEqual([
      'NodeClaim',
      'allocatable',
      'capacity-type',
      'instance-type',
      'provider-id',
      'zone',
    ]);
    expect(keys('registered nodeclaim')).toEqual(['Node', 'NodeClaim', 'provider-id']);
    expect(keys('initialized nodeclaim')).toEqual(['Node', 'NodeClaim', 'allocatable', 'provider-id']);
    await expectMetrics(
      /nodeclaims_created_total\{reason="provisioned",nodepool="default",min_values_relaxed="false"\} 1/,
      /nodes_created_total\{nodepool="default",zone="zone-a"\} 1/,
      'pods_scheduling_decision_duration_seconds_count 3',
    );
    expect(world.claims[0]?.status?.nodeName).toBe(world.nodes[0]?.metadata.name);
  });

  it('is logged at its end', async () => {
    await withNode({ terminationGracePeriod: '10m' });
    world.kube.delete(NODE_CLAIM, world.claims[0]?.metadata ?? { name: '' });
    await world.pass(60);
    expect(keys('annotated nodeclaim')).toEqual(['NodeClaim', 'karpenter.sh/nodeclaim-termination-timestamp']);
    expect(keys('tainted node')).toEqual(['Node', 'NodeClaim', 'taint.Effect', 'taint.Key', 'taint.Value']);
    expect(keys('deleted node')).toEqual(['Node', 'NodeClaim']);
    expect(keys('deleted nodeclaim')).toEqual(['Node', 'NodeClaim', 'provider-id']);
    for (const kind of ['Node', 'NodeClaim']) {
      expect(messages('TerminationGracePeriodExpiring')).toContainEqual(
        expect.stringMatching(new RegExp(`^${kind}: All pods will be deleted by 20\\d\\d-.*Z$`)),
      );
    }
    expect(messages('Evicted')).toContain('Pod: Evicted pod: Forceful Termination');
    await expectMetrics(
      /nodeclaims_terminated_total\{nodepool="default",capacity_type="spot",zone="zone-a"\} 1/,
      /nodeclaims_termination_duration_seconds_bucket\{le="2048",nodepool="default"\} 1/,
      /nodeclaims_instance_termination_duration_seconds_bucket\{le="1024",nodepool="default"\} 1/,
      /nodes_terminated_total\{nodepool="default",zone="zone-a"\} 1/,
      /nodes_drained_total\{nodepool="default"\} 1/,
      /nodes_termination_duration_seconds\{quantile="0.99",nodepool="default"\}/,
      /nodes_lifetime_duration_seconds_bucket\{le="900",nodepool="default"\} 1/,
      /pods_drained_total\{reason="Forceful Termination"\} 3/,
      /pods_eviction_requests_total\{code="200"\} 3/,
    );
  });

  it('ends for every Node of the instance, without a provider call for an instance that was never launched', async () => {
    await withNode();
    const [[providerID, instance] = ['', undefined]] = [...world.cloud.instances];
    if (instance === undefined) throw new Error('no instance was bought');
    world.join(providerID, instance.created);
    await world.pass(2);
    expect(world.nodes).toHaveLength(2);
    world.deploy('web', 0);
    world.kube.delete(NODE_CLAIM, world.claims[0]?.metadata ?? { name: '' });
    await world.pass(60);
    expect(world.nodes.filter(({ metadata }) => metadata.finalizers?.length)).toEqual([]);
    expect(world.claims).toEqual([]);
    expect(world.cloud.instances.size).toBe(0);

    world.cloud.beforeCreate = () => {
      throw new Error('the cloud is down');
    };
    world.cloud.delete = async () => {
      throw new Error('nobody should ask');
    };
    world.deploy('web', 1);
    await world.pass(10);
    const [never] = world.claims;
    world.kube.delete(NODE_CLAIM, never?.metadata ?? { name: '' });
    await world.pass(5);
    expect(world.claims.map(({ metadata }) => metadata.name)).not.toContain(never?.metadata.name);
    expect(world.errors().join()).not.toContain('nobody should ask');
  });

  it.each<[string, number, string, Template]>([
    ['expires', 11 * 60, 'expired', { expireAfter: '10m' }],
    ['loses its instance', 5 * 60, 'garbage_collected', {}],
  ])('counts the pods that move when it %s', async (how, seconds, reason, template) => {
    await withNode(template);
    if (how === 'loses its instance') {
      world.joining = false;
      world.cloud.instances.clear();
      const status = { conditions: [{ type: 'Ready', status: 'Unknown' }] };
      world.kube.patch(NODE, world.nodes[0]?.metadata ?? { name: '' }, { status }, 'status');
    }
    await world.pass(seconds);
    const labels = `reason="${reason}",nodepool="default",capacity_type="spot",consolidation_policy="",termination_mode="graceful"`;
    await expectMetrics(
      new RegExp(`nodeclaims_disrupted_total\\{${labels}\\} 1`),
      new RegExp(`pods_disruption_initiated_total\\{${labels}\\} 3`),
    );
    const message =
      reason === 'expired'
        ? 'deleting expired nodeclaim'
        : 'garbage collecting nodeclaim with no cloudprovider representation';
    expect(lines(message)).toHaveLength(1);
    const [event, why] =
      reason === 'expired'
        ? ['Expired', 'it has reached its expireAfter of 10m']
        : ['GarbageCollected', expect.stringMatching(/^its instance .+ is gone$/)];
    const told = messages(event).map((each) => each.split(': Deleting the NodeClaim: '));
    expect(told).toEqual([
      ['NodeClaim', why],
      ['Node', why],
    ]);
  });

  it('is logged if its instance does not join', async () => {
    world.joining = false;
    await withNode();
    await world.pass(16 * 60);
    expect(lines('terminating due to timeout')[0]?.fields).toMatchObject({
      timeout: '15m0s',
      reason: 'registration_timeout',
    });
    await world.pass(16 * 60);
    await expectMetrics(/nodeclaims_disrupted_total\{reason="registration_timeout".*\} 2/);
    expect(messages('RegistrationTimeout')).toContain(
      'NodeClaim: Deleting the NodeClaim: no node joined the cluster within 15m0s',
    );
    const health = world.kube
      .get(NODE_POOL, { name: 'default' })
      .status?.conditions?.find(({ type }) => type === 'NodeRegistrationHealthy');
    expect(health).toMatchObject({ reason: 'RegistrationFailed', message: 'Failed to register node' });
  });

  it('is logged if it is inconsistent', async () => {
    await withNode();
    await world.pass(10 * 60);
    const { metadata } = world.nodes[0] ?? { metadata: { name: '' } };
    world.kube.patch(NODE, metadata, { status: { capacity: { cpu: '1' } } }, 'status');
    await world.pass(11 * 60);
    expect(lines('failed consistency check')[0]?.fields).toMatchObject({ issue: expect.stringMatching(/^expected /) });
  });
});

describe('Initialized', () => {
  const taint = (key: string, effect = 'NoSchedule') => ({ key, effect });
  const ephemeral: readonly [string, string][] = [
    ['node.kubernetes.io/not-ready', 'NoSchedule'],
    ['node.kubernetes.io/not-ready', 'NoExecute'],
    ['node.kubernetes.io/unreachable', 'NoSchedule'],
    ['node.cloudprovider.kubernetes.io/uninitialized', 'NoSchedule'],
    ['readiness.k8s.io/network', 'NoSchedule'],
  ];

  it.each<[string, string, string, object]>([
    ['is not Ready', 'NodeNotReady', 'Node status is NotReady', { status: { conditions: [] } }],
    ...ephemeral.map(([key, effect]): [string, string, string, object] => [
      `has the taint ${key}:${effect}`,
      'KnownEphemeralTaintsExist',
      `KnownEphemeralTaint "${key}:${effect}" still exists`,
      { spec: { taints: [taint(key, effect)] } },
    ]),
    [
      'does not have a resource',
      'ResourceNotRegistered',
      'Resource "cpu" was requested but not registered',
      { status: { allocatable: { cpu: '0', memory: '1Gi' } } },
    ],
  ])('waits while the Node %s', async (_, reason, message, change) => {
    world.joining = false;
    await withNode();
    const [[providerID, instance] = ['', undefined]] = [...world.cloud.instances];
    if (instance === undefined) throw new Error('no instance was bought');
    const { spec, status } = change as { readonly spec?: object; readonly status?: object };
    const good = {
      capacity: instance.created.status?.capacity ?? {},
      allocatable: instance.created.status?.allocatable ?? {},
      conditions: [{ type: 'Ready', status: 'True' as const }],
    };
    const node = world.join(providerID, instance.created, {
      spec: { providerID, taints: [], ...spec },
      status: { ...good, ...status },
    });
    await world.pass(5);
    expect(conditionOf(world.claims[0], 'Initialized')).toBe(`Unknown/${reason}`);
    const condition = world.claims[0]?.status?.conditions?.find(({ type }) => type === 'Initialized');
    expect(condition?.message).toBe(message);

    world.kube.patch(NODE, node.metadata, { spec: { taints: [] } });
    world.kube.patch(NODE, node.metadata, { status: good }, 'status');
    await world.pass(5);
    expect(conditionOf(world.claims[0], 'Initialized')).toBe('True/Initialized');
  });
});

describe('voluntary disruption', () => {
  const labels = 'decision="replace",reason="drifted",consolidation_type=""';

  it('logs a replacement from the decision to the end', async () => {
    await withNode();
    const old = present(world.nodes[0]?.metadata.name);
    world.kube.patch(
      NODE_POOL,
      { name: 'default' },
      { spec: { template: { metadata: { labels: { tier: 'gold' } } } } },
    );
    await world.pass(120);
    const [begun] = lines('disrupting node(s)');
    expect(begun?.fields).toMatchObject({
      command: expect.stringMatching(
        new RegExp(
          `^Drifted/[0-9a-f-]{36}: replace: nodepools=\\[default\\]: \\[${old}\\] -> \\[1 replacement\\] \\(savings: `,
        ),
      ),
      decision: 'replace',
      'disrupted-node-count': 1,
      'replacement-node-count': 1,
      'pod-count': 3,
      'disrupted-nodes': [{ Node: { name: old }, 'instance-type': 'm.xlarge', 'capacity-type': 'spot' }],
      'replacement-nodes': [{ 'capacity-type': 'spot', 'instance-types': expect.stringContaining('m.xlarge') }],
    });
    expect(lines('command succeeded')[0]?.fields).toMatchObject({ command: begun?.fields.command });
    expect(messages('DisruptionLaunching')).toContain('NodeClaim: Launching NodeClaim: Drifted');
    expect(messages('DisruptionWaitingReadiness')).toContain('NodeClaim: Waiting on readiness to continue disruption');
    expect(messages('DisruptionTerminating')).toEqual(
      expect.arrayContaining(['Node: Disrupting Node: Drifted', 'NodeClaim: Disrupting NodeClaim: Drifted']),
    );
    expect(messages('Evicted')).toContain('Pod: Evicted pod: Drifted');
    await expectMetrics(
      new RegExp(`voluntary_disruption_decisions_total\\{${labels}\\} 1`),
      new RegExp(`voluntary_disruption_decisions_by_nodepool_total\\{nodepool="default",${labels}\\} 1`),
      /voluntary_disruption_eligible_nodes\{reason="drifted"\} \d/,
      /voluntary_disruption_decision_evaluation_duration_seconds_count\{reason="drifted",consolidation_type=""\} \d/,
      /voluntary_disruption_consolidation_timeouts_total\{consolidation_type="multi"\} 0/,
      /voluntary_disruption_consolidation_timeouts_total\{consolidation_type="single"\} 0/,
      /nodepools_allowed_disruptions\{nodepool="default",reason="Drifted"\} 1/,
      /nodepools_nodes_consuming_budgets\{nodepool="default",reason="Drifted"\} \d/,
      /pods_disruption_initiated_total\{reason="drifted",.*consolidation_policy="",termination_mode="graceful"\} 3/,
    );
  });

  it.each([
    ['when the replacement is deleted', /^replacement was deleted/],
    ['when the replacement does not come up', /^command reached timeout/],
  ])('logs the reason of a rollback %s', async (when, reason) => {
    await withNode();
    const [old] = world.claims;
    world.joining = false;
    world.kube.patch(
      NODE_POOL,
      { name: 'default' },
      { spec: { template: { metadata: { labels: { tier: 'gold' } } } } },
    );
    await world.pass(20);
    if (when.endsWith('deleted')) {
      const replacement = world.claims.find(({ metadata }) => metadata.name !== old?.metadata.name);
      world.kube.beforeWrite = (operation) => {
        if (operation === 'create nodeclaims') throw new Error('no more, thank you');
      };
      world.kube.delete(NODE_CLAIM, replacement?.metadata ?? { name: '' });
    }
    await world.pass(11 * 60);
    const [told] = lines('failed terminating nodes while executing a disruption command');
    expect(String((told?.fields.error as Error | undefined)?.message)).toMatch(reason);
    expect(told?.fields).toMatchObject({ decision: 'replace', 'disrupted-node-count': 1 });
    if (when.endsWith('deleted')) {
      expect(world.errors()).toContainEqual(expect.stringContaining('launching replacement nodeclaim, '));
    }
  });

  it('logs budgets that cannot be parsed, and continues', async () => {
    await withNode({}, { budgets: [{ nodes: '1', schedule: '61 * * * *', duration: '1h' }] });
    await world.pass(10);
    expect(lines('detected disruption budget errors')[0]?.fields.error).toMatch(
      /^invalid disruption budgets in nodepool default, /,
    );
    expect(messages('DisruptionBlocked')).not.toContainEqual(expect.stringMatching(/^NodePool/));
  });

  it('logs that an empty node is no longer empty', async () => {
    await withNode({}, { consolidateAfter: '0s', budgets: [{ nodes: '100%' }] });
    world.deploy('web', 0);
    await world.pass(12);
    world.deploy('web', 1);
    await world.pass(30);
    expect(
      lines('abandoning empty node consolidation attempt due to pod churn, command is no longer valid')[0]?.fields,
    ).toMatchObject({ category: 'churn', text: '1 candidates are no longer valid' });
    await expectMetrics(/voluntary_disruption_failed_validations_total\{consolidation_type="empty"\} 1/);
  });
});

describe('drift', () => {
  it('keeps the condition if the instance does not exist anymore', async () => {
    await withNode({}, { budgets: [{ nodes: '0' }] });
    world.cloud.drifted = 'AMIDrift';
    await world.pass(6 * 60);
    expect(conditionOf(world.claims[0], 'Drifted')).toBe('True/AMIDrift');
    world.cloud.isDrifted = async () => {
      throw new NodeClaimNotFound('it is gone');
    };
    await world.pass(6 * 60);
    expect(conditionOf(world.claims[0], 'Drifted')).toBe('True/AMIDrift');
    expect(world.errors()).toEqual([]);
  });
});

describe('a NodePool', () => {
  it('reports that its NodeClass is terminating', async () => {
    await withNode();
    const { metadata } = world.kube.get(EC2_NODE_CLASS, { name: 'default' });
    world.kube.patch(EC2_NODE_CLASS, metadata, { metadata: { finalizers: ['karpenter.k8s.aws/termination'] } });
    world.kube.delete(EC2_NODE_CLASS, metadata);
    await world.pass(2);
    const condition = world.kube
      .get(NODE_POOL, { name: 'default' })
      .status?.conditions?.find(({ type }) => type === 'NodeClassReady');
    expect(condition).toMatchObject({
      status: 'False',
      reason: 'NodeClassTerminating',
      message: 'NodeClass is Terminating',
    });
  });
});
