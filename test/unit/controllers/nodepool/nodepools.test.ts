import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { nodePoolHash } from '#api/hashes';
import {
  type Condition,
  EC2_NODE_CLASS,
  NODE_CLAIM,
  NODE_POOL,
  NODEPOOL_HASH_ANNOTATION,
  NODEPOOL_HASH_VERSION_ANNOTATION,
} from '#api/objects';
import { World } from '../harness.ts';

let world: World;
beforeEach(() => {
  world = new World();
});
afterEach(() => world.kill());

const condition = (type: string, pool = 'default'): unknown =>
  world.kube.get(NODE_POOL, { name: pool }).status?.conditions?.find((found) => found.type === type);

describe('a NodePool', () => {
  it('becomes ready with its NodeClass, and counts 0 resources first', async () => {
    world.nodePool();
    world.start();
    await world.pass(6);

    expect(condition('Ready')).toMatchObject({ status: 'True' });
    expect(condition('ValidationSucceeded')).toMatchObject({ status: 'True' });
    expect(condition('NodeRegistrationHealthy')).toMatchObject({ status: 'Unknown' });
    const { status } = world.kube.get(NODE_POOL, { name: 'default' });
    expect(status?.resources).toEqual({ cpu: '0', memory: '0', pods: '0', 'ephemeral-storage': '0', nodes: '0' });
    expect(status?.nodes).toBe(0);
  });

  it.each([
    {
      when: 'Unknown',
      ready: { status: 'Unknown' },
      reason: 'NodeClassReadinessUnknown',
      message: 'Node Class Readiness Unknown',
    },
    {
      when: 'False',
      ready: { status: 'False', reason: 'SubnetsNotFound', message: 'none matched' },
      reason: 'SubnetsNotFound',
      message: 'none matched',
    },
  ])('reports the reason if its NodeClass is $when', async ({ ready, reason, message }) => {
    world.nodePool();
    world.start();
    await world.pass(3);
    world.kube.patch(
      EC2_NODE_CLASS,
      { name: 'default' },
      { status: { conditions: [{ type: 'Ready', ...ready }] } },
      'status',
    );
    await world.pass(2);
    expect(condition('NodeClassReady')).toMatchObject({ status: 'False', reason, message });
    expect(condition('Ready')).toMatchObject({ status: 'False', reason: 'UnhealthyDependents' });

    world.kube.delete(EC2_NODE_CLASS, { name: 'default' });
    await world.pass(2);
    expect(condition('NodeClassReady')).toMatchObject({ status: 'False', reason: 'NodeClassNotFound' });
  });

  it('has its hash, and writes it to claims of an older version unless they have drifted', async () => {
    const pool = world.nodePool();
    const claim = (name: string, conditions: readonly object[]) => {
      world.kube.create(NODE_CLAIM, {
        apiVersion: 'karpenter.sh/v1',
        kind: 'NodeClaim',
        metadata: {
          name,
          labels: { 'karpenter.sh/nodepool': 'default' },
          annotations: { [NODEPOOL_HASH_ANNOTATION]: 'old', [NODEPOOL_HASH_VERSION_ANNOTATION]: 'v2' },
        },
        spec: { nodeClassRef: pool.spec.template.spec.nodeClassRef, requirements: [] },
        status: { providerID: `fake:///${name}`, conditions: conditions as readonly Condition[] },
      });
    };
    const launched = { type: 'Launched', status: 'True', observedGeneration: 1 };
    claim('plain', [launched]);
    claim('drifted', [launched, { type: 'Drifted', status: 'True' }]);
    world.joining = false;
    world.start();
    await world.pass(1);

    const hash = nodePoolHash(pool);
    const annotations = (name: string) => world.kube.get(NODE_CLAIM, { name }).metadata.annotations;
    expect(world.kube.get(NODE_POOL, { name: 'default' }).metadata.annotations).toEqual({
      [NODEPOOL_HASH_ANNOTATION]: hash,
      [NODEPOOL_HASH_VERSION_ANNOTATION]: 'v3',
    });
    expect(annotations('plain')).toMatchObject({
      [NODEPOOL_HASH_ANNOTATION]: hash,
      [NODEPOOL_HASH_VERSION_ANNOTATION]: 'v3',
    });
    expect(annotations('drifted')).toMatchObject({
      [NODEPOOL_HASH_ANNOTATION]: 'old',
      [NODEPOOL_HASH_VERSION_ANNOTATION]: 'v3',
    });
  });

  it('keeps the failed registrations of its nodes across a restart until it is edited', async () => {
    const pool = world.nodePool();
    world.start();
    await world.pass(2);
    const { uid = '' } = pool.metadata;
    for (let failure = 0; failure < 2; failure += 1) world.cluster.registrationHealth.record(uid, false);
    const unhealthy = {
      type: 'NodeRegistrationHealthy',
      status: 'False',
      reason: 'RegistrationFailed',
      message: '',
      observedGeneration: 1,
    };
    const { conditions = [] } = world.kube.get(NODE_POOL, { name: 'default' }).status ?? {};
    const others = conditions.filter(({ type }) => type !== unhealthy.type);
    world.kube.patch(NODE_POOL, pool.metadata, { status: { conditions: [...others, unhealthy] } }, 'status');
    world.kill();
    world.start();
    await world.pass(2);
    expect(world.cluster.registrationHealth.status(uid)).toBe('unhealthy');

    world.kube.patch(NODE_POOL, pool.metadata, { spec: { weight: 5 } });
    await world.pass(2);
    expect(world.cluster.registrationHealth.status(uid)).toBe('unknown');
    expect(condition('NodeRegistrationHealthy')).toMatchObject({ status: 'Unknown' });
  });
});
