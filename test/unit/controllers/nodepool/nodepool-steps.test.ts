/** Single controllers of NodePools. */
import { describe, expect, it } from '@jest/globals';
import { nodePoolHash } from '#api/hashes';
import {
  type Condition,
  EC2_NODE_CLASS,
  INITIALIZED_LABEL,
  NODE,
  NODE_CLAIM,
  NODE_POOL,
  NODEPOOL_HASH_ANNOTATION,
  NODEPOOL_HASH_VERSION_ANNOTATION,
  NODEPOOL_LABEL,
  type NodePool,
  POD,
  ZONE_LABEL,
} from '#api/objects';
import { endsByItself } from '#engine/explanations';
import type { Plan, PodRefusal } from '#engine/model';
import { limitsCause } from '#engine/testing';
import { ApiError } from '#kube/client';
import type { Controller } from '#kube/reconcilers';
import { defined } from '#lib';
import type { Deps } from '../../../../src/controllers/deps.ts';
import { recordRegistration } from '../../../../src/controllers/nodeclaim/pool-health.ts';
import {
  readiness,
  registrationHealth,
  requirementsOffered,
  validation,
} from '../../../../src/controllers/nodepool/conditions.ts';
import { nodePoolCounter } from '../../../../src/controllers/nodepool/counter.ts';
import { hash } from '../../../../src/controllers/nodepool/hash.ts';
import { PodVerdicts } from '../../../../src/controllers/provisioning/pod-verdicts.ts';
import { partial } from '../../../support/partial.ts';
import { instanceType } from '../fake-cloud.ts';
import { bench, claimOf, condition, nodeOf, podOf, settledClaim } from '../node/bench.ts';

const SECOND = 1_000;
const NOTHING_USED = { inUse: {}, leaving: {}, launching: {}, planned: {}, returning: {} };
const REF = { group: 'karpenter.k8s.aws', kind: 'EC2NodeClass', name: 'default' };
type Bench = ReturnType<typeof bench>;

/** Runs one controller and returns its environment. */
function running(build: (deps: Deps) => Controller): { readonly b: Bench; readonly deps: Deps } {
  const known: { deps?: Deps } = {};
  const b = bench([], (deps) => {
    known.deps = deps;
    return [build(deps)];
  });
  if (known.deps === undefined) throw new Error('the bench did not build its controllers');
  return { b, deps: known.deps };
}

const poolOf = (more: Partial<NodePool['metadata']> = {}, status: NodePool['status'] = {}): NodePool => ({
  apiVersion: 'karpenter.sh/v1',
  kind: 'NodePool',
  metadata: { name: 'default', uid: 'pool', generation: 1, creationTimestamp: '2025-12-31T00:00:00Z', ...more },
  spec: { template: { spec: { nodeClassRef: REF, requirements: [] } } },
  status,
});
const foreign = (pool: NodePool): NodePool => {
  const nodeClassRef = { group: 'example.com', kind: 'MachineClass', name: 'default' };
  return { ...pool, spec: { template: { spec: { ...pool.spec.template.spec, nodeClassRef } } } };
};
const nodeClass = (
  generation: number,
  ready?: Partial<Condition>,
  metadata: object = {},
  others: readonly Condition[] = [],
) =>
  ({
    apiVersion: 'karpenter.k8s.aws/v1',
    kind: 'EC2NodeClass',
    metadata: { name: 'default', uid: 'class', generation, ...metadata },
    spec: {},
    status: { conditions: ready === undefined ? [] : [...others, condition('Ready', ready)] },
  }) as never;
const found = (deps: Deps): NodePool | undefined => deps.cluster.stores.nodePools.get({ name: 'default' });
const shown = (deps: Deps, type: string): string | undefined => {
  const { status, reason, message } = found(deps)?.status?.conditions?.find((each) => each.type === type) ?? {};
  return status && `${status}/${reason}/${message}`;
};

/** Returns a plan without nodes for the pod `waiting`. */
const refusing = (refusal: PodRefusal): Plan => ({
  ...{ claims: [], placements: [], notEvaluated: [], emptyPools: [] },
  refusals: new Map([['default/waiting', refusal]]),
});

const counting = (deps: Deps): Controller => nodePoolCounter(deps, new PodVerdicts(deps));

