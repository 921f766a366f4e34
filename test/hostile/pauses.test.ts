/** Pauses of the operator's process, as by a debugger, a snapshot of its machine, or a node without CPU. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { NODE_CLAIM, POD } from '#api/objects';
import { healthyPod } from './healthy.ts';
import { type HostileWorld, startHostileWorld } from './hostile-world.ts';

const SECOND = 1_000;
/** A leader renews within 10 seconds. */
const SHORT_MS = 3 * SECOND;
/** A lease expires 15 seconds after its last renewal. */
const LONG_MS = 16 * SECOND;
const PODS = Array.from({ length: 10 }, (_, at) => healthyPod(1_000 + at));

let hostile: HostileWorld;

beforeAll(async () => {
  hostile = await startHostileWorld();
});
afterAll(() => hostile.stop());

/** Pauses the operator for this duration on the world's clock. `meanwhile` runs during the pause. */
async function pause(ms: number, meanwhile: () => Promise<void> = async () => undefined): Promise<void> {
  process.kill(hostile.operator.pid, 'SIGSTOP');
  await hostile.clock.sleep(ms);
  await meanwhile();
  process.kill(hostile.operator.pid, 'SIGCONT');
}

const claims = async (): Promise<readonly string[]> =>
  (await hostile.kube.list(NODE_CLAIM)).items.map(({ metadata }) => metadata.name).sort();

const isCreating = (): boolean => hostile.since().some(({ message }) => message === 'created nodeclaim');

describe('an operator whose process is paused', () => {
  it('continues to lead after a pause within the renew deadline', async () => {
    await pause(SHORT_MS);
    await hostile.expectHealthy();
  });

  it('creates no NodeClaim after a pause beyond the lease, and launches one node per pod after its restart', async () => {
    hostile.mark();
    const before = new Set(await claims());
    for (const pod of PODS) await hostile.kube.create(POD, pod);
    await hostile.until('first NodeClaim', isCreating);
    let paused: readonly string[] = [];
    await pause(LONG_MS, async () => {
      paused = await claims();
    });
    await hostile.untilEnded(60 * SECOND);
    expect(hostile.operator.end).toBe('ended with code 3');
    expect(await claims()).toEqual(paused);

    await hostile.startAgain();
    const isBound = async ({ metadata: { name } }: (typeof PODS)[number]): Promise<boolean> =>
      (await hostile.kube.find(POD, { name, namespace: 'default' }))?.spec.nodeName !== undefined;
    await hostile.until(
      'nodes for all pods',
      async () => (await Promise.all(PODS.map(isBound))).every(Boolean),
      60 * SECOND,
    );
    expect((await claims()).filter((name) => !before.has(name)).length).toBeLessThanOrEqual(PODS.length);
    await hostile.expectHealthy();
  });
});
