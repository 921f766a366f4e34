import { describe, expect, it } from '@jest/globals';
import { humanDuration } from '../../../src/lib/human-duration.ts';

describe('humanDuration', () => {
  it.each([
    [0, '0s'],
    [119_000, '119s'],
    [120_000, '2m'],
    [185_000, '3m5s'],
    [11 * 60_000, '11m'],
    [200 * 60_000, '3h20m'],
    [10 * 3_600_000, '10h'],
    [50 * 3_600_000, '2d2h'],
    [30 * 86_400_000, '30d'],
    [800 * 86_400_000, '2y70d'],
    [-5000, '<invalid>'],
  ])('prints %d ms as %s', (ms, printed) => {
    expect(humanDuration(ms)).toBe(printed);
  });
});
