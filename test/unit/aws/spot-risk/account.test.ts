/** Launches without capacity raise the price of a spot pool in the lists of types and in the report. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { NODE_POOL } from '#api/objects';
import { type InstanceType, requirementsOf } from '#engine/model';
import { Account, only } from '../support/account.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

describe('a spot pool without capacity', () => {
  let account: Account;
  beforeAll(async () => {
    account = await Account.open();
  });
  afterAll(() => account.close());

  const list = (): Promise<readonly InstanceType[]> => account.provider.instanceTypes(account.nodePool('default'));
  const risks = (types: readonly InstanceType[]): readonly string[] =>
    types.flatMap(({ name, offerings }) =>
      offerings
        .filter(({ spotRiskUsdPerHour = 0 }) => spotRiskUsdPerHour > 0)
        .map((offering) => {
          const requirements = requirementsOf(offering);
          const [capacityType, zone] = ['karpenter.sh/capacity-type', 'topology.kubernetes.io/zone'];
          return `${name} ${requirements.get(capacityType).any()} ${requirements.get(zone).any()}`;
        }),
    );

  it('costs more after many failed launches, is reported, and expires', async () => {
    const zone = `${account.aws.region}a`;
    const TYPE = only('node.kubernetes.io/instance-type', 'c5.large');
    const requirements = [TYPE, only('karpenter.sh/capacity-type', 'spot'), only('topology.kubernetes.io/zone', zone)];
    const before = await list();
    expect(risks(before)).toEqual([]);
    account.aws.faults.add({ kind: 'capacity', instanceType: 'c5.large' });
    for (let launch = 0; launch < 20; launch++) {
      await expect(account.provider.create(account.claim(...requirements))).rejects.toThrow();
      account.clock.forward(4 * MINUTE_MS);
    }
    account.aws.faults.clear();
    const after = await list();
    expect(risks(after)).toEqual([`c5.large spot ${zone}`]);
    expect(after.filter((type, at) => type !== before[at]).map(({ name }) => name)).toEqual(['c5.large']);
    expect(await list()).toBe(after);

    const nodePool = account.nodePool('default');
    for (const [name, own] of [
      ['one', requirements],
      ['other', [only('karpenter.sh/capacity-type', 'on-demand')]],
    ] as const) {
      const template = { ...nodePool.spec.template, spec: { ...nodePool.spec.template.spec, requirements: own } };
      account.kube.put(NODE_POOL, { ...nodePool, metadata: { name }, spec: { ...nodePool.spec, template } });
    }
    const report = await account.offerings();
    const shown = Object.fromEntries(report.map(({ nodePool: name, spotRisk }) => [name, spotRisk]));
    expect(shown.one).toEqual([
      expect.objectContaining({ instanceType: 'c5.large', zone, interruptions: 0, addedPart: 0.05 }),
    ]);
    expect(shown.other).toBeUndefined();

    account.clock.forward(48 * HOUR_MS);
    await account.reconcile('spotrisk');
    expect(await list()).toBe(before);
  });
});
