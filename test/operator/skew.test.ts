/** Clock skew between the operator's machine and the API server. */
import { afterEach, describe, expect, it } from '@jest/globals';
import { deployment, type Scenario, startScenario } from './harness.ts';
import { apart, BRISK, leaks, type PoolShape, pool } from './pools.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

let scenario: Scenario;
afterEach(() => scenario.stop());

async function begin(skewMs: number, shape: PoolShape): Promise<void> {
  scenario = await startScenario({ ...BRISK, skewMs });
  await scenario.apply(...scenario.example('ec2nodeclass.yaml'), pool({ cpus: [4], ...shape }));
}

const nowMs = (): number => scenario.world.clock.now();
const count = (message: string): number => scenario.log.filter((line) => line.message === message).length;
const runApart = async (pods: number): Promise<void> => {
  await scenario.apply(deployment('web', pods, apart('web')));
  await scenario.until('running pods', async () => (await scenario.running('web')).length === pods);
};

describe.each([
  ['an hour ahead of', HOUR],
  ['an hour behind', -HOUR],
])('an operator whose clock is %s the API server', (_, skewMs) => {
  it('reports the difference, launches one node for each of four pods, and terminates none of them', async () => {
    await begin(skewMs, { consolidateAfter: '1m', expireAfter: '50m' });
    await runApart(4);
    // longer than the registration timeout of a NodeClaim
    await scenario.pass(20 * MINUTE);
    expect(count('created nodeclaim')).toBe(4);
    expect(scenario.world.aws.instances.list()).toHaveLength(4);
    expect(await leaks(scenario)).toEqual([]);
    expect(await scenario.running('web')).toHaveLength(4);

    const skew = /^karpenter_api_server_clock_skew_seconds (\S+)$/m.exec(await scenario.metrics())?.[1];
    expect(Math.abs(Number(skew) * 1_000 - skewMs)).toBeLessThan(5_000);
    const lines = scenario.log.filter(({ message }) => message.includes('clock of the machine differs'));
    expect(lines).toMatchObject([{ level: 'WARN', remedy: expect.stringContaining('NTP') }]);
  });

  it('removes an empty node after consolidateAfter', async () => {
    await begin(skewMs, { consolidateAfter: '4m' });
    await runApart(1);
    // measured from the binding of the pod, because a pod without a grace period is gone immediately
    const emptyMs = nowMs();
    await scenario.scale('web', 0);
    await scenario.until('end of the node', () => scenario.instances().length === 0);
    expect(nowMs() - emptyMs).toBeGreaterThan(3.5 * MINUTE);
    expect(nowMs() - emptyMs).toBeLessThan(12 * MINUTE);
  });

  it('expires a node at the end of its lifetime', async () => {
    await begin(skewMs, { expireAfter: '6m', budgets: [{ nodes: '0' }] });
    await runApart(1);
    const [launched] = scenario.instances();
    await scenario.until('its replacement', () => scenario.instances().some(({ id }) => id !== launched?.id));
    expect(nowMs() - (launched?.launchedAt ?? 0)).toBeGreaterThan(5.5 * MINUTE);
    expect(nowMs() - (launched?.launchedAt ?? 0)).toBeLessThan(14 * MINUTE);
  });

  it('deletes a NodeClaim whose node does not register within 15 minutes', async () => {
    await begin(skewMs, {});
    scenario.world.aws.faults.add({ kind: 'never-joins' });
    await scenario.apply(deployment('web', 1));
    const [launched] = await scenario.until('instance', () => scenario.instances().length > 0 && scenario.instances());
    const startedMs = nowMs();
    scenario.speed(60);
    await scenario.until('its end', () => scenario.instances().every(({ id }) => id !== launched?.id), 60_000);
    expect(nowMs() - startedMs).toBeGreaterThan(14 * MINUTE);
    expect(nowMs() - startedMs).toBeLessThan(25 * MINUTE);
  });
});
