/** The Balanced policy: a node is disrupted if the savings justify the pods that must move. */
import { afterEach, describe, expect, it } from '@jest/globals';
import { isTrue } from '#api/objects';
import { deployment, type Scenario, startScenario } from './harness.ts';
import { BRISK, commands, leaks, type PoolShape, pool } from './pools.ts';

let scenario: Scenario;
afterEach(() => scenario.stop());

const SHAPE: PoolShape = { cpus: [2, 4, 8], consolidationPolicy: 'Balanced' };
const SMALL = 6;

/**
 * Starts two nodes of 8 vCPUs that are filled by one pod each, and a third with six pods of 0.6 vCPU. Replacing the
 * third node with one of half the size saves a sixth of the pool's cost. It causes seven elevenths of the possible
 * disturbance.
 */
async function begin(): Promise<void> {
  scenario = await startScenario({ ...BRISK, argv: ['--log-level=debug'] });
  await scenario.apply(...scenario.example('ec2nodeclass.yaml'), pool({ ...SHAPE, budgets: [{ nodes: '0' }] }));
  await scenario.apply(deployment('wide', 1, {}, { cpu: '3900m' }), deployment('small', SMALL, {}, { cpu: '600m' }));
  await scenario.until(
    'the node of many pods',
    async () => (await scenario.running('wide')).length === 1 && (await scenario.running('small')).length === SMALL,
  );
  await scenario.apply(deployment('big', 2, {}, { cpu: '7500m' }));
  await scenario.until('the full nodes', async () => (await scenario.running('big')).length === 2);
  expect(await scenario.nodes()).toHaveLength(3);
  await scenario.scale('wide', 0);
  await scenario.until(
    'the nodes to count as consolidatable',
    async () =>
      (await scenario.pods('wide')).length === 0 &&
      (await scenario.claims()).every((claim) => isTrue(claim, 'Consolidatable')),
  );
  await scenario.apply(pool(SHAPE));
}

const SERIES = 'nodepool="default",policy="Balanced"';
const moves = async (decision: string): Promise<number> => {
  const name = `karpenter_consolidation_moves_total{decision="${decision}",${SERIES}}`;
  const line = (await scenario.metrics()).split('\n').find((each) => each.startsWith(name));
  return Number(line?.slice(name.length) ?? 0);
};

describe('a NodePool with the Balanced policy', () => {
  it('keeps a node while too many pods would have to move, and replaces it when fewer pods are left', async () => {
    await begin();
    await scenario.until('a rejected move', async () => (await moves('rejected')) > 0, 60_000);
    expect(await scenario.metrics()).toMatch(
      new RegExp(`karpenter_consolidation_score_bucket\\{le="0.33",decision="rejected",${SERIES}\\} [1-9]`),
    );
    expect(commands(scenario)).toEqual([]);
    expect(await scenario.events('ConsolidationApproved')).toEqual([]);
    const scores = scenario.log.filter(({ message }) => message === 'consolidation score');
    expect(scores[0]).toMatchObject({
      nodepool: 'default',
      decision: 'rejected',
      approved: false,
      threshold: 0.5,
      k: 2,
      savings_fraction: expect.closeTo(1 / 6, 1),
      disruption_fraction: expect.closeTo(7 / 11, 6),
    });

    const before = scenario.world.aws.spending.usdPerHour();
    await scenario.scale('small', 2);
    await scenario.until(
      'a smaller node',
      async () =>
        scenario.world.aws.spending.usdPerHour() < 0.8 * before &&
        scenario.instances().length === 3 &&
        (await leaks(scenario)).length === 0 &&
        (await scenario.running('small')).length === 2,
      60_000,
    );
    expect(commands(scenario)).toMatchObject([
      { decision: 'replace', 'disrupted-node-count': 1, 'replacement-node-count': 1, 'pod-count': 2 },
    ]);
    expect(await moves('approved')).toBeGreaterThan(0);
    const approvals = await scenario.events('ConsolidationApproved');
    expect(new Set(approvals.map(({ involvedObject }) => involvedObject.kind))).toEqual(new Set(['Node', 'NodeClaim']));
    for (const { message } of approvals)
      expect(message).toMatch(/^score 0\.\d\d >= threshold 0\.50 \(k: 2, savings \d\d\.\d%, disruption \d\d\.\d%\)$/);
  }, 300_000);
});
