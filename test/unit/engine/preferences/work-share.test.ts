import { describe, expect, it } from '@jest/globals';
import { ZONE_LABEL } from '#api/objects';
import type { EnginePod } from '../../../../src/engine/input.ts';
import { podKey } from '../../../../src/engine/pods.ts';
import { beyondLimit } from '../../../../src/engine/preferences/work-share.ts';
import { solve } from '../../../../src/engine/solve.ts';
import { TopologyBase } from '../../../../src/engine/topology/base.ts';
import { OPTIONS, pod, snapshot } from '../build.ts';

/** Pod whose preference counts all pods of its namespace. */
const wide = (namespace: string, index: number): EnginePod =>
  pod(`${namespace}-${index}`, {
    namespace,
    cpu: '100m',
    labels: { app: `${namespace}-${index}` },
    affinity: {
      podAntiAffinity: {
        preferredDuringSchedulingIgnoredDuringExecution: [
          {
            weight: 1,
            podAffinityTerm: {
              topologyKey: ZONE_LABEL,
              labelSelector: { matchExpressions: [{ key: 'app', operator: 'NotIn', values: [`not-${index}`] }] },
            },
          },
        ],
      },
    },
  });

const many = (namespace: string, count: number): readonly EnginePod[] =>
  Array.from({ length: count }, (_, index) => wide(namespace, index));

const beyond = (pods: readonly EnginePod[], most: number): readonly string[] => {
  const topology = new TopologyBase(snapshot({}), { preferences: true });
  return beyondLimit(
    { topology },
    pods.map((each) => [each]),
    most,
  ).map(podKey);
};

describe('the limit of compared preferences', () => {
  it('leaves out no preferences below the limit', () => {
    expect(beyond(many('busy', 30), 10_000)).toEqual([]);
  });

  it('leaves out only preferences of the namespace with the most', () => {
    const left = beyond([...many('busy', 100), ...many('calm', 5)], 1_000);
    expect(left.length).toBeGreaterThan(50);
    expect(left.length).toBeLessThan(100);
    expect(left.every((key) => key.startsWith('busy/'))).toBe(true);
  });

  it('gives the work that other namespaces do not use to the namespace with the most', () => {
    const alone = beyond(many('busy', 100), 1_000).length;
    expect(beyond([...many('busy', 100), ...many('calm', 1)], 1_000).length).toBeLessThanOrEqual(alone + 1);
  });

  it('is reported by the plan, which decides on the other preferences', () => {
    const pendingPods = [...many('busy', 800), ...many('calm', 3)];
    const plan = solve(snapshot({ pendingPods }), { ...OPTIONS, preferencePolicy: 'Priced', packing: 'cheapest' });
    expect(plan.refusals.size).toBe(0);
    expect(plan.preferences?.omitted).toMatch(
      /^preferences of pods are not considered: \d+ pods have too many different preferences/,
    );
    const decided = plan.preferences?.groups.flatMap(({ pods }) => pods) ?? [];
    expect(decided.filter((key) => key.startsWith('calm/'))).toHaveLength(3);
    expect(decided.length).toBeLessThan(803);
  });
});
