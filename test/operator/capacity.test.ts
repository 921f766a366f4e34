/** Launches for which EC2 has no capacity. */
import type { CreateFleetCommandInput } from '@aws-sdk/client-ec2';
import { afterEach, describe, expect, it } from '@jest/globals';
import { INSTANCE_TYPE_LABEL } from '#api/objects';
import type { RecordedCall } from '#local/testing';
import { deployment, type Scenario, startScenario } from './harness.ts';
import { apart } from './pools.ts';

let scenario: Scenario;
const begin = async (): Promise<Scenario> => {
  scenario = await startScenario();
  await scenario.apply(...scenario.example('ec2nodeclass.yaml'), ...scenario.example('nodepool.yaml'));
  return scenario;
};
afterEach(async () => {
  await scenario.stop();
});

const MINUTE = 60_000;
/** Returns the capacity pools that a CreateFleet call allowed. */
const poolsOf = ({ input }: RecordedCall): readonly string[] =>
  (input as Partial<CreateFleetCommandInput>).LaunchTemplateConfigs?.flatMap(({ Overrides = [] }) =>
    Overrides.map(({ InstanceType, AvailabilityZone }) => `${InstanceType} in ${AvailabilityZone}`),
  ) ?? [];
const typesOf = async (): Promise<(string | undefined)[]> =>
  (await scenario.claims()).map((claim) => claim.metadata.labels?.[INSTANCE_TYPE_LABEL]);

describe('a shortage', () => {
  it('leads to the next cheapest offering if the cheapest is missing, and is cached for three minutes', async () => {
    const { world } = await begin();
    await scenario.apply(deployment('probe', 1));
    await scenario.until('a running pod', async () => (await scenario.running('probe')).length === 1);
    const [first] = scenario.instances();
    if (first === undefined) throw new Error('nothing was bought');
    await scenario.scale('probe', 0);
    await scenario.until('no instance', () => scenario.instances().length === 0);

    // Every capacity pool of the cheapest type is exhausted.
    world.aws.faults.add({ kind: 'capacity', instanceType: first.type });
    await scenario.scale('probe', 1);
    await scenario.until('a running pod', async () => (await scenario.running('probe')).length === 1);
    expect(await typesOf()).not.toContain(first.type);

    // Capacity is back, but the shortage is still cached: the next node for the same pods must avoid it, too.
    world.aws.faults.clear();
    const fleets = world.aws.calls.recorded('CreateFleet').length;
    await scenario.apply(deployment('second', 1, apart('probe')));
    await scenario.until('a second running pod', async () => (await scenario.running('second')).length === 1);
    const asked = world.aws.calls.recorded('CreateFleet').slice(fleets).map(poolsOf);
    expect(asked).toHaveLength(1);
    expect(asked[0]?.length).toBeGreaterThan(10);
    expect(asked[0]).not.toContain(`${first.type} in ${first.zone}`);

    await scenario.pass(3.5 * MINUTE);
    await scenario.scale('probe', 0);
    await scenario.scale('second', 0);
    await scenario.until('no instance', () => scenario.instances().length === 0);
    await scenario.scale('probe', 1);
    await scenario.until('a running pod', async () => (await scenario.running('probe')).length === 1);
    expect(await typesOf()).toContain(first.type);
  }, 300_000);

  it('deletes the claim with the reason if all offerings are missing, and launches succeed when capacity returns', async () => {
    const { world } = await begin();
    const fault = world.aws.faults.add({ kind: 'capacity' });
    await scenario.apply(deployment('web', 2));

    const [event] = await scenario.until('an event about the shortage', async () => {
      const events = await scenario.events('InsufficientCapacityError');
      return events.length > 0 && events;
    });
    expect(event?.type).toBe('Warning');
    expect(event?.message).toMatch(/insufficient capacity/i);
    expect(scenario.log.some((line) => line.message === 'failed launching nodeclaim')).toBe(true);
    await scenario.until('the claim to be removed', async () => (await scenario.claims()).length === 0);
    expect(scenario.instances()).toEqual([]);

    world.aws.faults.clear(fault);
    await scenario.pass(3 * MINUTE);
    await scenario.until('two running pods', async () => (await scenario.running('web')).length === 2, 60_000);
  }, 300_000);
});

describe('throttling', () => {
  it('delays a launch and loses no pods', async () => {
    const { world } = await begin();
    world.aws.faults.add({ kind: 'throttle', action: 'CreateFleet', times: 3 });
    world.aws.faults.add({ kind: 'throttle', action: 'DescribeInstances', times: 2 });
    await scenario.apply(deployment('web', 3));
    await scenario.until('three running pods', async () => (await scenario.running('web')).length === 3);
    expect(scenario.instances()).toHaveLength((await scenario.claims()).length);
  }, 300_000);
});

describe('a missing service-linked role for spot', () => {
  it('is reported in the log', async () => {
    const { world } = await begin();
    world.aws.faults.add({ kind: 'no-spot-role' });
    await scenario.apply(deployment('web', 1));
    const text = await scenario.until('the error', () =>
      scenario.log.map((line) => JSON.stringify(line)).find((line) => line.includes('ServiceLinkedRole')),
    );
    expect(text).toContain('AuthFailure.ServiceLinkedRoleCreationNotPermitted');
    expect(text).toContain(
      'The provided credentials do not have permission to create the service-linked role for EC2 Spot Instances',
    );
  }, 300_000);
});

describe('an instance that never joins', () => {
  it('is removed after the registration timeout, and its pods get another node', async () => {
    const { world } = await begin();
    world.aws.faults.add({ kind: 'never-joins', times: 1 });
    await scenario.apply(deployment('web', 1));
    const [lost] = await scenario.until('an instance', () => scenario.instances().length > 0 && scenario.instances());
    // The liveness controller deletes a NodeClaim that is not registered after 15 minutes.
    await scenario.pass(15.5 * MINUTE);
    await scenario.until('a running pod', async () => (await scenario.running('web')).length === 1);
    expect(scenario.instances().map((instance) => instance.id)).not.toContain(lost?.id);
    expect(scenario.instances()).toHaveLength(1);
  }, 300_000);
});
