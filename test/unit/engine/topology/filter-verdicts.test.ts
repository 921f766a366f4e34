import { describe, expect, it } from '@jest/globals';
import { pseudoRandom } from '#engine/model';
import { Requirements } from '../../../../src/engine/requirements.ts';
import { FilterVerdicts } from '../../../../src/engine/topology/filter-verdicts.ts';
import { type NodeFilter, passes } from '../../../../src/engine/topology/node-filter.ts';

const TEAMS = ['blue', 'red', 'green'];
const ZONES = ['a', 'b'];
const TAINTS = [{ key: 'team', value: 'blue', effect: 'NoSchedule' as const }];

describe('a verdict on a filter', () => {
  it('equals that of the filter, for random filters and nodes', () => {
    const random = pseudoRandom(7);
    const pick = <T>(all: readonly T[]): T => all[Math.floor(random() * all.length)] as T;
    const labels = () => Requirements.fromLabels({ ...(random() < 0.7 && { team: pick(TEAMS) }), zone: pick(ZONES) });
    const filters: (NodeFilter | undefined)[] = Array.from({ length: 40 }, () => ({
      alternatives: random() < 0.2 ? undefined : Array.from({ length: 1 + Math.floor(random() * 2) }, labels),
      tolerations: random() < 0.5 ? undefined : random() < 0.5 ? [] : [{ key: 'team', operator: 'Exists' }],
    }));
    filters.push(undefined, { alternatives: [Requirements.EMPTY], tolerations: undefined });
    const requirements = Array.from({ length: 10 }, labels);
    const verdicts = new FilterVerdicts();
    const seen = new Set<boolean>();
    for (let step = 0; step < 2000; step++) {
      const node = { requirements: pick(requirements), taints: pick([[], TAINTS]) };
      const test = verdicts.testOf(node);
      for (const filter of [pick(filters), pick(filters), pick(filters)]) {
        const verdict = test({ rule: { filter }, filterNumber: verdicts.numberOf(filter) });
        seen.add(verdict);
        expect(verdict).toBe(passes(filter, node));
      }
    }
    expect(seen.size).toBe(2);
  });
});
