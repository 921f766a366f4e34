import { afterEach, describe, expect, it, jest } from '@jest/globals';
import fc from 'fast-check';
import type { NodeOverlay } from '#api/objects';
import type { NodeOverlaySpec } from '#api/testing';
import { requirementsOf } from '../../../src/engine/instance-types.ts';
import type { InstanceType, PoolInput, Requirement } from '../../../src/engine/model.ts';
import { templateLabels } from '../../../src/engine/node-template.ts';
import { evaluateOverlays, evaluationSteps, MOST_OVERLAYS, overlaid } from '../../../src/engine/overlays.ts';
import { LOOSE, Requirements } from '../../../src/engine/requirements.ts';
import { ValueSet } from '../../../src/engine/value-set.ts';
import { instanceType, nodePool, oneOf } from './build.ts';

const TYPE = 'node.kubernetes.io/instance-type';
const ZONE = 'topology.kubernetes.io/zone';
const CAPACITY_TYPE = 'karpenter.sh/capacity-type';

const overlay = (name: string, spec: Partial<NodeOverlaySpec>): NodeOverlay => ({
  apiVersion: 'karpenter.sh/v1alpha1',
  kind: 'NodeOverlay',
  metadata: { name },
  spec: { requirements: [], ...spec },
});
const types = [instanceType('small', { cpu: 2, usd: 0.2 }), instanceType('large', { cpu: 8, usd: 0.8 })];
const poolOf = (name: string, parts: Parameters<typeof nodePool>[1] = {}): PoolInput => ({
  nodePool: nodePool(name, parts),
  instanceTypes: types,
});
const pool = poolOf('default');
describe('overlay matching', () => {
  const reserved: InstanceType = {
    ...instanceType('reserved'),
    offerings: instanceType('reserved').offerings.map((offering, at) => ({
      ...offering,
      requirements: at % 2 === 0 ? [...offering.requirements, oneOf('example.com/block', 'b1')] : offering.requirements,
    })),
  };
  const all = [...types, reserved];
  const pools = [
    { nodePool: nodePool('default', { labels: { team: 'blue' } }), instanceTypes: all },
    { nodePool: nodePool('other', { labels: { 'kubernetes.io/arch': 'arm64' } }), instanceTypes: all },
  ];

  /** Evaluates the rule for a single offering. */
  const isMatch = (each: NodeOverlay, on: PoolInput, type: InstanceType, at: number): boolean => {
    const required = Requirements.fromRequirements(each.spec.requirements);
    const ofPool = Requirements.fromLabels(templateLabels(on.nodePool));
    const offering = type.offerings[at];
    return (
      ofPool.intersect(requirementsOf(type)).compatible(required) &&
      offering !== undefined &&
      required.compatible(requirementsOf(offering), LOOSE)
    );
  };

  const keys = [TYPE, ZONE, CAPACITY_TYPE, 'karpenter.sh/nodepool', 'kubernetes.io/arch', 'team', 'example.com/block'];
  const values = ['small', 'large', 'zone-a', 'zone-b', 'spot', 'on-demand', 'default', 'other', 'amd64', 'blue', 'b1'];
  const requirement: fc.Arbitrary<Requirement> = fc.record({
    key: fc.constantFrom(...keys),
    operator: fc.constantFrom('In', 'NotIn', 'Exists', 'DoesNotExist'),
    values: fc.subarray(values, { minLength: 1 }),
  });
  const some = fc.record(
    {
      requirements: fc.array(requirement, { maxLength: 3 }),
      price: fc.constant('9'),
      capacity: fc.constantFrom({ 'a.io/x': '1' }, { 'a.io/y': '1' }),
      weight: fc.integer({ min: 1, max: 2 }),
    },
    { requiredKeys: ['requirements'] },
  );

  it('returns the same result as a match of each offering', () => {
    fc.assert(
      fc.property(fc.array(requirement, { maxLength: 3 }), (requirements) => {
        const each = overlay('a', { requirements, price: '9' });
        for (const on of pools)
          for (const [typeAt, type] of overlaid(on, [each]).entries())
            for (const [at, offering] of type.offerings.entries())
              expect(offering.priceOverlaid ?? false).toBe(isMatch(each, on, all[typeAt] as InstanceType, at));
      }),
      { numRuns: 500 },
    );
  });

  it('finds the same conflicts as comparisons with every earlier overlay', () => {
    const matches = (each: NodeOverlay): readonly string[] =>
      pools.flatMap((on) =>
        all.flatMap((type) =>
          type.offerings.flatMap((_, at) =>
            isMatch(each, on, type, at) ? [`${on.nodePool.metadata.name} ${type.name} ${at}`] : [],
          ),
        ),
      );
    const typesIn = (rows: readonly string[]): readonly string[] => rows.map((row) => row.replace(/ \d+$/, ''));
    fc.assert(
      fc.property(fc.array(some, { maxLength: 6 }), (specs) => {
        const overlays = specs.map((spec, at) => overlay(`o-${at}`, spec));
        const inForce: NodeOverlay[] = [];
        const conflicts = overlays
          .toSorted(
            (a, b) => (b.spec.weight ?? 0) - (a.spec.weight ?? 0) || (a.metadata.name < b.metadata.name ? 1 : -1),
          )
          .filter((each) => {
            const rows = matches(each);
            const isConflict = inForce.some(({ spec }, at) => {
              if ((spec.weight ?? 0) !== (each.spec.weight ?? 0)) return false;
              const others = matches(inForce[at] as NodeOverlay);
              if (spec.price && each.spec.price && rows.some((row) => others.includes(row))) return true;
              const [name = ''] = Object.keys(each.spec.capacity ?? {});
              // Only the last overlay that added resources to a type counts.
              return typesIn(rows).some((type) => {
                const adding = inForce.filter(
                  (other) =>
                    (other.spec.weight ?? 0) === (each.spec.weight ?? 0) &&
                    other.spec.capacity !== undefined &&
                    typesIn(matches(other)).includes(type),
                );
                return adding.at(-1) === inForce[at] && name in (spec.capacity ?? {});
              });
            });
            if (!isConflict) inForce.push(each);
            return isConflict;
          });
        const { problems: found } = evaluateOverlays(overlays, pools);
        const named = [...found].filter(([, { reason }]) => reason === 'Conflict').map(([name]) => name);
        expect(named).toEqual(conflicts.map(({ metadata }) => metadata.name));
      }),
      { numRuns: 300 },
    );
  });
});

