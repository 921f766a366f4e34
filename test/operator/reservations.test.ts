/** A static NodePool in a capacity block: nodes from its start on, which are empty before its end. */
import { afterEach, describe, expect, it } from '@jest/globals';
import type { KubeObject, NodePool } from '#api/objects';
import { deployment, type Scenario, startScenario } from './harness.ts';
import { BRISK, leaks, pool } from './pools.ts';

const MINUTE = 60_000;
const HURRY = 180;
const RESERVATION_TAGS = { team: 'training' };

let scenario: Scenario;
afterEach(() => scenario.stop());

const selecting = (objects: readonly KubeObject[]): readonly KubeObject[] =>
  objects.map((object) => {
    const { spec } = object as { readonly spec?: object };
    const capacityReservationSelectorTerms = [{ tags: RESERVATION_TAGS }];
    return { ...object, spec: { ...spec, capacityReservationSelectorTerms } } as KubeObject;
  });

const launches = (): readonly number[] =>
  scenario.world.aws.calls
    .recorded('CreateFleet')
    .flatMap(({ atMs, input, errorCode }) => (errorCode === undefined && input.DryRun !== true ? [atMs] : []));

describe('a static NodePool that allows only reserved capacity', () => {
  it('has nodes from the start of a capacity block until they have drained before its end', async () => {
    scenario = await startScenario(BRISK);
    const { aws, clock } = scenario.world;
    const startMs = clock.now() + 15 * MINUTE;
    const endMs = startMs + 80 * MINUTE;
    const id = aws.seed.capacityReservation({
      instanceType: 'm5.large',
      zone: `${aws.region}a`,
      total: 2,
      matchCriteria: 'targeted',
      reservationType: 'capacity-block',
      startDateMs: startMs,
      endDateMs: endMs,
      tags: RESERVATION_TAGS,
    });
    const fixed = pool({ cpus: [2], capacityTypes: ['reserved'], terminationGracePeriod: '20m' }) as NodePool;
    await scenario.apply(
      ...selecting(scenario.example('ec2nodeclass.yaml')),
      { ...fixed, spec: { ...fixed.spec, replicas: 3 } } as KubeObject,
      deployment('train', 2, {}, { cpu: '1200m' }),
    );
    await scenario.until('the event with the start', async () =>
      (await scenario.events('CapacityReservationScheduled')).some(({ message }) => message.includes(id)),
    );
    await scenario.pass(startMs - clock.now() - 2 * MINUTE, HURRY);
    expect(await scenario.claims()).toEqual([]);
    expect(launches()).toEqual([]);

    await scenario.until('running pods', async () => (await scenario.running('train')).length === 2, 300_000);
    const [first = 0] = launches();
    expect(first).toBeGreaterThanOrEqual(startMs);
    expect(first).toBeLessThanOrEqual(startMs + MINUTE);
    await scenario.pass(MINUTE);
    // the reservation has two instances for the three replicas
    expect(scenario.instances()).toHaveLength(2);
    const before = launches();

    const leaveMs = endMs - 50 * MINUTE;
    await scenario.pass(leaveMs - clock.now() - MINUTE, HURRY);
    expect(await scenario.running('train')).toHaveLength(2);
    await scenario.until(
      'no nodes and nothing left behind',
      async () => scenario.instances().length === 0 && (await leaks(scenario)).length === 0,
      600_000,
    );
    // the operator emptied and terminated them before EC2 would have
    expect(clock.now()).toBeLessThan(endMs - 30 * MINUTE);
    await scenario.pass(endMs - clock.now() + 5 * MINUTE, HURRY);
    expect(await scenario.claims()).toEqual([]);
    expect(launches()).toEqual(before);
    expect(scenario.log.filter(({ level }) => level === 'ERROR')).toEqual([]);
  }, 300_000);
});
