import { describe, expect, it } from '@jest/globals';
import { NODE_HOURLY_FEE_ANNOTATION } from '#api/objects';
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

async function inputsOf(
  catalogue: Catalogue,
  { packing = 'cheapest', fee }: { packing?: 'cheapest' | 'compatible'; fee?: string } = {},
) {
  const problems: PoolProblem['of'][] = [];
  const pool = nodePool('default');
  const annotations = fee === undefined ? {} : { [NODE_HOURLY_FEE_ANNOTATION]: fee };
  const [input] = await poolInputs([{ ...pool, metadata: { ...pool.metadata, annotations } }], {
    catalogue,
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
