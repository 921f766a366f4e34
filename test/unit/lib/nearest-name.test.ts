import { describe, expect, it } from '@jest/globals';
import { nearestName } from '../../../src/lib/nearest-name.ts';

describe('nearestName', () => {
  const known = ['NodeRepair', 'NodeOverlay', 'SpotToSpotConsolidation', 'Drift'];

  it.each([
    ['a prefix of a name', 'SpotToSpot', 'SpotToSpotConsolidation'],
    ['a name with a suffix', 'NodeRepairBeta', 'NodeRepair'],
    ['another case and punctuation', 'node-overlay', 'NodeOverlay'],
    ['a missing letter', 'NodeRepar', 'NodeRepair'],
    ['swapped letters', 'NodeOverlya', 'NodeOverlay'],
    ['swapped letters of a short name', 'Drfit', 'Drift'],
    ['a different name', 'Balanced', undefined],
    ['a single letter', 'N', undefined],
    ['an empty text', '', undefined],
    ['a long text', 'x'.repeat(10_000), undefined],
  ])('compares %s: %s', (_, name, nearest) => {
    expect(nearestName(name, known)).toBe(nearest);
  });

  it.each([
    ['minAvailable', 'maxUnavailable'],
    ['minavailable', 'maxunavailable'],
    ['disableInterruption', 'enableInterruption'],
    ['DisabledFlag', 'EnabledFlag'],
    ['includeTags', 'excludeTags'],
    ['allowSpot', 'disallowSpot'],
    ['unmanagedNodes', 'managedNodes'],
    ['isolatedVPC', 'nonIsolatedVPC'],
    ['no-drift', 'drift'],
    ['requiredTerms', 'preferredTerms'],
    ['startupTaints', 'stopupTaints'],
  ])('returns no name with the opposite meaning: %s, %s', (one, other) => {
    expect(nearestName(one, [other])).toBeUndefined();
    expect(nearestName(other, [one])).toBeUndefined();
    // a misspelled name is still found beside its opposite
    expect(nearestName(`${one}s`, [other, one])).toBe(one);
  });
});