describe('a list of many overlays', () => {
  afterEach(() => void jest.restoreAllMocks());
  const manyTypes = Array.from({ length: 200 }, (_, at) => instanceType(`t${at}`));
  const manyPools = Array.from({ length: 20 }, (_, at) => ({ nodePool: nodePool(`p${at}`), instanceTypes: manyTypes }));
  const many = (count: number): readonly NodeOverlay[] =>
    Array.from({ length: count }, (_, at) =>
      overlay(`o-${String(at).padStart(4, '0')}`, {
        requirements: [oneOf(CAPACITY_TYPE, 'spot'), oneOf(TYPE, `t${at % 200}`)],
        priceAdjustment: '-10%',
        weight: 1 + at,
      }),
    );

  it('is compared once per distinct value, not per type and NodePool', () => {
    const compared = jest.spyOn(ValueSet.prototype, 'intersects');
    const { accepted } = evaluateOverlays(many(300), manyPools);
    expect(accepted).toHaveLength(300);
    // Without this, at least 300 x 20 x 200 pairs are compared.
    expect(compared.mock.calls.length).toBeLessThan(300 * (200 + 10) * 2);
    compared.mockClear();
    evaluateOverlays(many(300).slice(0, 0), manyPools);
    expect(compared).not.toHaveBeenCalled();
  });

  it('is not compared again if neither overlays nor types changed', () => {
    const overlays = many(50);
    evaluateOverlays(overlays, manyPools);
    const compared = jest.spyOn(ValueSet.prototype, 'intersects');
    evaluateOverlays([...overlays, overlay('new', { requirements: [oneOf(TYPE, 't7')], price: '1' })], manyPools);
    expect(compared.mock.calls.length).toBeLessThanOrEqual(201);
  });

  it('is evaluated in steps of one overlay and one NodePool', () => {
    let steps = 0;
    const evaluation = evaluationSteps(many(30), manyPools.slice(0, 1));
    while (!evaluation.next().done) steps += 1;
    expect(steps).toBe(30);
  });

  it('excludes overlays beyond the limit by lowest weight and then by name, and the error contains the limit and the remedy', () => {
    const { accepted, problems: found } = evaluateOverlays(many(MOST_OVERLAYS + 2), [pool]);
    expect(accepted).toHaveLength(MOST_OVERLAYS);
    expect([...found.keys()]).toEqual(['o-0001', 'o-0000']);
    expect(found.get('o-0000')).toEqual({
      reason: 'TooManyNodeOverlays',
      message:
        'not evaluated: this is NodeOverlay 502 of 502, and only the first 500 are evaluated, ordered by descending weight and ' +
        'descending name; merge or delete NodeOverlays, or increase the weight of this one',
    });
  });
});
