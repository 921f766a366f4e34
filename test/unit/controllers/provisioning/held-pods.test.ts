/** Pods that are held take no part in provisioning runs, and everybody can see why. */
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { NODE, POD } from '../../../../src/api/kinds.ts';
import { heldPods } from '../../../../src/controllers/provisioning/held-pods.ts';
import { PodHolds } from '../../../../src/engine-worker/pod-holds.ts';
import { recordingLog } from '../../kube/fakes.ts';
import { World } from '../harness.ts';

const STUCK = { code: 'solver-stuck', text: 'the solver did not answer in time' } as const;

let world: World;
let holds: PodHolds;
beforeEach(() => {
  world = new World();
  world.start();
  holds = new PodHolds(world.clock);
});
afterEach(() => world.kill());

const held = () =>
  heldPods(
    { clock: world.clock, cluster: world.cluster, events: { publish: (...notes) => void world.events.push(...notes) } },
    holds,
  );

describe('pods that are left out', () => {
  it('are told why and until when, once in the log for all that are alike', async () => {
    await world.pass(1);
    const pods = world.pending(3);
    const { log, lines } = recordingLog();
    held().hold(pods, STUCK, log);
    expect(lines).toHaveLength(1);
    expect(lines[0]).toMatchObject({
      message: 'leaving pod(s) out of provisioning',
      fields: { Pods: pods.map(({ metadata }) => `default/${metadata.name}`).join(', '), code: 'solver-stuck' },
    });
    const told = world.events.filter(({ reason }) => reason === 'PodHeld');
    expect(told.map(({ object }) => object.metadata.name)).toEqual(pods.map(({ metadata }) => metadata.name));
    expect(told[0]?.message).toBe(
      'No nodes are bought for this pod until 2026-01-01T00:05:01Z: the solver did not answer in time',
    );
  });

  it('come back when the hold ends, or when a pod like them is bound', async () => {
    const [pod, other] = world.pending(2);
    if (pod === undefined || other === undefined) throw new Error('no pods');
    await world.pass(1);
    const out = held();
    out.hold([pod], STUCK, recordingLog().log);
    expect(out.taking([pod, other])).toEqual([]);
    world.kube.create(NODE, { apiVersion: 'v1', kind: 'Node', metadata: { name: 'own' }, status: {} } as never);
    world.kube.patch(POD, other.metadata, { spec: { nodeName: 'own' } });
    await world.pass(1);
    expect(out.taking([pod])).toEqual([pod]);

    out.hold([pod], STUCK, recordingLog().log);
    await world.clock.advance(5 * 60_000);
    expect(out.taking([pod])).toEqual([pod]);
  });
});
