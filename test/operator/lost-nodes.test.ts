/** A user removes a Node together with its finalizer, so no drain ends its instance. */
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { NODE } from '#api/objects';
import { present } from '../support/present.ts';
import { deployment, type Scenario, startScenario } from './harness.ts';
import { BRISK, pool } from './pools.ts';

let scenario: Scenario;
beforeEach(async () => {
  scenario = await startScenario(BRISK);
});
afterEach(() => scenario.stop());

it('is replaced within minutes, and its instance is terminated', async () => {
  await scenario.apply(
    ...scenario.example('ec2nodeclass.yaml'),
    pool({ cpus: [4], budgets: [{ nodes: '0' }] }),
    deployment('web', 2),
  );
  await scenario.until('running pods', async () => (await scenario.running('web')).length === 2, 60_000);
  const node = present((await scenario.nodes())[0]);
  const before = scenario.instances().map(({ id }) => id);
  await scenario.kube.patch(NODE, node.metadata, { metadata: { finalizers: null } });
  await scenario.kube.delete(NODE, node.metadata);

  await scenario.until(
    'an end of the instance',
    () => !scenario.instances().some(({ id }) => before.includes(id)),
    60_000,
  );
  await scenario.until('pods on another node', async () => (await scenario.running('web')).length === 2, 60_000);
  expect(scenario.instances()).toHaveLength(1);
  expect((await scenario.claims()).map(({ status }) => status?.nodeName)).not.toContain(node.metadata.name);
  const [event] = await scenario.events('NodeLost');
  expect(event?.message).toBe(
    `Deleting the NodeClaim: its Node ${node.metadata.name} was removed and did not register again within 2m0s`,
  );
}, 240_000);
