import { describe, expect, it } from '@jest/globals';
import type { Pod } from '#api/objects';
import { PodHolds } from '#state';
import { FIRST_HOLD_MS, LONGEST_HOLD_MS } from '#state/testing';

const pod = (selected: string, uid = 'a'): Pod => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: `web-${uid}`, namespace: 'shop', uid },
  spec: { containers: [], nodeSelector: { team: selected } },
});
const FIRST = FIRST_HOLD_MS;
const CAUSE = { code: 'solver-stuck', text: 'the solver did not answer in time' } as const;

describe('PodHolds', () => {
  it('holds a pod for twice as long each time, up to an hour', () => {
    let nowMs = 0;
    const holds = new PodHolds({ now: () => nowMs });
    const lengths: number[] = [];
    for (let n = 0; n < 6; n++) {
      lengths.push(holds.hold(pod('a'), CAUSE).untilMs - nowMs);
      nowMs += LONGEST_HOLD_MS;
      expect(holds.heldNow(pod('a'))).toBeUndefined();
    }
    expect(lengths.map((ms) => ms / FIRST)).toEqual([1, 2, 4, 8, 12, 12]);
  });

  it('reports the reason until the end of the hold', () => {
    let nowMs = 0;
    const holds = new PodHolds({ now: () => nowMs });
    holds.hold(pod('a'), CAUSE);
    nowMs = FIRST - 1;
    expect(holds.heldNow(pod('a'))).toMatchObject({ ...CAUSE, times: 1 });
    nowMs = FIRST;
    expect(holds.heldNow(pod('a'))).toBeUndefined();
  });

  it('starts again after a time without holds that equals the longest hold', () => {
    let nowMs = 0;
    const holds = new PodHolds({ now: () => nowMs });
    holds.hold(pod('a'), CAUSE);
    nowMs = FIRST + LONGEST_HOLD_MS + 1;
    expect(holds.hold(pod('a'), CAUSE).times).toBe(1);
  });

  it('holds only equal pods, including pods that are created later', () => {
    const holds = new PodHolds({ now: () => 0 });
    holds.hold(pod('a'), CAUSE);
    expect(holds.heldNow(pod('a', 'created-anew'))).toBeDefined();
    expect(holds.heldNow(pod('b'))).toBeUndefined();
    expect(holds.heldNow({ ...pod('a'), metadata: { ...pod('a').metadata, namespace: 'other' } })).toBeUndefined();
  });

  it('stores at most 10,000 holds', () => {
    const holds = new PodHolds({ now: () => 0 });
    for (let n = 0; n < 10_001; n++) holds.hold(pod(`${n}`), CAUSE);
    expect(holds.size).toBe(10_000);
    expect(holds.heldNow(pod('0'))).toBeUndefined();
    expect(holds.heldNow(pod('10000'))).toBeDefined();
  });
});
