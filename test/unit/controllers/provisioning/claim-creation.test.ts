/** Claims, events and logs that a provisioning run creates from a plan. */
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { DISRUPTED_TAINT, INSTANCE_TYPE_LABEL, NODE_CLAIM, NODE_POOL, type NodePool, POD } from '#api/objects';
import { templateClaim } from '#engine/solve';
import { ApiError } from '#kube/client';
import { silent } from '#observe/logger';
import { createMetrics } from '#observe/setup';
import { createClaim } from '../../../../src/controllers/claims.ts';
import { present } from '../../../support/present.ts';
import { World } from '../harness.ts';

let world: World;
beforeEach(() => {
  world = new World();
});
afterEach(() => world.kill());

const begin = async (): Promise<void> => {
  world.start();
  await world.pass(2);
};
const requiring = (base: NodePool, requirements: NodePool['spec']['template']['spec']['requirements']) => ({
  template: { ...base.spec.template, spec: { ...base.spec.template.spec, requirements } },
});
const about = (reason: string) => world.events.filter((event) => event.reason === reason);

describe('a NodePool', () => {
  it('launches no nodes while it is being deleted', async () => {
    world.nodePool();
    world.kube.patch(NODE_POOL, { name: 'default' }, { metadata: { finalizers: ['example.com/hold'] } });
    world.kube.delete(NODE_POOL, { name: 'default' });
    await begin();
    world.pending(1);
    await world.pass(15);
    expect(world.claims).toEqual([]);
    expect(world.lines.map(({ message }) => message)).toContain('no dynamic nodepools found');
  });

  it('does not block other NodePools if its instance types cannot be listed', async () => {
    const heavy = world.nodePool('heavy', { weight: 10 });
    world.nodePool('light');
    const types = world.cloud.types;
    world.cloud.instanceTypes = async (pool?: NodePool) => {
      if (pool?.metadata.name === heavy.metadata.name) throw new Error('throttled');
      return types;
    };
    await begin();
    world.pending(1);
    await world.pass(15);
    expect(world.claims.map(({ metadata }) => metadata.labels?.['karpenter.sh/nodepool'])).toEqual(['light']);
    expect(world.lines.map(({ message }) => message)).toContain('skipping, unable to resolve instance types');
  });

  it.each([
    { minValues: undefined, values: ['gone.large'], suffix: '' },
    { minValues: 9, values: undefined, suffix: ' due to minValues incompatibility' },
  ])('is reported without any instance type$suffix', async ({ minValues, values, suffix }) => {
    const base = world.nodePool('model');
    world.kube.delete(NODE_POOL, { name: 'model' });
    const requirement = {
      key: INSTANCE_TYPE_LABEL,
      operator: values ? ('In' as const) : ('Exists' as const),
      ...(values && { values }),
      ...(minValues && { minValues }),
    };
    world.nodePool('default', requiring(base, [requirement]));
    await begin();
    world.pending(1);
    await world.pass(5);
    expect(about('NoCompatibleInstanceTypes')[0]).toMatchObject({
      type: 'Warning',
      windowMs: 60_000,
      message: `NodePool requirements filtered out all compatible available instance types${suffix}`,
    });
  });
});

describe('a created claim', () => {
  it('belongs to its NodePool, and has the hashes for drift', async () => {
    const pool = world.nodePool();
    await begin();
    world.pending(1);
    await world.pass(5);
    const [claim] = world.claims;
    expect(claim?.metadata.name).toMatch(/^default-/);
    expect(claim?.metadata.ownerReferences).toEqual([
      {
        apiVersion: 'karpenter.sh/v1',
        kind: 'NodePool',
        name: 'default',
        uid: pool.metadata.uid,
        blockOwnerDeletion: true,
      },
    ]);
    expect(claim?.metadata.annotations).toMatchObject({
      'karpenter.sh/nodepool-hash': expect.stringMatching(/^\d+$/),
      'karpenter.sh/nodepool-hash-version': 'v3',
    });
    expect(claim?.metadata.labels).toMatchObject({ 'karpenter.k8s.aws/ec2nodeclass': 'default' });
    expect(claim?.spec).toMatchObject({ expireAfter: '720h', nodeClassRef: { name: 'default' } });
  });

  it('is published as an event on each of its pods', async () => {
    world.joining = false;
    world.nodePool();
    await begin();
    world.pending(2, '500m');
    await world.pass(5);
    const [claim] = world.claims;
    expect(about('Nominated').map(({ message }) => message)).toEqual(
      Array.from({ length: 2 }, () => `Pod should schedule on: nodeclaim/${claim?.metadata.name}`),
    );
  });

  it('is not created if its largest instance would exceed a limit', async () => {
    world.nodePool('default', { limits: { cpu: '10' } });
    await begin();
    world.pending(1);
    await world.pass(20);
    expect(world.cluster.poolTotals('default').cpu).toBe(2000);
    const [pool] = world.kube.all(NODE_POOL);
    if (pool === undefined) throw new Error('no pool');
    const create = (isFree?: () => boolean): Promise<unknown> =>
      createClaim(
        {
          client: world.kube.client(new AbortController().signal),
          clock: world.clock,
          cloud: world.cloud,
          cluster: world.cluster,
          metrics: createMetrics(),
        },
        templateClaim(pool),
        { reason: 'provisioned', log: silent, signal: new AbortController().signal, isFree },
      );
    const results = await Promise.allSettled([create(), create()]);
    expect(results.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
    await expect(create()).rejects.toThrow(
      'resource usage would exceed limit (limit=10, resource-name=cpu, usage=10, new-node=8)',
    );
    await expect(create(() => true)).rejects.toThrow('usage=8, new-node=8');
    world.kube.patch(NODE_POOL, { name: 'default' }, { spec: { limits: { cpu: '1900m' } } });
    await expect(create()).rejects.toThrow('resource usage exceeds limit (limit=1900m, resource-name=cpu, usage=10)');
  });
});

describe('a provisioning run', () => {
  it('is repeated if a claim cannot be created, and launches once', async () => {
    let failures = 0;
    world.kube.beforeWrite = (operation) => {
      if (operation === 'create nodeclaims' && failures++ < 2)
        throw new ApiError(403, 'Forbidden', 'a webhook says no');
    };
    world.nodePool();
    await begin();
    world.pending(3, '500m');
    await world.pass(30);
    expect(world.claims).toHaveLength(1);
    expect(world.errors().some((text) => text.includes('creating node claim, '))).toBe(true);
    expect(world.pods.every(({ spec }) => spec.nodeName)).toBe(true);
  });

  it('starts for a node that is being disrupted, whose pods need another node', async () => {
    world.nodePool();
    await begin();
    world.pending(1, '1500m');
    await world.pass(15);
    const [claim] = world.claims;
    world.kube.beforeWrite = (operation) => {
      if (operation === 'delete pods') throw new Error('not yet'); // Keeps the pod on the node, so that the new node is launched first.
    };
    world.kube.delete(NODE_CLAIM, { name: present(claim?.metadata.name) });
    await world.pass(15);
    expect(world.disruptedNodes()[0]?.spec?.taints).toContainEqual(
      expect.objectContaining({ key: DISRUPTED_TAINT.key }),
    );
    expect(world.claims.length).toBeGreaterThan(1);
    expect(world.kube.all(POD)).toHaveLength(1);
  });
});
