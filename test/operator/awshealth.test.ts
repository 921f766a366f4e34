/** EC2 health signals for running instances: failed status checks and interrupted capacity reservations. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { CAPACITY_RESERVATION_ID_LABEL, CAPACITY_TYPE_LABEL, type KubeObject } from '#api/objects';
import { deployment, type Scenario, startScenario } from './harness.ts';
import { BRISK, leaks, pool } from './pools.ts';

const PATIENCE_MS = 60_000;
const MINUTE = 60_000;

let scenario: Scenario;
let reservation: string;
beforeAll(async () => {
  scenario = await startScenario({ ...BRISK, timeScale: 20 });
  const { aws } = scenario.world;
  reservation = aws.seed.capacityReservation({ instanceType: 'm5.2xlarge', zone: `${aws.region}a`, total: 1 });
  const reserving = scenario.example('ec2nodeclass.yaml').map((object): KubeObject => {
    const { spec } = object as { readonly spec?: object };
    return { ...object, spec: { ...spec, capacityReservationSelectorTerms: [{ id: reservation }] } } as KubeObject;
  });
  const capacityTypes = ['reserved', 'on-demand'];
  await scenario.apply(...reserving, pool({ capacityTypes, consolidationPolicy: 'WhenEmpty' }), deployment('web', 1));
  await scenario.until('a running pod', isRunning, PATIENCE_MS);
}, 180_000);
afterAll(() => scenario.stop());

const isRunning = async (): Promise<boolean> => (await scenario.running('web')).length === 1;
const onlyInstance = (): string => {
  const [only, ...others] = scenario.instances();
  if (only === undefined || others.length > 0) throw new Error('there should be one instance');
  return only.id;
};
const replaced = (id: string) => async (): Promise<boolean> =>
  scenario.instances().length === 1 && onlyInstance() !== id && (await isRunning());
const labels = async () => (await scenario.nodes()).map(({ metadata }) => metadata.labels ?? {});

describe('an instance', () => {
  it('is replaced if its capacity reservation is interrupted, and the reservation is not used again', async () => {
    expect(await labels()).toMatchObject([
      { [CAPACITY_TYPE_LABEL]: 'reserved', [CAPACITY_RESERVATION_ID_LABEL]: reservation },
    ]);
    const { aws, clock } = scenario.world;
    const id = onlyInstance();
    aws.queue.send({
      version: '0',
      id: 'message',
      'detail-type': 'EC2 Capacity Reservation Instance Interruption Warning',
      source: 'aws.ec2',
      account: aws.accountId,
      time: new Date(clock.now()).toISOString(),
      region: aws.region,
      resources: [],
      detail: { 'instance-id': id, 'instance-action': 'terminate' },
    });
    await scenario.until('another instance', replaced(id), PATIENCE_MS);
    expect(await scenario.events('CapacityReservationInstanceInterrupted')).not.toEqual([]);
    expect(await labels()).toMatchObject([{ [CAPACITY_TYPE_LABEL]: 'on-demand' }]);
    expect(await scenario.metrics()).toContain(
      'karpenter_interruption_received_messages_total{message_type="capacity_reservation_interrupted"} 1',
    );
    await scenario.until('nothing left behind', async () => (await leaks(scenario)).length === 0, PATIENCE_MS);
  }, 300_000);

  it.each(['instance', 'system'] as const)('is replaced if its %s check fails for two minutes', async (check) => {
    const id = onlyInstance();
    scenario.world.aws.faults.impair(id, check);
    await scenario.pass(MINUTE);
    expect(scenario.instances().map((instance) => instance.id)).toContain(id);
    await scenario.until('another instance', replaced(id), PATIENCE_MS);
    expect(await scenario.events('InstanceUnhealthy')).not.toEqual([]);
    const category = check === 'instance' ? 'InstanceStatus' : 'SystemStatus';
    expect(await scenario.metrics()).toContain(
      `karpenter_interruption_instance_status_unhealthy_total{category="${category}"} 1`,
    );
    await scenario.until('nothing left behind', async () => (await leaks(scenario)).length === 0, PATIENCE_MS);
  }, 300_000);
});
