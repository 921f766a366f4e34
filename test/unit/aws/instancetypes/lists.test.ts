/** Lists of instance types for NodeClasses. Unchanged types stay the same object. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { EC2_NODE_CLASS, NODE_POOL } from '#api/objects';
import type { InstanceType } from '#engine/model';
import { Account, only } from '../support/account.ts';

const MINUTE_MS = 60_000;

describe('a list of instance types', () => {
  let account: Account;
  beforeAll(async () => {
    account = await Account.open();
  });
  afterAll(() => account.close());

  const list = (): Promise<readonly InstanceType[]> => account.provider.instanceTypes(account.nodePool('default'));

  it('stays the same object until a change', async () => {
    const before = await list();
    for (const minutes of [1, 6, 60, 13 * 60]) {
      account.clock.forward(minutes * MINUTE_MS);
      await account.reconcile('providers.instancetype');
      expect(await list()).toBe(before);
    }
  });

  it('shares all parts except the offerings with lists of other prices', async () => {
    const before = await list();
    await account.reconcile('providers.pricing');
    const after = await list();
    expect(after).not.toEqual(before);
    for (const part of ['requirements', 'capacity', 'overhead'] as const)
      expect(after.every((type, at) => type[part] === before[at]?.[part])).toBe(true);
    for (const [at, { offerings }] of after.entries())
      for (const [index, offering] of offerings.entries())
        expect(offering.requirements).toBe(before[at]?.offerings[index]?.requirements);
  });

  it('replaces only the types with an unavailable offering, and restores them afterwards', async () => {
    const before = await list();
    account.aws.faults.add({ kind: 'capacity', instanceType: 'c5.large' });
    const claim = account.claim(only('node.kubernetes.io/instance-type', 'c5.large'));
    await expect(account.provider.create(claim)).rejects.toThrow();
    account.aws.faults.clear();
    const during = await list();
    expect(during.filter((type, at) => type !== before[at]).map(({ name }) => name)).toEqual(['c5.large']);
    account.clock.forward(4 * MINUTE_MS);
    expect(await list()).toBe(before);
  });

  it('is shared by NodeClasses with the same inputs, and shares parts with lists of other NodeClasses', async () => {
    const before = await list();
    const { kube } = account;
    const pool = account.nodePool('default');
    const poolOn = (name: string, spec: object) => {
      const nodeClass = account.nodeClass();
      kube.put(EC2_NODE_CLASS, { ...nodeClass, metadata: { name }, spec: { ...nodeClass.spec, ...spec } });
      const { template } = pool.spec;
      const nodeClassRef = { ...template.spec.nodeClassRef, name };
      return kube.put(NODE_POOL, {
        ...pool,
        metadata: { name },
        spec: { ...pool.spec, template: { ...template, spec: { ...template.spec, nodeClassRef } } },
      });
    };
    expect(await account.provider.instanceTypes(poolOn('twin', { tags: { team: 'twin' } }))).toBe(before);
    const dense = await account.provider.instanceTypes(poolOn('dense', { kubelet: { maxPods: 17 } }));
    expect(dense.every(({ capacity }) => capacity.pods === 17)).toBe(true);
    expect(dense.map(({ requirements }) => requirements)).toEqual(before.map(({ requirements }) => requirements));
    expect(dense.every(({ requirements }, at) => requirements === before[at]?.requirements)).toBe(true);
    expect(dense.every(({ offerings }, at) => offerings === before[at]?.offerings)).toBe(true);
  });
});
