/**
 * Unexpected responses of the API server. The operator must report them, and recover when the responses are correct
 * again.
 */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type KubeObject, NODE, NODE_CLAIM, POD } from '#api/objects';
import { DISTURBANCES, type Disturbance } from './api-disturbances.ts';
import { type BehindProxy, startBehindProxy } from './behind-proxy.ts';
import { smallPod } from './healthy.ts';
import { type HostileWorld, NODE_MS } from './hostile-world.ts';
import { expectBounded } from './memory.ts';
import { removeOne } from './objects-away.ts';
import type { RewritingProxy } from './rewriting-proxy.ts';

/** Duration on the world's clock of disturbances that are not reported. */
const SILENT_MS = 10_000;
/** Longer than the five minutes after which the operator reads the version of the API server again. */
const PATIENCE_MS = 330_000;
/** Longer than the operator's maximum pause between two attempts of a list. */
const MENDED_MS = NODE_MS + 5_500;
/** Longest delay until a watch is tried again, and the time for which it must be open. */
const REOPENED_MS = 8_000;

let behind: BehindProxy | undefined;
let proxy: RewritingProxy;
let hostile: HostileWorld;
/** Name of the Node that must survive all disturbances. */
let resident: string | undefined;

const podWithNode = (name: string): KubeObject =>
  smallPod(name, { 'karpenter.sh/nodepool': 'healthy', 'example.com/node': name });

const nodeNameOf = async (name: string): Promise<string | undefined> =>
  (await hostile.kube.find(POD, { name, namespace: 'default' }))?.spec.nodeName;

beforeAll(async () => {
  behind = await startBehindProxy();
  ({ hostile, proxy } = behind);
  await hostile.kube.create(POD, podWithNode('resident'));
  resident = await hostile.until('node of the resident pod', () => nodeNameOf('resident'));
});
afterAll(() => behind?.stop());

const running = (): readonly string[] =>
  hostile.world.aws.instances
    .list()
    .filter(({ state }) => state === 'running' || state === 'pending')
    .map(({ id }) => id)
    .sort();

const everBought = (): number => hostile.world.aws.instances.list().length;

/** Returns the instances that belong to a NodeClaim. */
const claimed = async (): Promise<readonly string[]> =>
  (await hostile.kube.list(NODE_CLAIM)).items.flatMap(({ status }) => status?.providerID?.split('/').at(-1) ?? []);

async function untilTold({ told, isAboutLease }: Disturbance): Promise<void> {
  await hostile.until('request that is disturbed', () => proxy.spoiled > 0, PATIENCE_MS);
  const endsMs = hostile.clock.now() + SILENT_MS;
  if (isAboutLease) await hostile.untilEnded(PATIENCE_MS);
  else if (told === undefined) await hostile.until('time', () => hostile.clock.now() > endsMs);
  const isTold = (): boolean => told === undefined || hostile.since().some((line) => told.test(JSON.stringify(line)));
  if (isAboutLease) expect(isTold()).toBe(true);
  else await hostile.until('word of it', isTold, PATIENCE_MS);
}

async function disturb(disturbance: Disturbance, number: number): Promise<void> {
  const pod = podWithNode(`disturbed-${number}`);
  const before = everBought();
  hostile.mark();
  proxy.spoil(disturbance.spoil);
  proxy.cut();
  await hostile.kube.create(POD, pod);
  await untilTold(disturbance).finally(() => proxy.mend());
  const mendedMs = hostile.clock.now();
  if (disturbance.isAboutLease) await hostile.startAgain();
  await hostile.until('node for the pod', () => nodeNameOf(pod.metadata.name), MENDED_MS);
  await hostile.expectLeading();
  expect(await nodeNameOf('resident')).toBe(resident);
  expect(await hostile.kube.find(NODE, { name: resident ?? '' })).toBeDefined();
  expect(everBought() - before).toBe(1);
  // The node of an earlier pod may be terminated between two reads.
  await hostile.until('NodeClaim of every instance', async () => {
    const owned = await claimed();
    return running().every((id) => owned.includes(id));
  });
  await removeOne(hostile.kube, POD, pod);
  // A failure is logged once until its watch is open again.
  await hostile.until('open watches', () => hostile.clock.now() > mendedMs + REOPENED_MS);
}

describe('the operator', () => {
  it.each(
    DISTURBANCES.map((disturbance, i) => ({ ...disturbance, i })),
  )('survives if the API server responds with $name', (disturbance) => disturb(disturbance, disturbance.i));

  it('survives all of these responses of the API server within its memory limits', () => expectBounded(hostile));
});
