/** Conditions of nodes that the operator drains, over HTTP. */
import { afterEach, expect, it } from '@jest/globals';
import { getCondition, NODE, type Node, POD_DISRUPTION_BUDGET } from '#api/objects';
import { connectReader } from '#kube/connection';
import { deployment, type Scenario, startScenario } from './harness.ts';
import { BRISK, budgetFor, pool } from './pools.ts';

let scenario: Scenario;
afterEach(async () => {
  await scenario.stop();
});

/** Collects the changes of the conditions of a node's drain. */
async function watchConditions(name: string): Promise<{ readonly states: readonly string[]; stop(): void }> {
  const stop = new AbortController();
  const { clock, kube } = scenario.world;
  const client = connectReader({ clock, userAgent: 'test', kubeconfig: kube.kubeconfig() });
  const states: string[] = [];
  const opened = Promise.withResolvers<void>();
  const follow = async (): Promise<void> => {
    const request = { resourceVersion: '0', signal: stop.signal, onOpen: () => opened.resolve() };
    for await (const event of client.watch(NODE, request)) {
      if (event.type === 'BOOKMARK' || event.type === 'DELETED' || event.object.metadata.name !== name) continue;
      const state = stateOf(event.object);
      if (state !== states.at(-1)) states.push(state);
    }
  };
  follow().catch(opened.reject);
  await opened.promise;
  return {
    states,
    stop: () => {
      stop.abort();
      client.close();
    },
  };
}

const stateOf = (node: Node): string =>
  ['DrainInProgress', 'Drained']
    .map((type) => getCondition(node, type))
    .map((condition) => `${condition?.status} ${condition?.lastTransitionTime !== undefined}`)
    .join(', ');

it('a drain shows its start and its end once each, also over a restart of the operator', async () => {
  scenario = await startScenario({ ...BRISK, env: { ...BRISK.env, DRAIN_CONDITIONS: 'true' } });
  await scenario.apply(
    ...scenario.example('ec2nodeclass.yaml'),
    pool({ cpus: [2] }),
    deployment('web', 1),
    budgetFor('web', 0),
  );
  await scenario.until('a running pod', async () => (await scenario.running('web')).length === 1);
  const [node] = await scenario.nodes();
  const name = node?.metadata.name ?? '';
  const watched = await watchConditions(name);
  await scenario.kube.delete(NODE, { name });
  const drain = async () => {
    const found = await scenario.kube.find(NODE, { name });
    return found && getCondition(found, 'DrainInProgress');
  };
  const first = await scenario.until('the condition', drain);
  expect(first).toMatchObject({ status: 'True', reason: 'NodeTermination' });
  await scenario.restartOperator();
  await scenario.pass(60_000);
  expect(await drain()).toEqual(first);
  await scenario.kube.delete(POD_DISRUPTION_BUDGET, { namespace: 'default', name: 'web' });
  await scenario.until('another node only', async () => {
    const nodes = await scenario.nodes();
    return nodes.length === 1 && nodes[0]?.metadata.name !== name;
  });
  await scenario.until('a running pod', async () => (await scenario.running('web')).length === 1);
  watched.stop();
  expect(watched.states).toEqual([
    'undefined false, undefined false',
    'True true, undefined false',
    'False true, True true',
  ]);
}, 120_000);
