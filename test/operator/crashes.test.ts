/** The operator is killed and restarted at each step of replacing a node: nothing is lost, duplicated or leaked. */
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { getCondition, NODE_CLAIM, type NodeClaim } from '#api/objects';
import {
  at,
  creates,
  deletes,
  deletesNode,
  evicts,
  launches,
  releases,
  taints,
  tellsReason,
  terminates,
  untaints,
} from './crash-points.ts';
import { type CrashableOperator, type CrashPoint, crashableOperator, marks, untilDead } from './crashable-operator.ts';
import { deployment, type Scenario, startScenario } from './harness.ts';
import { BRISK, budgetFor, leaks, pool } from './pools.ts';

let scenario: Scenario;
let operator: CrashableOperator;
let tier = 0;

const PODS = 3;
const edit = (): Promise<void> => {
  tier += 1;
  return scenario.apply(pool({ cpus: [4], labels: { tier: `t${tier}` } }));
};

/** Waits for one node of the present tier with all pods on it, and no other node. */
const renewed = (): Promise<true> =>
  scenario.until(
    'one renewed node with all pods, and nothing else',
    async () => {
      const nodes = await scenario.nodes();
      return (
        nodes.length === 1 &&
        nodes[0]?.metadata.labels?.tier === `t${tier}` &&
        // a replacement that is being launched has a NodeClaim, but no Node yet
        (await scenario.claims()).length === 1 &&
        (await leaks(scenario)).length === 0 &&
        (await scenario.running('web')).length === PODS
      );
    },
    90_000,
  );

function onlyOne<T>(items: readonly T[]): T {
  const [first, ...others] = items;
  if (first === undefined || others.length > 0) throw new Error(`expected one and found ${items.length}`);
  return first;
}

describe('an operator that is killed while it replaces a node', () => {
  beforeAll(async () => {
    scenario = await startScenario({ ...BRISK, operator: false });
    operator = await crashableOperator(scenario);
    await scenario.apply(
      ...scenario.example('ec2nodeclass.yaml'),
      pool({ cpus: [4], labels: { tier: 't0' } }),
      budgetFor('web', 1),
      deployment('web', PODS),
    );
    await operator.start();
    await scenario.until('running pods', async () => (await scenario.running('web')).length === PODS, 60_000);
  }, 300_000);
  afterAll(async () => {
    await operator.close();
    await scenario.stop();
  });

  afterEach(() => {
    expect(operator.hasty).toEqual([]);
  });

  it.each<[string, CrashPoint]>([
    ['before it taints the node', at('before', taints)],
    ['after it tainted the node', at('after', taints)],
    ['after it wrote the reason', at('after', tellsReason)],
    ['before it creates the replacement', at('before', creates)],
    ['after it created the replacement', at('after', creates)],
    ['after it launched the replacement', at('after', launches)],
    ['before it deletes the old claim', at('before', deletes)],
    ['after it deleted the old claim', at('after', deletes)],
    ['before it deletes the old node', at('before', deletesNode)],
    ['while it drains', at('after', evicts)],
    ['before it terminates the instance', at('before', terminates)],
    ['after it terminated the instance', at('after', terminates)],
    ['before it removes the finalizer of the old claim', at('before', releases)],
  ])(
    '%s',
    async (_, trap) => {
      operator.arm(trap);
      await edit();
      await untilDead(scenario, operator);
      await operator.start();
      await renewed();
      expect(await marks(scenario)).toEqual([]);
    },
    300_000,
  );

  it('completes the rollback of a command whose replacement was deleted', async () => {
    const old = onlyOne(await scenario.nodes());
    const claim = onlyOne(await scenario.claims());
    const isReplacement = ({ metadata }: NodeClaim): boolean => metadata.name !== claim.metadata.name;
    scenario.world.aws.faults.add({ kind: 'never-joins', times: 1 });
    operator.arm(at('after', (request) => untaints(request, old.metadata.name)));
    await edit();
    const replacement = await scenario.until('a replacement', async () =>
      (await scenario.claims()).find((each) => isReplacement(each) && each.status?.providerID),
    );
    await scenario.kube.delete(NODE_CLAIM, replacement.metadata);
    await untilDead(scenario, operator);
    // the taint is removed, but the condition of the NodeClaim is not
    expect(await marks(scenario)).toEqual([claim.metadata.name]);
    await operator.start();
    await renewed();
    expect(await marks(scenario)).toEqual([]);
  }, 300_000);

  it.each<[string, CrashPoint]>([
    ['after only the taint was set', at('after', taints)],
    ['after the replacement was created', at('after', creates)],
  ])(
    'removes the marks if the reason is gone %s',
    async (_, trap) => {
      const [old] = scenario.instances();
      const uids = async (): Promise<readonly string[]> =>
        (await scenario.running('web')).map(({ metadata }) => metadata.uid ?? '').sort();
      const pods = await uids();
      operator.arm(trap);
      await edit();
      await untilDead(scenario, operator);
      expect(await marks(scenario)).not.toEqual([]);
      // Meanwhile the user reverts the edit. The next operator may act on objects that it has not received yet. The
      // budget prevents that. The cleanup of marks is not limited by budgets.
      tier -= 1;
      const shape = { cpus: [4], labels: { tier: `t${tier}` }, consolidationPolicy: 'WhenEmpty' };
      await scenario.apply(pool({ ...shape, budgets: [{ nodes: '0' }] }));
      await operator.start();
      await scenario.until('no marks', async () => (await marks(scenario)).length === 0, 60_000);
      const claimOfOld = async (): Promise<NodeClaim | undefined> =>
        (await scenario.claims()).find(({ status }) => status?.providerID?.endsWith(`/${old?.id}`));
      await scenario.until('no drift', async () => {
        const claim = await claimOfOld();
        return claim !== undefined && getCondition(claim, 'Drifted') === undefined;
      });
      expect(await uids()).toEqual(pods);

      // From here on, only a needless replacement could remove the node.
      await scenario.apply(pool(shape));
      await renewed();
      expect(scenario.instances().map(({ id }) => id)).toEqual([old?.id]);
      expect(await uids()).toEqual(pods);
      await scenario.apply(pool({ cpus: [4], labels: { tier: `t${tier}` } }));
    },
    300_000,
  );
});
