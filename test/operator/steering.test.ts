/** Nodes that can become empty are marked, so that they become empty without evictions where possible. */
import { afterEach, describe, expect, it } from '@jest/globals';
import { DELETION_COST_ANNOTATION, DELETION_COST_SINCE_ANNOTATION, EMPTYING_TAINT, NODE, type Pod } from '#api/objects';
import type { NodeBlockers } from '#engine/drain';
import { deployment, type Scenario, startScenario } from './harness.ts';
import { BRISK, commands, leaks, outgrow, pool } from './pools.ts';

let scenario: Scenario;
afterEach(async () => {
  await scenario.stop();
});

async function markedNodes(): Promise<readonly string[]> {
  const { items } = await scenario.kube.list(NODE);
  return items
    .filter(({ spec }) => spec?.taints?.some(({ key }) => key === EMPTYING_TAINT.key))
    .map(({ metadata }) => metadata.name);
}

/** Starts two nodes of 8 vCPUs, of which one can become empty. Budgets allow no disruption. */
async function begin(): Promise<string> {
  scenario = await startScenario({ ...BRISK, env: { ...BRISK.env, STEERING: 'auto' } });
  await scenario.apply(...scenario.example('ec2nodeclass.yaml'));
  await outgrow(scenario, { cpus: [8], budgets: [{ nodes: '0' }] }, { nodes: 2, small: 3 });
  await scenario.until('a marked node', async () => (await markedNodes()).length === 1, 120_000);
  return (await markedNodes())[0] ?? '';
}

describe('steering', () => {
  it('keeps new pods from a node that can become empty, and moves its pods when the budgets allow it', async () => {
    const marked = await begin();
    await scenario.apply(deployment('next', 1));
    await scenario.until('the new pod', async () => (await scenario.running('next')).length === 1);
    const [next] = await scenario.running('next');
    expect(next?.spec.nodeName).not.toBe(marked);
    expect(commands(scenario)).toEqual([]);
    const blockers = (await scenario.debug('blockers')) as readonly NodeBlockers[];
    const { worth, usdPerHour = 0 } = blockers.find(({ node }) => node === marked) ?? {};
    const pods = (await scenario.running('small')).filter(({ spec }) => spec.nodeName === marked).length;
    expect(worth).toMatchObject({ pods, lostWorkUsd: 0 });
    // pods of the local world start within seconds, and an eighth of the node's CPU is more than two pods request
    expect(worth?.evictionsUsd).toBeGreaterThan(0);
    expect(worth?.evictionsUsd).toBeLessThan((pods * usdPerHour) / 16);
    expect(worth?.startUsd).toBeGreaterThan(0);
    expect(worth?.startUsd).toBeLessThan((pods * usdPerHour) / 16 / 60 / 2);

    await scenario.apply(pool({ cpus: [8] }));
    await scenario.until('one node', async () => {
      const pods = [...(await scenario.running('small')), ...(await scenario.running('next'))];
      return scenario.instances().length === 1 && pods.length === 4;
    });
    expect(commands(scenario)).toMatchObject([{ decision: 'delete', 'replacement-node-count': 0 }]);
    await scenario.until('a tidy world', async () => (await leaks(scenario)).length === 0);
  }, 300_000);

  it('removes the marks when the operator stops', async () => {
    await begin();
    await scenario.restartOperator(async () => expect(await markedNodes()).toEqual([]));
  }, 300_000);
});

/** Starts three nodes of 8 vCPUs with two small pods each. Two of them have a large pod, so that the third can become empty. */
async function beginWithCosts(): Promise<void> {
  scenario = await startScenario({ ...BRISK, env: { ...BRISK.env, STEERING: 'auto', POD_DELETION_COST: 'true' } });
  await scenario.apply(...scenario.example('ec2nodeclass.yaml'));
  await outgrow(scenario, { cpus: [8], budgets: [{ nodes: '0' }] }, { nodes: 3, small: 6 });
  await scenario.apply(deployment('keep', 2, {}, { cpu: '5' }));
  await scenario.until('the large pods', async () => (await scenario.running('keep')).length === 2);
}

const hasCost = ({ metadata: { annotations = {} } }: Pod): boolean =>
  DELETION_COST_ANNOTATION in annotations || DELETION_COST_SINCE_ANNOTATION in annotations;
const namesOf = (pods: readonly Pod[]): readonly string[] => pods.map(({ metadata }) => metadata.name).sort();
const podsWithCost = async (): Promise<readonly string[]> => namesOf((await scenario.pods()).filter(hasCost));

/** Waits until the small pods on the only marked node have a lower deletion cost, and returns their names. */
const smallPodsWithCost = async (): Promise<readonly string[]> =>
  scenario.until(
    'lower deletion costs',
    async () => {
      const [marked, ...others] = await markedNodes();
      const small = (await scenario.running('small')).filter(({ spec }) => spec.nodeName === marked);
      const isWhole = others.length === 0 && small.length > 0 && small.every(hasCost);
      return isWhole && (await podsWithCost()).length === small.length ? namesOf(small) : undefined;
    },
    120_000,
  );

describe('a deletion cost of steering', () => {
  it('lets scale-downs delete pods of a marked node, and ends for its last pod when the node is released', async () => {
    await beginWithCosts();
    const withCost = await smallPodsWithCost();
    expect(withCost.length).toBeGreaterThan(1);
    const before = namesOf(await scenario.running('small'));
    await scenario.scale('small', before.length - withCost.length + 1);
    await scenario.until('the scale-down', async () => (await scenario.pods('small')).length < before.length);
    const after = namesOf(await scenario.pods('small'));
    const [last = '', ...others] = withCost.filter((name) => after.includes(name));
    expect([last, ...before.filter((name) => !after.includes(name))].sort()).toEqual(withCost);
    expect(others).toEqual([]);

    expect(await podsWithCost()).toEqual([last]);
    await scenario.apply(deployment('more', 1, {}, { cpu: '6' }));
    await scenario.until('the release', async () => (await markedNodes()).length === 0, 120_000);
    await scenario.until('no costs', async () => (await podsWithCost()).length === 0, 120_000);
    expect(namesOf(await scenario.pods('small'))).toContain(last);
    expect(commands(scenario)).toEqual([]);
  }, 300_000);

  it('ends when the operator stops', async () => {
    await beginWithCosts();
    await smallPodsWithCost();
    await scenario.restartOperator(async () => expect(await podsWithCost()).toEqual([]));
  }, 300_000);
});
