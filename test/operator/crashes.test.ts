/** The operator is killed at each step of replacing a node, and started again: nothing is lost, doubled or left behind. */
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { getCondition } from '../../src/api/conditions.ts';
import { NODE_CLAIM } from '../../src/api/kinds.ts';
import type { NodeClaim } from '../../src/api/nodeclaim.ts';
import { type CrashableOperator, type CrashPoint, crashableOperator, marks } from './crashable-operator.ts';
import type { Moment, SeenRequest } from './cuttable-proxy.ts';
import { deployment, type Scenario, startScenario } from './harness.ts';
import { BRISK, budgetFor, leaks, outgrow, pool } from './pools.ts';

let scenario: Scenario;
let operator: CrashableOperator;
let tier = 0;

const PODS = 3;
const edit = (): Promise<void> => {
  tier += 1;
  return scenario.apply(pool({ cpus: [4], labels: { tier: `t${tier}` } }));
};

/** @throws Error when the operator does not come to its end in time */
const died = async (): Promise<void> => {
  let isDead = false;
  void operator.died.then(() => {
    isDead = true;
  });
  await scenario.until('death of the operator', () => isDead, 60_000);
};

const end = async (): Promise<void> => {
  await operator.close();
  await scenario.stop();
};

/** One node of the present tier, all pods on it, and nothing else. */
const renewed = (): Promise<true> =>
  scenario.until(
    'one renewed node with all pods, and nothing else',
    async () => {
      const nodes = await scenario.nodes();
      return (
        nodes.length === 1 &&
        nodes[0]?.metadata.labels?.tier === `t${tier}` &&
        // a replacement that is on its way has a claim, but no node yet
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

const at =
  (wanted: Moment, matches: (request: SeenRequest) => boolean): CrashPoint =>
  (request, moment) =>
    moment === wanted && matches(request);
const taints = ({ method, url, body }: SeenRequest): boolean =>
  method === 'PATCH' && url.startsWith('/api/v1/nodes/') && body.includes('karpenter.sh/disrupted');
const untaints = ({ method, url, body }: SeenRequest, node: string): boolean =>
  method === 'PATCH' && url.startsWith(`/api/v1/nodes/${node}`) && /"taints":(null|\[\])/.test(body);
const tellsReason = ({ method, url, body }: SeenRequest): boolean =>
  method === 'PATCH' && /\/nodeclaims\/[^/]+\/status/.test(url) && body.includes('DisruptionReason');
const considers = ({ method, url, body }: SeenRequest): boolean =>
  method === 'POST' && url.includes('/events') && body.includes('"ConsolidationCandidate"');
const creates = ({ method, url }: SeenRequest): boolean => method === 'POST' && /\/nodeclaims(\?|$)/.test(url);
const launches = ({ body }: SeenRequest): boolean => body.includes('Action=CreateFleet');
const deletes = ({ method, url }: SeenRequest): boolean => method === 'DELETE' && url.includes('/nodeclaims/');
const deletesNode = ({ method, url }: SeenRequest): boolean => method === 'DELETE' && url.startsWith('/api/v1/nodes/');
const evicts = ({ method, url }: SeenRequest): boolean => method === 'POST' && url.includes('/eviction');
const terminates = ({ body }: SeenRequest): boolean => body.includes('Action=TerminateInstances');
const releases = ({ method, url, body }: SeenRequest): boolean =>
  method === 'PATCH' && url.includes('/nodeclaims/') && /"finalizers":(null|\[\])/.test(body);

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
  afterAll(end);

  afterEach(() => {
    expect(operator.hasty).toEqual([]);
  });

  it.each<[string, CrashPoint]>([
    ['before it taints the node', at('before', taints)],
    ['after it tainted the node', at('after', taints)],
    ['after it wrote the reason', at('after', tellsReason)],
    ['before it creates the replacement', at('before', creates)],
    ['after it created the replacement', at('after', creates)],
    ['after it bought the replacement', at('after', launches)],
    ['before it deletes the old claim', at('before', deletes)],
    ['after it deleted the old claim', at('after', deletes)],
    ['before it deletes the old node', at('before', deletesNode)],
    ['while it drains', at('after', evicts)],
    ['before it terminates the instance', at('before', terminates)],
    ['after it terminated the instance', at('after', terminates)],
    ['before it lets the old claim go', at('before', releases)],
  ])(
    '%s',
    async (_, trap) => {
      operator.arm(trap);
      await edit();
      await died();
      await operator.start();
      await renewed();
      expect(await marks(scenario)).toEqual([]);
    },
    300_000,
  );

  it('while it takes a command back whose replacement is gone', async () => {
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
    await died();
    // the taint is gone, what the claim says is not
    expect(await marks(scenario)).toEqual([claim.metadata.name]);
    await operator.start();
    await renewed();
    expect(await marks(scenario)).toEqual([]);
  }, 300_000);

  it.each<[string, CrashPoint]>([
    ['when only the taint was set', at('after', taints)],
    ['when the replacement was there already', at('after', creates)],
  ])(
    'takes the marks back if there is no reason any more, %s',
    async (_, trap) => {
      const [old] = scenario.instances();
      const uids = async (): Promise<readonly string[]> =>
        (await scenario.running('web')).map(({ metadata }) => metadata.uid ?? '').sort();
      const pods = await uids();
      operator.arm(trap);
      await edit();
      await died();
      expect(await marks(scenario)).not.toEqual([]);
      // Meanwhile the user takes the edit back. The budget keeps the next operator from acting on what it has yet to
      // see, which it may; cleaning up is not bound to budgets.
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

      // From now on nothing but a needless replacement may go.
      await scenario.apply(pool(shape));
      await renewed();
      expect(scenario.instances().map(({ id }) => id)).toEqual([old?.id]);
      expect(await uids()).toEqual(pods);
      await scenario.apply(pool({ cpus: [4], labels: { tier: `t${tier}` } }));
    },
    300_000,
  );
});

describe('an operator that is killed while it replaces several nodes by one', () => {
  afterEach(async () => {
    expect(operator.hasty).toEqual([]);
    await end();
  });

  it.each<[string, CrashPoint]>([
    ['while it waits to check its decision again', at('after', considers)],
    ['after it tainted one of them', at('after', taints)],
    ['after it created the replacement', at('after', creates)],
    ['after it deleted one of the claims', at('after', deletes)],
  ])(
    '%s',
    async (_, trap) => {
      scenario = await startScenario({ ...BRISK, operator: false });
      operator = await crashableOperator(scenario);
      await scenario.apply(...scenario.example('ec2nodeclass.yaml'));
      await operator.start();
      const shape = { cpus: [2, 4, 8] };
      let before = 0;
      await outgrow(scenario, shape, { nodes: 2, small: 3 }, async () => {
        before = scenario.world.aws.spending.usdPerHour();
        await operator.kill();
        await scenario.apply(pool(shape));
        await operator.start(trap);
      });
      await died();
      await operator.start();
      // In the end the small pods are alone on one small node, by whatever way.
      await scenario.until(
        'one cheap node with all pods, and nothing else',
        async () =>
          scenario.instances().length === 1 &&
          scenario.world.aws.spending.usdPerHour() < before / 2 &&
          (await leaks(scenario)).length === 0 &&
          (await scenario.running('small')).length === 3,
        90_000,
      );
    },
    300_000,
  );
});
