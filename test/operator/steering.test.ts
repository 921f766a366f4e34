/** Nodes that can become empty are marked, so that they become empty without evictions where possible. */
import { afterEach, describe, expect, it } from '@jest/globals';
import { NODE } from '../../src/api/kinds.ts';
import { EMPTYING_TAINT } from '../../src/api/labels.ts';
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
