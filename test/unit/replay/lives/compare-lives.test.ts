/** Means of lives, and paired differences with their intervals. */
import { describe, expect, it } from '@jest/globals';
import { compareLives, comparePairs, lifeFigures } from '../../../../src/replay/lives/life-runs.ts';
import type { LifeFigures } from '../../../../src/replay/lives/lives-result.ts';
import { sampleRun } from '../../cli/replay/results.ts';

const SAMPLE = lifeFigures(sampleRun('a', 1, { days: 1 }), 1);
const life = (number: number, usd: number): LifeFigures => ({ ...SAMPLE, life: number, usd });

describe('paired', () => {
  it('returns the mean and its interval by the t distribution', () => {
    // standard deviation 1.5811, standard error 0.7071, t of 4 degrees of freedom 2.7764
    const { mean, interval, isShown } = comparePairs([1, 2, 3, 4, 5]);
    expect(mean).toBe(3);
    expect(interval?.low).toBeCloseTo(3 - 1.9633, 3);
    expect(interval?.high).toBeCloseTo(3 + 1.9633, 3);
    expect(isShown).toBe(true);
  });

  it.each([
    ['the interval contains zero', [-1, 2, 1, -2, 3], false],
    ['all lives are equal', [0, 0, 0], false],
    ['all lives differ by the same amount', [-2, -2, -2], true],
    ['all differences are far below zero', [-5, -6, -5], true],
  ])('shows a difference or not if %s', (_, differences, isShown) => {
    expect(comparePairs(differences).isShown).toBe(isShown);
  });

  it('has no interval for a single life', () => {
    expect(comparePairs([-5])).toEqual({ mean: -5, isShown: false });
  });
});

describe('compareLives', () => {
  it('compares only lives that both sets finished', () => {
    const [first, other] = compareLives([
      { name: 'first', lives: [life(1, 10), life(2, 20), life(3, 90)] },
      { name: 'other', lives: [life(1, 9), life(2, 18), life(4, 1)] },
    ]);
    expect(first?.mean?.usd).toBe(40);
    expect(first).not.toHaveProperty('difference');
    expect(other?.mean?.usd).toBeCloseTo(28 / 3);
    expect(other?.difference?.pairs).toBe(2);
    expect(other?.difference?.first.usd).toBe(15);
    expect(other?.difference?.of.usd.mean).toBe(-1.5);
    expect(other?.difference?.of.evictions).toMatchObject({ mean: 0, isShown: false });
  });

  it('has neither means nor differences of sets without lives', () => {
    const [, other] = compareLives([
      { name: 'first', lives: [life(1, 10)] },
      { name: 'other', lives: [] },
    ]);
    expect(other).toEqual({ name: 'other', lives: [] });
  });
});
