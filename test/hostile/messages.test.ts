/** Unexpected messages in the interruption queue. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { NODE_CLAIM, POD } from '#api/objects';
import { smallPod } from './healthy.ts';
import { type HostileWorld, startHostileWorld } from './hostile-world.ts';
import { expectBounded } from './memory.ts';
import { MESSAGE_FLOODS, MESSAGE_INPUTS, type MessageInput } from './message-inputs.ts';
import { groupsOf, playTogether } from './together.ts';

let hostile: HostileWorld;
beforeAll(async () => {
  hostile = await startHostileWorld();
  // its node must survive all messages
  await hostile.kube.create(
    POD,
    smallPod('resident', { 'karpenter.sh/nodepool': 'healthy', 'example.com/node': 'kept' }),
  );
  await hostile.until('node of the resident pod', async () => {
    const pod = await hostile.kube.find(POD, { name: 'resident', namespace: 'default' });
    return pod?.spec.nodeName !== undefined;
  });
});
afterAll(() => hostile.stop());

/**
 * Number of messages in flight. The queue drops messages after five minutes, which pass in seconds, so messages must
 * not wait.
 */
const AT_ONCE = 50;

/** The logger writes the first hundred equal lines of a second, and then fewer. */
const ALWAYS_LOGGED = 100;

/** Returns the names of NodeClaims that must not be deleted. */
const lasting = async (): Promise<readonly string[]> =>
  (await hostile.kube.list(NODE_CLAIM)).items
    .filter(({ metadata }) => metadata.labels?.['example.com/node'] === 'kept' && !metadata.deletionTimestamp)
    .map(({ metadata }) => metadata.name);

/** Number of inputs before one healthy pod. */
const TOGETHER = 10;

/** @param inputs either all readable or all unreadable */
const play = (inputs: readonly MessageInput[]): Promise<void> =>
  playTogether(hostile, inputs, async (together) => {
    hostile.mark();
    const before = await lasting();
    const { queue } = hostile.world.aws;
    const bodies = together.flatMap((input) => input.bodies);
    for (let from = 0; from < bodies.length; from += AT_ONCE) {
      for (const body of bodies.slice(from, from + AT_ONCE)) queue.send(body);
      await hostile.until('empty queue', () => queue.size() === 0, 120_000);
    }
    await hostile.expectHealthy();
    expect(await lasting()).toEqual(before);
    const complaints = hostile
      .since()
      .filter(({ level, message }) => level === 'ERROR' && message === 'failed parsing interruption message');
    const unreadable = together.filter(({ isUnreadable }) => isUnreadable).flatMap((input) => input.bodies).length;
    expect(complaints.length).toBeGreaterThanOrEqual(Math.min(unreadable, ALWAYS_LOGGED));
    expect(complaints.length).toBeLessThanOrEqual(unreadable);
    for (const complaint of complaints) expect(complaint).toMatchObject({ messageId: expect.any(String) });
  });

const readable = MESSAGE_INPUTS.filter(({ isUnreadable }) => !isUnreadable);
const unreadable = MESSAGE_INPUTS.filter(({ isUnreadable }) => isUnreadable);

describe('the operator', () => {
  it.each([
    ...groupsOf(readable, TOGETHER),
    ...groupsOf(unreadable, TOGETHER),
    ...groupsOf(MESSAGE_FLOODS, 1),
  ])('survives a message with $names', ({ inputs }) => play(inputs));

  it('survives all of these messages within its memory limits', () => expectBounded(hostile));
});
