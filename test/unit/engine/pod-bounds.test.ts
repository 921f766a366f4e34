/** The quick check of a pod avoids exact counting and must agree with it. */
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { Pod } from '#api/objects';
import { HEAVY, intake, isHeavy, measuresOf } from '../../../src/engine/pod-bounds.ts';

/** Arrays with lengths around the limit of the quick check. */
const some = <T>(value: T): fc.Arbitrary<T[]> =>
  fc
    .oneof(
      { weight: 6, arbitrary: fc.integer({ min: 0, max: 3 }) },
      { weight: 3, arbitrary: fc.integer({ min: 4, max: 12 }) },
      fc.integer({ min: 13, max: 40 }),
    )
    .map((length) => Array.from({ length }, () => value));
const optional = <T>(arbitrary: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> =>
  fc.option(arbitrary, { nil: undefined });
const listOf = <T>(element: fc.Arbitrary<T>): fc.Arbitrary<T[] | undefined> => optional(element.chain(some));

const labels = fc.integer({ min: 0, max: 10 }).map((count) => Object.fromEntries(keys(count).map((key) => [key, 'a'])));
const keys = (count: number): string[] => Array.from({ length: count }, (_, at) => `example.com/${at}`);

const expression = fc.integer({ min: 0, max: 9 }).map((count) => ({ key: 'a', operator: 'In', values: keys(count) }));
const nodeTerm = fc.record({ matchExpressions: listOf(expression) });
const rule = fc.record({
  topologyKey: fc.constant('kubernetes.io/hostname'),
  labelSelector: optional(
    fc.record({
      matchLabels: optional(labels),
      matchExpressions: listOf(fc.constant({ key: 'a', operator: 'Exists' })),
    }),
  ),
  matchLabelKeys: listOf(fc.constant('a')),
});
const podAffinity = fc.record({
  requiredDuringSchedulingIgnoredDuringExecution: listOf(rule),
  preferredDuringSchedulingIgnoredDuringExecution: listOf(
    rule.map((podAffinityTerm) => ({ weight: 1, podAffinityTerm })),
  ),
});
const pods = fc
  .record({
    nodeSelector: optional(labels),
    tolerations: listOf(fc.constant({ operator: 'Exists' })),
    volumes: listOf(fc.constant({ name: 'a', emptyDir: {} })),
    containers: fc.record({ name: fc.constant('a'), ports: listOf(fc.constant({ hostPort: 80 })) }).chain(some),
    topologySpreadConstraints: listOf(
      rule.map((each) => ({ ...each, maxSkew: 1, whenUnsatisfiable: 'DoNotSchedule' })),
    ),
    affinity: optional(
      fc.record({
        nodeAffinity: optional(
          fc.record({
            requiredDuringSchedulingIgnoredDuringExecution: optional(
              fc.record({ nodeSelectorTerms: nodeTerm.chain(some) }),
            ),
            preferredDuringSchedulingIgnoredDuringExecution: listOf(
              nodeTerm.map((preference) => ({ weight: 1, preference })),
            ),
          }),
        ),
        podAffinity: optional(podAffinity),
        podAntiAffinity: optional(podAffinity),
      }),
    ),
  })
  .map((spec) => ({ metadata: { name: 'pod', namespace: 'default' }, spec }) as unknown as Pod);

describe('the quick check of a pod', () => {
  it('finds no excess only if exact counting finds none', () => {
    let heavy = 0;
    fc.assert(
      fc.property(pods, (pod) => {
        const { error, weight, cut } = measuresOf(pod);
        const { pods: taken, refusals } = intake([pod]);
        expect(refusals.size).toBe(error === undefined ? 0 : 1);
        expect(isHeavy(pod)).toBe(weight > HEAVY);
        if (error === undefined) expect(taken[0] === pod).toBe(cut === undefined);
        if (weight > HEAVY) heavy++;
      }),
      { numRuns: 500 },
    );
    expect(heavy).toBeGreaterThan(20);
    expect(heavy).toBeLessThan(480);
  });
});
