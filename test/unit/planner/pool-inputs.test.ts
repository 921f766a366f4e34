import { describe, expect, it } from '@jest/globals';
import { NODE_HOURLY_FEE_ANNOTATION, type NodePolicy } from '#api/objects';
import { packingPolicy } from '#api/values';
import type { InstanceType } from '#engine/model';
import { type Catalogue, type PoolProblem, poolInputs } from '../../../src/planner/pool-inputs.ts';
import { instanceType, nodePool } from '../engine/build.ts';

const TYPE: InstanceType = instanceType('m5.large', {});
const RISKY = {
  ...TYPE,
  offerings: TYPE.offerings.map((offering) => ({ ...offering, spotRiskUsdPerHour: 1 })),
};
const CHARGES = { volumesUsdPerHour: 0.01, publicIpv4UsdPerHour: 0 };

interface InputParts {
  readonly packing?: 'cheapest' | 'compatible';
  readonly fee?: string;
  readonly policies?: readonly NodePolicy[];
}

async function inputsOf(catalogue: Catalogue, { packing = 'cheapest', fee, policies = [] }: InputParts = {}) {
  const problems: PoolProblem['of'][] = [];
  const pool = nodePool('default');
  const annotations = fee === undefined ? {} : { [NODE_HOURLY_FEE_ANNOTATION]: fee };
  const [input] = await poolInputs([{ ...pool, metadata: { ...pool.metadata, annotations } }], {
    catalogue,
    policies,
    policy: packingPolicy(packing),
    nodeHourlyFee: 0.02,
    onProblem: ({ of }) => problems.push(of),
  });
  return { input, problems };
}

describe('the input of a NodePool', () => {
  it('has the instance types, the charges and the fee', async () => {
    const { input, problems } = await inputsOf({ instanceTypes: async () => [RISKY], charges: () => CHARGES });
    expect(input).toMatchObject({ instanceTypes: [RISKY], extras: { ...CHARGES, feeUsdPerHour: 0.02 } });
    expect(problems).toEqual([]);
  });

  it('has no fee and no spot risk if only the prices of instances count', async () => {
    const catalogue = { instanceTypes: async () => [RISKY], charges: () => CHARGES };
    const { input } = await inputsOf(catalogue, { packing: 'compatible', fee: '5' });
    expect(input?.extras).toEqual({ ...CHARGES, feeUsdPerHour: 0 });
    expect(input?.instanceTypes[0]?.offerings.filter((each) => 'spotRiskUsdPerHour' in each)).toEqual([]);
  });

  it('balances zones for 3 % of the price, and not with compatible packing', async () => {
    const catalogue = { instanceTypes: async () => [TYPE] };
    expect((await inputsOf(catalogue)).input?.zoneBalance).toBe(0.03);
    expect((await inputsOf(catalogue, { packing: 'compatible' })).input?.zoneBalance).toBe(0);
  });

  it('takes the share of the balance from the NodePolicy', async () => {
    const policy = (name: string, balance: string, spec: Partial<NodePolicy['spec']> = {}): NodePolicy => ({
      apiVersion: 'karpenter-ts.sh/v1alpha1',
      kind: 'NodePolicy',
      metadata: { name },
      spec: { zones: { balance }, ...spec },
    });
    const catalogue = { instanceTypes: async () => [TYPE] };
    const shareOf = async (...policies: readonly NodePolicy[]) =>
      (await inputsOf(catalogue, { packing: 'compatible', policies })).input?.zoneBalance;
    const ofOther = policy('other', '50%', { nodePools: { names: ['other'] } });
    expect(await shareOf(ofOther)).toBe(0);
    expect(await shareOf(ofOther, policy('all', '7.5%'))).toBe(0.075);
    expect(await shareOf(policy('all', '0%'))).toBe(0);
  });

  it('has only spot offerings within the maximum price of the NodePolicy, in one list for all NodePools', async () => {
    const policy: NodePolicy = {
      apiVersion: 'karpenter-ts.sh/v1alpha1',
      kind: 'NodePolicy',
      metadata: { name: 'spot' },
      spec: { spot: { maxPrice: '40%', consolidationTypes: 5, share: '70%', onDemandAfter: '5m' } },
    };
    const types = [TYPE];
    const catalogue = { instanceTypes: async () => types };
    const { input } = await inputsOf(catalogue, { policies: [policy] });
    expect(input?.spot).toEqual({
      policy: 'spot',
      maxPrice: 0.4,
      consolidationTypes: 5,
      share: 0.7,
      onDemandAfterMs: 300_000,
    });
    expect(input?.instanceTypes[0]?.offerings.filter(({ available }) => available)).toHaveLength(3);
    expect((await inputsOf(catalogue, { policies: [policy] })).input?.instanceTypes).toBe(input?.instanceTypes);
    const { input: plain } = await inputsOf(catalogue);
    expect(plain?.instanceTypes).toBe(types);
    expect(plain).not.toHaveProperty('spot');
  });

  it('reports facts that cannot be read, and leaves them out', async () => {
    const fail = (): never => {
      throw new Error('unknown');
    };
    const { input, problems } = await inputsOf({ instanceTypes: async () => fail(), charges: fail }, { fee: 'much' });
    expect(input).toMatchObject({
      instanceTypes: [],
      extras: { feeUsdPerHour: 0.02, volumesUsdPerHour: 0, publicIpv4UsdPerHour: 0 },
    });
    expect(problems.sort()).toEqual(['charges', 'fee', 'types']);
  });

  it('reports an empty list of instance types', async () => {
    expect((await inputsOf({ instanceTypes: async () => [] })).problems).toEqual(['empty']);
  });
});
