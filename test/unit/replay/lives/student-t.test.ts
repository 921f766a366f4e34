import { describe, expect, it } from '@jest/globals';
import { studentT } from '../../../../src/replay/lives/life-runs.ts';

describe('studentT', () => {
  // NIST/SEMATECH e-Handbook of Statistical Methods, 1.3.6.7.2
  it.each([
    [0.95, 1, 12.706],
    [0.95, 2, 4.303],
    [0.95, 3, 3.182],
    [0.95, 4, 2.776],
    [0.95, 7, 2.365],
    [0.95, 30, 2.042],
    [0.95, 99, 1.984],
    [0.99, 5, 4.032],
    [0.8, 6, 1.44],
  ])('has the tabulated value for a confidence of %d and %i degrees of freedom', (confidence, degrees, value) => {
    expect(studentT(confidence, degrees)).toBeCloseTo(value, 3);
  });
});
