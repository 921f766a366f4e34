import { describe, expect, it } from '@jest/globals';
import { NODE, NODE_CLAIM, POD, type Pod } from '#api/objects';
import { podEvents } from '../../../../src/controllers/nodeclaim/pod-events.ts';
import { bench, daemonOf, nodeOf, podOf, settledClaim } from '../node/bench.ts';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
type Bench = ReturnType<typeof bench>;

describe('a pod event', () => {
  const start = (): Bench => bench([], (deps) => [podEvents(deps)]);
  const last = (b: Bench): number =>
    (Date.parse(b.claim('claim')?.status?.lastPodEventTime ?? '') - b.clock.now()) / SECOND;
  const pod = podOf('web');
  const unbound: Pod = { ...pod, spec: { containers: [] } };
  const ended: Pod = { ...pod, status: { phase: 'Succeeded' } };
  const ending: Pod = { ...pod, metadata: { ...pod.metadata, deletionTimestamp: '2026-01-01T00:01:00Z' } };
  const annotated: Pod = { ...pod, metadata: { ...pod.metadata, annotations: { note: 'x' } } };

  it.each<{ when: string; before?: Pod; now?: Pod; noted: boolean }>([
    { when: 'is created bound', now: pod, noted: true },
    { when: 'is created unbound', now: unbound, noted: false },
    { when: 'is bound', before: unbound, now: pod, noted: true },
    { when: 'ends', before: pod, now: ended, noted: true },
    { when: 'is being deleted', before: pod, now: ending, noted: true },
    { when: 'changes in another way', before: pod, now: annotated, noted: false },
    {
      when: 'ends before it was bound',
      before: unbound,
      now: { ...unbound, status: { phase: 'Failed' } },
      noted: false,
    },
    {
      when: 'is deleted before it was bound',
      before: unbound,
      now: { ...ending, spec: unbound.spec },
      noted: false,
    },
    {
      when: 'ended long ago and changes',
      before: ended,
      now: { ...ended, metadata: annotated.metadata },
      noted: false,
    },
    { when: 'is removed', before: pod, noted: false },
    { when: 'of a DaemonSet is created', now: daemonOf('daemon'), noted: false },
    { when: 'is created on an unknown Node', now: podOf('web', { nodeName: 'elsewhere' }), noted: false },
  ])('is recorded if a pod $when: $noted', async ({ before, now, noted }) => {
    const b = start();
    b.put(NODE, nodeOf('node'));
    b.put(NODE_CLAIM, settledClaim('claim'));
    if (before) b.put(POD, before);
    await b.clock.advance(MINUTE);
    const known = b.writesTo('NodeClaim');
    if (now) b.put(POD, now);
    else if (before) b.remove(POD, before);
    await b.clock.advance(SECOND);
    expect(b.writesTo('NodeClaim') - known).toBe(noted ? 1 : 0);
    if (noted) expect(last(b)).toBe(-1);
  });

  it('is recorded at most every ten seconds', async () => {
    const b = start();
    b.put(NODE, nodeOf('node'));
    b.put(NODE_CLAIM, settledClaim('claim', { lastPodEventTime: b.time(-9 * SECOND) }));
    b.put(POD, podOf('a'));
    await b.clock.advance(SECOND);
    expect(b.writesTo('NodeClaim')).toBe(0);
    b.put(POD, podOf('b'));
    b.put(POD, podOf('c'));
    await b.clock.advance(9 * SECOND);
    b.put(POD, podOf('d'));
    await b.clock.settle();
    expect(b.writesTo('NodeClaim')).toBe(1);
    await b.clock.advance(SECOND);
    b.put(POD, podOf('e'));
    await b.clock.settle();
    expect(b.writesTo('NodeClaim')).toBe(2);
  });

  it('is recorded again if the clock is set back, and overwrites the later time', async () => {
    const b = start();
    b.put(NODE, nodeOf('node'));
    b.put(NODE_CLAIM, settledClaim('claim'));
    b.put(POD, podOf('a'));
    await b.clock.advance(SECOND);
    b.clock.put(-60 * MINUTE);
    b.put(POD, podOf('b'));
    await b.clock.advance(9 * SECOND);
    expect(b.writesTo('NodeClaim')).toBe(1);
    b.put(POD, podOf('c'));
    await b.clock.advance(SECOND);
    expect(b.writesTo('NodeClaim')).toBe(2);
    expect(last(b)).toBe(-1);
  });

  it('is not recorded for claims that share a Node', async () => {
    const b = start();
    b.put(NODE, nodeOf('node'));
    for (const name of ['one', 'two']) b.put(NODE_CLAIM, settledClaim(name));
    b.put(POD, pod);
    await b.clock.advance(SECOND);
    expect(b.writesTo('NodeClaim')).toBe(0);
  });
});
