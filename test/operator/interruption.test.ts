/** The interruption queue with real SQS messages. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { present } from '../support/present.ts';
import { deployment, type Scenario, startScenario } from './harness.ts';

describe('the interruption queue', () => {
  let scenario: Scenario;
  beforeAll(async () => {
    scenario = await startScenario();
    await scenario.apply(
      ...scenario.example('ec2nodeclass.yaml'),
      ...scenario.example('nodepool.yaml'),
      deployment('web', 2),
    );
    await scenario.until('running pods', async () => (await scenario.running('web')).length === 2);
  });
  afterAll(async () => {
    await scenario.stop();
  });

  const event = (detailType: string, detail: unknown, source = 'aws.ec2'): unknown => ({
    version: '0',
    id: '1',
    'detail-type': detailType,
    source,
    account: scenario.world.aws.accountId,
    time: new Date(scenario.world.clock.now()).toISOString(),
    region: scenario.world.aws.region,
    resources: [],
    detail,
  });

  it.each([
    ['text that is no JSON', 'hello'],
    ['a JSON array', '[1,2]'],
    ['an empty object', '{}'],
  ])('deletes %s and keeps working', async (_, body) => {
    const before = (await scenario.claims()).length;
    scenario.world.aws.queue.send(body);
    await scenario.until('the message to be removed', () => scenario.world.aws.queue.size() === 0);
    expect((await scenario.claims()).length).toBe(before);
  });

  it('ignores a known event without details, and unknown events', async () => {
    scenario.world.aws.queue.send(event('EC2 Spot Instance Interruption Warning', 'nonsense'));
    scenario.world.aws.queue.send(event('Something New', { a: 1 }, 'aws.new'));
    scenario.world.aws.queue.send(
      event('EC2 Spot Instance Interruption Warning', {
        'instance-id': 'i-0123456789abcdef0',
        'instance-action': 'terminate',
      }),
    );
    await scenario.until('the messages to be removed', () => scenario.world.aws.queue.size() === 0);
    expect((await scenario.claims()).every((claim) => !claim.metadata.deletionTimestamp)).toBe(true);
  });

  it('publishes only an event for a rebalance recommendation', async () => {
    const [instance] = scenario.instances();
    scenario.world.aws.faults.recommendRebalance(present(instance?.id));
    await scenario.until('the event', async () => (await scenario.events('SpotRebalanceRecommendation')).length > 0);
    expect((await scenario.claims()).every((claim) => !claim.metadata.deletionTimestamp)).toBe(true);
  });

  it('replaces a node whose instance has scheduled maintenance', async () => {
    const [instance] = scenario.instances();
    scenario.world.aws.faults.scheduleChange(present(instance?.id));
    await scenario.until('the instance to go', () => scenario.instances().every(({ id }) => id !== instance?.id));
    await scenario.until('running pods', async () => (await scenario.running('web')).length === 2);
    expect((await scenario.events('MaintenanceScheduled')).length).toBeGreaterThan(0);
    expect(await scenario.events('InstanceUnhealthy')).toEqual([]);
  });

  it('replaces a node whose instance was terminated outside of the cluster', async () => {
    const [instance] = scenario.instances();
    scenario.world.aws.faults.terminate(present(instance?.id));
    await scenario.until('the claim to go', async () =>
      (await scenario.claims()).every((claim) => !claim.status?.providerID?.endsWith(instance?.id ?? '-')),
    );
    await scenario.until('running pods', async () => (await scenario.running('web')).length === 2);
  });
});
