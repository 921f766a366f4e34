/** Effects of memory pressure on the Lease and on nodes. */
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { MemoryPressure } from '#process/testing';
import { deployment, type Scenario, startScenario } from './harness.ts';
import { apart, pool } from './pools.ts';

const LIMIT_BYTES = 100 * 2 ** 20;
/** Several passes of disruption on the scenario's clock. */
const PAUSED_MS = 30_000;
const SCALE = 4;

describe('an operator whose memory is short', () => {
  const pressure = new MemoryPressure();
  let scenario: Scenario;
  beforeEach(async () => {
    scenario = await startScenario({ leaderElection: true, timeScale: SCALE, pressure });
    await scenario.apply(
      ...scenario.example('ec2nodeclass.yaml'),
      pool({ cpus: [2] }),
      deployment('web', 2, apart('web')),
    );
    await running('web', 2);
  });
  afterEach(() => scenario.stop());

  const use = (share: number): void => pressure.heapUsed({ usedBytes: share * LIMIT_BYTES, limitBytes: LIMIT_BYTES });
  const running = (app: string, count: number): Promise<unknown> =>
    scenario.until(`${count} running pods of ${app}`, async () => (await scenario.running(app)).length === count);
  const nodes = async (): Promise<number> => (await scenario.nodes()).length;

  it('publishes each stage on its Lease, launches nodes, and pauses voluntary disruption until memory is free again', async () => {
    expect(await scenario.events('MemoryShort')).toEqual([]);
    use(0.76);
    const [first] = await scenario.until('an event of stage 1', async () => {
      const events = await scenario.events('MemoryShort');
      return events.length === 1 && events;
    });
    expect(first).toMatchObject({
      type: 'Warning',
      involvedObject: { kind: 'Lease', name: 'karpenter-leader-election' },
      message: expect.stringMatching(/^The memory of the operator is short.*longer batch windows.*limits\.memory/),
    });
    expect(first?.message).not.toContain('voluntary disruption');
    use(0.82);
    await scenario.until('an event of stage 2', async () =>
      (await scenario.events('MemoryShort')).some(({ message }) => message.includes('voluntary disruption pauses')),
    );

    await scenario.apply(deployment('more', 1, {}, { cpu: '1500m' }));
    await running('more', 1);
    expect(await nodes()).toBe(3);
    await scenario.scale('web', 1);
    await scenario.pass(PAUSED_MS, SCALE);
    expect(await nodes()).toBe(3);

    use(0.5);
    await scenario.until('2 nodes', async () => (await nodes()) === 2);
    expect(await scenario.events('MemoryShort')).toHaveLength(2);
  });
});
