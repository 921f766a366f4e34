import { describe, expect, it } from '@jest/globals';
import { distribution } from '../../../../src/replay/measure/pod-lives.ts';

describe('the distribution of pending times', () => {
  it('counts the times up to each limit, and the longest', () => {
    expect(distribution([0, 900, 1_400, 4_500, 61_000])).toEqual([
      { seconds: 1, pods: 2 },
      { seconds: 1.5, pods: 3 },
      { seconds: 2, pods: 3 },
      { seconds: 3, pods: 3 },
      { seconds: 4, pods: 3 },
      { seconds: 5, pods: 4 },
      { seconds: 6, pods: 4 },
      { seconds: 7, pods: 4 },
      { seconds: 8, pods: 4 },
      { seconds: 10, pods: 4 },
      { seconds: 15, pods: 4 },
      { seconds: 20, pods: 4 },
      { seconds: 30, pods: 4 },
      { seconds: 40, pods: 4 },
      { seconds: 50, pods: 4 },
      { seconds: 60, pods: 4 },
      { seconds: 70, pods: 5 },
    ]);
  });

  it('starts with the shortest time', () => {
    expect(distribution([45_000, 45_000])).toEqual([{ seconds: 50, pods: 2 }]);
  });

  it('has a few dozen values for any number of times', () => {
    const waits = Array.from({ length: 50_000 }, (_, index) => index * 13);
    expect(distribution(waits).length).toBeLessThan(60);
  });

  it('is empty without times', () => {
    expect(distribution([])).toEqual([]);
  });
});
