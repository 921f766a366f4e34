/** Sets of candidates that a search has evaluated without success. */
import { describe, expect, it } from '@jest/globals';
import type { Candidate } from '../../../../src/engine/disruption/command.ts';
import { TriedSets } from '../../../../src/engine/disruption/tried-sets.ts';
import { pod } from './objects.ts';

const candidate = (name: string, ...pods: readonly string[]): Candidate =>
  ({ providerId: name, reschedulablePods: pods.map((each) => pod(each)) }) as unknown as Candidate;

const NOW = 1_000_000;
const MINUTE = 60_000;

describe('TriedSets', () => {
  it('remembers a set for five minutes', () => {
    const tried = new TriedSets();
    const set = [candidate('a', 'one'), candidate('b')];
    expect(tried.has(set, NOW)).toBe(false);
    tried.add(set, NOW);
    expect(tried.has(set, NOW + 5 * MINUTE - 1)).toBe(true);
    expect(tried.has(set, NOW + 5 * MINUTE)).toBe(false);
  });

  it('remembers a set for the given time', () => {
    const tried = new TriedSets(30 * MINUTE);
    tried.add([candidate('a')], NOW);
    expect(tried.has([candidate('a')], NOW + 30 * MINUTE - 1)).toBe(true);
    expect(tried.has([candidate('a')], NOW + 30 * MINUTE)).toBe(false);
  });

  it.each([
    ['another pod', [candidate('a', 'one', 'two'), candidate('b', 'three')]],
    ['one pod less', [candidate('a'), candidate('b', 'three')]],
    ['a pod on the other node', [candidate('a', 'one', 'three'), candidate('b')]],
    ['one more node', [candidate('a', 'one'), candidate('b', 'three'), candidate('c')]],
    ['one node less', [candidate('a', 'one')]],
    ['another node', [candidate('a', 'one'), candidate('c', 'three')]],
  ])('does not contain a set with %s', (_, other) => {
    const tried = new TriedSets();
    tried.add([candidate('a', 'one'), candidate('b', 'three')], NOW);
    expect(tried.has([candidate('a', 'one'), candidate('b', 'three')], NOW)).toBe(true);
    expect(tried.has(other, NOW)).toBe(false);
  });

  it('removes expired sets first, then the oldest sets to stay within its maximum size', () => {
    const tried = new TriedSets();
    for (let at = 0; at < 9_999; at += 1) tried.add([candidate(`old-${at}`)], NOW);
    const later = NOW + 5 * MINUTE;
    tried.add([candidate('young')], later - 1);
    tried.add([candidate('new')], later);
    expect(tried.has([candidate('young')], later)).toBe(true);
    for (let at = 0; at < 10_000; at += 1) tried.add([candidate(`more-${at}`)], later);
    expect(tried.has([candidate('young')], later)).toBe(false);
    expect(tried.has([candidate('more-9999')], later)).toBe(true);
  });
});