describe('nodepool.counter', () => {
  const node = (name: string, cpu: string) => ({
    ...nodeOf(name, { labels: { [NODEPOOL_LABEL]: 'default', [INITIALIZED_LABEL]: 'true' } }),
    spec: { providerID: name },
    status: { capacity: { cpu, memory: '1Gi' } },
  });

  it('sums the nodes that are not being deleted every five seconds', async () => {
    const { b, deps } = running(counting);
    for (const name of ['a', 'b', 'c']) b.put(NODE, node(name, '2'));
    deps.cluster.markForDeletion('c');
    b.put(NODE_POOL, poolOf());
    await b.clock.advance(SECOND);
    expect(found(deps)?.status).toMatchObject({
      resources: { cpu: '4', memory: '2Gi', pods: '0', 'ephemeral-storage': '0', nodes: '2' },
      nodes: 2,
    });
    b.put(NODE, node('b', '8'));
    await b.clock.advance(4 * SECOND - 1);
    expect(found(deps)?.status?.resources?.cpu).toBe('4');
    await b.clock.advance(SECOND);
    expect(found(deps)?.status?.resources?.cpu).toBe('10');
  });

  it('is not triggered by changes of the NodePool', async () => {
    const { b } = running(counting);
    b.put(NODE_POOL, poolOf());
    await b.clock.advance(SECOND);
    b.put(NODE, node('a', '2'));
    b.put(NODE_POOL, poolOf({ labels: { touched: 'yes' } }));
    await b.clock.advance(3 * SECOND);
    expect(b.writesTo('NodePool')).toBe(1);
    await b.clock.advance(SECOND);
    expect(b.writesTo('NodePool')).toBe(2);
  });

  it('waits for cluster state to be synced and checks every second', async () => {
    const { b, deps } = running(counting);
    let listed = false;
    deps.cluster.synced = () => listed;
    b.put(NODE_POOL, poolOf());
    await b.clock.advance(3 * SECOND);
    expect(b.writesTo('NodePool')).toBe(0);
    listed = true;
    await b.clock.advance(SECOND);
    expect(b.writesTo('NodePool')).toBe(1);
  });

  it('reports limits that stop launches while a pod waits for them, and the NodePool stays Ready', async () => {
    const known: { verdicts?: PodVerdicts } = {};
    const { b, deps } = running((given) => {
      known.verdicts = new PodVerdicts(given);
      return nodePoolCounter(given, known.verdicts);
    });
    const ready = ['ValidationSucceeded', 'NodeClassReady', 'Ready'].map((type) => condition(type, { status: 'True' }));
    const pool = poolOf({}, { conditions: ready });
    const limited = { ...pool, spec: { ...pool.spec, limits: { cpu: '3', nodes: '9' } } };
    b.put(NODE_POOL, limited);
    b.put(NODE, node('a', '2'));
    const pod = podOf('waiting', { nodeName: '' });
    b.put(POD, pod);
    const misfit = { code: 'limits', text: 'all available instance types exceed limits for nodepool' } as const;
    const usage = { ...NOTHING_USED, inUse: { cpu: 2000, nodes: 1 } };
    const cause = limitsCause(limited, usage, [instanceType('m.xlarge', 4, 0.2)]);
    const pools = [{ nodePool: 'default', misfit }];
    const refusal = { code: 'no-fit', text: misfit.text, cause, limits: [cause], pools } as const;
    known.verdicts?.decided(refusing(refusal), new Map([['default/waiting', pod]]));
    await b.clock.advance(SECOND);
    const text =
      'cpu 2 of 3, nodes 1 of 9 in use, but a node for the pod has at least cpu 4; no node is launched for pending pods. ' +
      'Increase spec.limits.cpu of the NodePool.';
    expect(shown(deps, 'WithinLimits')).toBe(`False/LimitReached/${text}`);
    expect(shown(deps, 'Ready')).toMatch(/^True/);
    expect(b.events.filter(({ reason }) => reason === 'LimitReached')).toEqual([
      expect.objectContaining({ type: 'Warning', message: text }),
    ]);
    await b.clock.advance(60 * SECOND);
    expect(b.writesTo('NodePool')).toBe(1);
    b.remove(POD, pod);
    await b.clock.advance(5 * SECOND);
    expect(shown(deps, 'WithinLimits')).toMatch(/^True\//);
    expect(b.writesTo('NodePool')).toBe(2);
  });

  it('reports no limit that is expected to have room again', async () => {
    const known: { verdicts?: PodVerdicts } = {};
    const { b, deps } = running((given) => {
      known.verdicts = new PodVerdicts(given);
      return nodePoolCounter(given, known.verdicts);
    });
    const pool = poolOf();
    const limited = { ...pool, spec: { ...pool.spec, limits: { cpu: '3' } } };
    b.put(NODE_POOL, limited);
    const pod = podOf('waiting', { nodeName: '' });
    b.put(POD, pod);
    const misfit = { code: 'limits', text: 'all available instance types exceed limits for nodepool' } as const;
    const usage = { ...NOTHING_USED, planned: { cpu: 2000 }, returning: { cpu: 2000 } };
    const cause = limitsCause(limited, usage, [instanceType('m.large', 2, 0.1)]);
    expect(endsByItself(cause)).toBe(true);
    const pools = [{ nodePool: 'default', misfit }];
    const refusal = { code: 'no-fit', text: misfit.text, cause, limits: [cause], pools } as const;
    known.verdicts?.decided(refusing(refusal), new Map([['default/waiting', pod]]));
    await b.clock.advance(10 * SECOND);
    expect(shown(deps, 'WithinLimits')).toBeUndefined();
  });
});

describe('nodepool.readiness', () => {
  it.each<[string, unknown, string]>([
    ['does not exist', undefined, 'False/NodeClassNotFound/NodeClass not found on cluster'],
    ['has no condition', nodeClass(1), 'False/NodeClassReadinessUnknown/Node Class Readiness Unknown'],
    [
      'is Unknown',
      nodeClass(1, { status: 'Unknown', reason: 'AwaitingReconciliation', message: 'wait' }),
      'False/NodeClassReadinessUnknown/Node Class Readiness Unknown',
    ],
    [
      'is not Ready',
      nodeClass(1, { status: 'False', reason: 'SubnetsNotFound', message: 'none matched' }),
      'False/SubnetsNotFound/none matched',
    ],
    [
      'is not Ready because of another condition',
      nodeClass(1, { status: 'False', reason: 'UnhealthyDependents', message: 'B=False, A=False' }, {}, [
        condition('A', { status: 'False', reason: 'AMINotFound', message: 'alias x names no image' }),
        condition('B', { status: 'False', reason: 'DependenciesNotReady', message: 'wait' }),
        condition('C', { status: 'True', reason: 'C', message: '' }),
      ]),
      'False/UnhealthyDependents/B=False, A=False',
    ],
    [
      'is Unknown because AWS denies access',
      nodeClass(1, { status: 'Unknown', reason: 'ReconcilingDependents', message: 'A=Unknown' }, {}, [
        condition('A', { status: 'Unknown', reason: 'ResolutionFailed', message: 'denied' }),
      ]),
      'False/NodeClassReadinessUnknown/Node Class Readiness Unknown',
    ],
    ['is Ready', nodeClass(1, {}), 'True/NodeClassReady/'],
    [
      'is being deleted',
      nodeClass(1, {}, { deletionTimestamp: '2026-01-01T00:00:00Z' }),
      'False/NodeClassTerminating/NodeClass is Terminating',
    ],
  ])('is evaluated for a NodePool whose NodeClass %s', async (_, object, is) => {
    const { b, deps } = running(readiness);
    b.put(NODE_POOL, poolOf());
    await b.clock.advance(10);
    if (object) b.put(EC2_NODE_CLASS, partial(object));
    await b.clock.advance(10);
    expect(shown(deps, 'NodeClassReady')).toBe(is);
  });

  it.each(
    [readiness, validation, hash, counting, registrationHealth].map((build) => [build.name, build] as const),
  )('ignores NodePools of other providers: %s', async (_, build) => {
    const { b } = running(build as (deps: Deps) => Controller);
    b.put(NODE_POOL, foreign(poolOf()));
    b.put(EC2_NODE_CLASS, nodeClass(1, {}));
    await b.clock.advance(10 * SECOND);
    expect(b.writesTo('NodePool')).toBe(0);
  });
});

describe('nodepool.validation', () => {
  it('reports errors and their resolution', async () => {
    const { b, deps } = running(validation);
    const pool = poolOf();
    const { spec } = pool.spec.template;
    const broken = {
      ...spec,
      startupTaints: [{ key: '???', effect: 'NoSchedule' as const }],
      requirements: [{ key: 'karpenter.sh/foo', operator: 'In' as const, values: ['x'] }],
    };
    b.put(NODE_POOL, { ...pool, spec: { template: { spec: broken } } });
    await b.clock.advance(10);
    expect(shown(deps, 'ValidationSucceeded')).toMatch(
      /^False\/NodePoolValidationFailed\/invalid value: name part must consist.* in startupTaints; .*karpenter\.sh\/foo/,
    );
    b.put(NODE_POOL, { ...pool, status: found(deps)?.status ?? {} });
    await b.clock.advance(10);
    expect(shown(deps, 'ValidationSucceeded')).toBe('True/ValidationSucceeded/');
  });

  it('uses the valid values, and reports the others', async () => {
    const { b, deps } = running(validation);
    const pool = poolOf();
    const requirements = [
      { key: 'karpenter.sh/capacity-type', operator: 'In' as const, values: ['spot', 'spt', 'on-demand'] },
      { key: 'example.com/rack', operator: 'In' as const, values: ['any'] },
    ];
    b.put(NODE_POOL, { ...pool, spec: { template: { spec: { ...pool.spec.template.spec, requirements } } } });
    await b.clock.advance(10);
    expect(shown(deps, 'ValidationSucceeded')).toBe('True/ValidationSucceeded/');
    const errors = b.lines.filter(({ level }) => level === 'error');
    expect(new Set(errors.map(({ fields }) => fields.key))).toEqual(new Set(['karpenter.sh/capacity-type']));
    expect(errors[0]).toMatchObject({
      message: 'please correct found invalid values, proceeding with valid values',
      fields: { 'valid-values': ['spot', 'on-demand'], 'invalid-values': ['spt'] },
    });
  });
});

describe('nodepool.hash', () => {
  const versioned = (hashed: string, version: string) => ({
    [NODEPOOL_HASH_ANNOTATION]: hashed,
    [NODEPOOL_HASH_VERSION_ANNOTATION]: version,
  });

  it.each([
    { of: 'an older version', pool: 'v2', claim: 'v2', drifted: false, becomes: 'new' },
    { of: 'an older version with drift', pool: 'v2', claim: 'v2', drifted: true, becomes: 'old' },
    { of: 'the current version', pool: 'v2', claim: 'v3', drifted: false, becomes: 'old' },
    { of: 'an older version after the NodePool was migrated', pool: 'v3', claim: 'v2', drifted: false, becomes: 'old' },
  ])('sets the hash of a claim of $of to the $becomes one', async ({ pool: version, claim: own, drifted, becomes }) => {
    const { b, deps } = running(hash);
    const claim = settledClaim('claim', { conditions: drifted ? [condition('Drifted', { status: 'False' })] : [] });
    b.put(NODE_CLAIM, { ...claim, metadata: { ...claim.metadata, annotations: versioned('old', own) } });
    const pool = poolOf({ annotations: versioned('old', version) });
    b.put(NODE_POOL, pool);
    await b.clock.advance(10);
    const wanted = becomes === 'new' ? nodePoolHash(pool) : 'old';
    expect(b.claim('claim')?.metadata.annotations).toEqual(versioned(wanted, version === 'v3' ? own : 'v3'));
    expect(found(deps)?.metadata.annotations).toEqual(versioned(nodePoolHash(pool), 'v3'));
  });
});

describe('nodepool.offered', () => {
  const TYPE = 'RequirementsOffered';
  const zoned = (...values: readonly string[]): NodePool => {
    const conditions = ['ValidationSucceeded', 'NodeClassReady', 'Ready'].map((type) =>
      condition(type, { status: 'True' }),
    );
    const pool = poolOf({}, { conditions });
    const requirements = [{ key: ZONE_LABEL, operator: 'In' as const, values }];
    return { ...pool, spec: { template: { spec: { ...pool.spec.template.spec, requirements } } } };
  };

  const offeredBy = (deps: Deps): Controller =>
    requirementsOffered({
      ...deps,
      cloud: { ...deps.cloud, instanceTypes: async () => [instanceType('m.large', 2, 0.1)] },
    });

  it('names zones without offerings in a condition and an event until the zones are corrected', async () => {
    const { b, deps } = running(offeredBy);
    b.put(NODE_POOL, zoned('us-east-1a'));
    await b.clock.advance(10);
    const text = 'NodePool "default" offers zones zone-a, zone-b; the NodePool requires zone us-east-1a. ';
    expect(shown(deps, TYPE)).toMatch(new RegExp(`^False/RequirementsNotOffered/${text}`));
    const messages = b.events.filter(({ reason }) => reason === 'RequirementsNotOffered').map(({ message }) => message);
    expect([...new Set(messages)]).toEqual([expect.stringContaining(text)]);
    b.put(NODE_POOL, { ...zoned('zone-a'), ...defined({ status: found(deps)?.status }) });
    await b.clock.advance(10);
    expect(shown(deps, TYPE)).toMatch(/^True\//);
  });

  it('adds no condition to a NodePool whose requirements are offered', async () => {
    const { b, deps } = running(offeredBy);
    b.put(NODE_POOL, zoned('zone-a', 'us-east-1a'));
    await b.clock.advance(10);
    expect(shown(deps, TYPE)).toBeUndefined();
  });
});

describe('nodepool.registrationhealth', () => {
  const HEALTHY = 'NodeRegistrationHealthy';
  const known = (status: Condition['status'] | undefined, more: Partial<Condition> = {}, observed = 1): NodePool =>
    poolOf(
      {},
      {
        nodeClassObservedGeneration: observed,
        conditions: status === undefined ? [] : [condition(HEALTHY, { status, ...more })],
      },
    );

  it.each([
    { when: 'it was healthy', pool: known('True'), is: 'healthy', shows: 'True' },
    { when: 'it was unhealthy', pool: known('False'), is: 'unhealthy', shows: 'False' },
    { when: 'it was unknown', pool: known('Unknown'), is: 'unknown', shows: 'Unknown' },
    { when: 'there is no condition', pool: known(undefined), is: 'unknown', shows: 'Unknown' },
    { when: 'it was edited', pool: known('True', { observedGeneration: 0 }), is: 'unknown', shows: 'Unknown' },
    { when: 'its NodeClass was edited', pool: known('False', {}, 0), is: 'unknown', shows: 'Unknown' },
  ])('is after a restart, if $when: $is', async ({ pool, is, shows }) => {
    const { b, deps } = running(registrationHealth);
    b.put(EC2_NODE_CLASS, nodeClass(1));
    b.put(NODE_POOL, pool);
    await b.clock.advance(10);
    expect(deps.cluster.registrationHealth.status('pool')).toBe(is);
    expect(shown(deps, HEALTHY)).toMatch(new RegExp(`^${shows}/`));
    expect(found(deps)?.status?.nodeClassObservedGeneration).toBe(1);
  });

  it('resets when the NodeClass changes, and does not seed twice', async () => {
    const { b, deps } = running(registrationHealth);
    const { registrationHealth: health } = deps.cluster;
    b.put(EC2_NODE_CLASS, nodeClass(1));
    b.put(NODE_POOL, known('False'));
    await b.clock.advance(10);
    for (const success of [true, true, true]) health.record('pool', success);
    b.put(NODE_POOL, { ...known('False'), metadata: { ...known('False').metadata, labels: { touched: 'yes' } } });
    await b.clock.advance(10);
    expect(health.status('pool')).toBe('healthy');
    b.put(EC2_NODE_CLASS, nodeClass(2));
    await b.clock.advance(10);
    expect(health.status('pool')).toBe('unknown');
    expect(found(deps)?.status?.nodeClassObservedGeneration).toBe(2);
  });

  it('keeps its state while the change cannot be written', async () => {
    const { b, deps } = running(registrationHealth);
    deps.cluster.registrationHealth.record('pool', true);
    b.world.failure = () => new ApiError(409, 'Conflict', 'modified');
    b.put(EC2_NODE_CLASS, nodeClass(2));
    b.put(NODE_POOL, known('True'));
    await b.clock.advance(10);
    expect(deps.cluster.registrationHealth.status('pool')).toBe('healthy');
  });

  const owned = (launched: Partial<Condition>, uid = 'pool', kind = 'NodePool') => {
    const ownerReferences = [{ apiVersion: 'karpenter.sh/v1', kind, name: 'default', uid }];
    const claim = settledClaim('claim', { conditions: [condition('Launched', launched)] });
    return { ...claim, metadata: { ...claim.metadata, ownerReferences } };
  };
  const unknown = { status: 'Unknown', reason: 'NoCapacity', message: 'sold out' } as const;

  it.each([
    { of: 'one success', before: known('Unknown'), outcomes: [true], shows: 'True/NodeRegistrationHealthy/' },
    { of: 'one failure', before: known('True'), outcomes: [false], shows: 'True/NodeRegistrationHealthy/' },
    {
      of: 'two failures',
      before: known('True'),
      outcomes: [false, false],
      shows: 'False/RegistrationFailed/Failed to register node',
    },
    {
      of: 'two failed launches',
      before: known('True'),
      outcomes: [false, false],
      launched: unknown,
      shows: 'False/NoCapacity/sold out',
    },
    {
      of: 'one success among failures',
      before: known('False', { reason: 'Old' }),
      outcomes: [false, false, true],
      shows: 'False/Old/',
    },
    {
      of: 'further failures',
      before: known('False', { reason: 'Old' }),
      outcomes: [false, false, false],
      shows: 'False/Old/',
    },
    {
      of: 'enough successes',
      before: known('False'),
      outcomes: [false, false, true, true, true],
      shows: 'True/NodeRegistrationHealthy/',
    },
    {
      of: 'outcomes of claims of another NodePool',
      before: known('True'),
      outcomes: [false, false],
      uid: 'other',
      shows: 'True/NodeRegistrationHealthy/',
    },
    {
      of: 'outcomes of claims with another owner',
      before: known('True'),
      outcomes: [false, false],
      kind: 'Other',
      shows: 'True/NodeRegistrationHealthy/',
    },
  ])('shows after $of $shows', async ({ before, outcomes, launched = {}, uid, kind, shows }) => {
    const { b, deps } = running(registrationHealth);
    b.put(NODE_POOL, before);
    await b.clock.settle();
    for (const [index, success] of outcomes.entries()) {
      const claim = owned(launched, uid, kind);
      const own = { ...claim, metadata: { ...claim.metadata, uid: `claim-${index}` } };
      await recordRegistration(deps, own, success);
    }
    expect(shown(deps, HEALTHY)).toBe(shows);
  });

  it.each([
    { whom: 'the NodePool as another client changed it', uid: 'pool', shows: 'True/NodeRegistrationHealthy/' },
    { whom: 'no successor of the NodePool', uid: 'successor', shows: 'Unknown/NodeRegistrationHealthy/' },
  ])('is written to $whom after a conflict', async ({ uid, shows }) => {
    const { b, deps } = running(registrationHealth);
    b.put(NODE_POOL, known('Unknown'));
    await b.clock.settle();
    b.world.failure = () => {
      b.world.failure = () => undefined;
      const { metadata, ...rest } = known('Unknown');
      b.put(NODE_POOL, { ...rest, metadata: { ...metadata, uid, labels: { touched: 'yes' } } });
      return new ApiError(409, 'Conflict', 'modified');
    };
    const recorded = recordRegistration(deps, owned({}), true);
    await b.clock.advance(SECOND);
    await recorded;
    expect(shown(deps, HEALTHY)).toBe(shows);
    expect(found(deps)?.metadata.labels).toEqual({ touched: 'yes' });
  });

  it('is not written for a claim without a NodePool', async () => {
    const { b, deps } = running(registrationHealth);
    await recordRegistration(deps, owned({}), false);
    b.put(NODE_POOL, poolOf());
    await recordRegistration(deps, claimOf('claim'), true);
    expect(deps.cluster.registrationHealth.status('pool')).toBe('unknown');
    expect(b.writesTo('NodePool')).toBe(0);
  });
});
