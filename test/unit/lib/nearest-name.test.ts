import { describe, expect, it } from '@jest/globals';
import { nearestName } from '../../../src/lib/nearest-name.ts';

describe('nearestName', () => {
  const known = ['NodeRepair', 'NodeOverlay', 'SpotToSpotConsolidation'];

  it.each([
    ['the beginning of a name', 'SpotToSpot', 'SpotToSpotConsolidation'],
    ['a name and more', 'NodeRepairBeta', 'NodeRepair'],
    ['another case and punctuation', 'node-overlay', 'NodeOverlay'],
    ['a missing letter', 'NodeRepar', 'NodeRepair'],
    ['letters exchanged', 'NodeOverlya', 'NodeOverlay'],
    ['something else', 'Drift', undefined],
    ['a letter', 'N', undefined],
    ['nothing', '', undefined],
    ['a text', 'x'.repeat(10_000), undefined],
  ])('takes %s for %s', (_, name, nearest) => {
    expect(nearestName(name, known)).toBe(nearest);
  });
});
