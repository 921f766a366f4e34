/** Scheduled events of EC2, over HTTP: the nodes are replaced within budgets, and stay if the events are cancelled. */
import { afterEach, describe, expect, it } from '@jest/globals';
import { isTrue } from '#api/objects';
import { deployment, type Scenario, startScenario } from './harness.ts';
import { apart, BRISK, leaks, pool } from './pools.ts';

const MINUTE = 60_000;
const NODES = 3;
const NOT_BEFORE = 'karpenter-ts.sh/maintenance-not-before';

let scenario: Scenario;
afterEach(async () => {
  await scenario.stop();
});

async function begin(nodes: string): Promise<readonly string[]> {
  scenario = await startScenario(BRISK);
  await scenario.apply(...scenario.example('ec2nodeclass.yaml'), pool({ cpus: [2], budgets: [{ nodes }] }));
  await scenario.apply(deployment('web', NODES, apart('web')));
  await scenario.until('running pods', async () => (await scenario.running('web')).length === NODES);
  return scenario.instances().map(({ id }) => id);
}
const announced = async (): Promise<number> =>
  (await scenario.nodes()).filter(({ metadata }) => metadata.annotations?.[NOT_BEFORE] !== undefined).length;

/** Returns the number of nodes that count against a budget because they are disrupted. */
const leavingNodes = async (): Promise<number> =>
  (await scenario.claims()).filter(
    (claim) =>
      (isTrue(claim, 'DisruptionReason') || claim.metadata.deletionTimestamp !== undefined) &&
      !isTrue(claim, 'InstanceTerminating'),
  ).length;

describe('an event of EC2 that is scheduled for all instances', () => {
  it('replaces one node at a time with a budget of one, also after a restart of the operator', async () => {
    const old = await begin('1');
    for (const id of old) scenario.world.aws.faults.scheduleChange(id);
    let most = 0;
    const isReplaced = async (): Promise<boolean> => {
      most = Math.max(most, await leavingNodes());
      return scenario.instances().every(({ id }) => !old.includes(id)) && (await leaks(scenario)).length === 0;
    };
    await scenario.until('a replaced node', async () => {
      await isReplaced();
      return scenario.instances().some(({ id }) => !old.includes(id));
    });
    await scenario.restartOperator();
    await scenario.until('new nodes only', isReplaced, 90_000);
    expect(most).toBe(1);
    expect(await announced()).toBe(0);
    await scenario.until('running pods', async () => (await scenario.running('web')).length === NODES);
    expect(await scenario.events('TerminatingOnInterruption')).toEqual([]);
    expect((await scenario.events('MaintenanceScheduled')).length).toBeGreaterThanOrEqual(NODES);
  }, 180_000);

  it('replaces no node if it is cancelled before a budget allows it', async () => {
    const old = await begin('0');
    for (const id of old) scenario.world.aws.faults.scheduleChange(id);
    await scenario.until('the annotations', async () => (await announced()) === NODES);
    await scenario.until('drifted NodeClaims', async () =>
      (await scenario.claims()).every(({ status }) =>
        status?.conditions?.some(({ type, reason }) => type === 'Drifted' && reason === 'MaintenancePlanned'),
      ),
    );
    for (const id of old) scenario.world.aws.faults.recover(id);
    await scenario.pass(8 * MINUTE);
    await scenario.until('no annotations', async () => (await announced()) === 0);
    await scenario.apply(pool({ cpus: [2], budgets: [{ nodes: '100%' }] }));
    await scenario.pass(3 * MINUTE);
    expect(scenario.instances().map(({ id }) => id)).toEqual(expect.arrayContaining([...old]));
  }, 180_000);
});
