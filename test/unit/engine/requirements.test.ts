import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { NodeSelectorRequirement } from '#api/objects';
import { LOOSE, Requirements, requirementsOfPod, STRICT } from '../../../src/engine/requirements.ts';
import { pod } from './build.ts';

const KEYS = ['team', 'tier', 'topology.kubernetes.io/zone'];
const VALUES = ['a', 'b', '3', '7'];

const expression: fc.Arbitrary<NodeSelectorRequirement> = fc.oneof(
  fc.record({
    key: fc.constantFrom(...KEYS),
    operator: fc.constantFrom('In' as const, 'NotIn' as const),
    values: fc.uniqueArray(fc.constantFrom(...VALUES), { minLength: 1, maxLength: 3 }),
  }),
  fc.record({ key: fc.constantFrom(...KEYS), operator: fc.constantFrom('Exists' as const, 'DoesNotExist' as const) }),
  fc.record({
    key: fc.constantFrom(...KEYS),
    operator: fc.constantFrom('Gt' as const, 'Lt' as const),
    values: fc.constantFrom(['2'], ['5'], ['8']),
  }),
);
const expressions = fc.uniqueArray(expression, { selector: ({ key }) => key, maxLength: 3 });
const labels = fc.dictionary(fc.constantFrom(...KEYS), fc.constantFrom(...VALUES));

/** Kubernetes semantics of one expression on labels. */
function matches({ key, operator, values = [] }: NodeSelectorRequirement, node: Record<string, string>): boolean {
  const value = node[key];
  if (operator === 'NotIn') return value === undefined || !values.includes(value);
  if (operator === 'DoesNotExist') return value === undefined;
  if (value === undefined) return false;
  if (operator === 'In') return values.includes(value);
  if (operator === 'Exists') return true;
  if (!/^\d+$/.test(value)) return false;
  return operator === 'Gt' ? Number(value) > Number(values[0]) : Number(value) < Number(values[0]);
}

const of = (...list: readonly NodeSelectorRequirement[]): Requirements => Requirements.fromRequirements(list);

describe('a requirement', () => {
  it('has the Kubernetes semantics on an existing node', () => {
    fc.assert(
      fc.property(labels, expressions, (node, list) => {
        const expected = list.every((each) => matches(each, node));
        expect(Requirements.fromLabels(node).compatible(Requirements.fromRequirements(list), STRICT)).toBe(expected);
      }),
    );
  });

  it('returns a reason exactly if it is incompatible', () => {
    fc.assert(
      fc.property(expressions, expressions, (a, b) => {
        const [node, other] = [Requirements.fromRequirements(a), Requirements.fromRequirements(b)];
        for (const mode of [LOOSE, STRICT])
          expect(node.incompatibility(other, mode) === undefined).toBe(node.compatible(other, mode));
      }),
    );
  });

  it('stays compatible after it is intersected with a compatible one', () => {
    fc.assert(
      fc.property(expressions, expressions, (a, b) => {
        const [node, other] = [Requirements.fromRequirements(a), Requirements.fromRequirements(b)];
        if (node.compatible(other, LOOSE)) expect(node.intersect(other).compatible(other, LOOSE)).toBe(true);
      }),
    );
  });

  it('survives a round trip through the API format', () => {
    fc.assert(
      fc.property(expressions, (list) => {
        const requirements = Requirements.fromRequirements(list);
        expect(Requirements.fromRequirements(requirements.toApi()).identity).toBe(requirements.identity);
      }),
    );
  });

  it.each([
    ['In on an unknown custom label', of({ key: 'team', operator: 'In', values: ['a'] }), false, false],
    ['NotIn on an unknown custom label', of({ key: 'team', operator: 'NotIn', values: ['a'] }), true, true],
    ['In on an unknown well-known label', of({ key: KEYS[2] ?? '', operator: 'In', values: ['a'] }), true, false],
    ['Exists on an unknown custom label', of({ key: 'team', operator: 'Exists' }), false, false],
  ])('evaluates %s', (_, asked, loosely, strictly) => {
    expect(Requirements.EMPTY.compatible(asked, LOOSE)).toBe(loosely);
    expect(Requirements.EMPTY.compatible(asked, STRICT)).toBe(strictly);
  });

  it('normalizes deprecated label names', () => {
    const old = of({ key: 'failure-domain.beta.kubernetes.io/zone', operator: 'In', values: ['a'] });
    expect(old.keys).toEqual(['topology.kubernetes.io/zone']);
  });

  it('suggests the correct name of a mistyped label', () => {
    const asked = of({ key: 'zone', operator: 'In', values: ['a'] });
    expect(Requirements.EMPTY.incompatibility(asked, LOOSE)?.text).toBe(
      'label "zone" does not have known values (typo of "topology.kubernetes.io/zone"?)',
    );
  });

  it('reports every conflicting key', () => {
    const node = Requirements.fromLabels({ team: 'a', tier: 'b' });
    const asked = of({ key: 'tier', operator: 'In', values: ['c'] }, { key: 'team', operator: 'NotIn', values: ['a'] });
    expect(node.incompatibility(asked)).toEqual({
      key: 'team',
      text: 'key team, team NotIn [a] not in team In [a]; key tier, tier In [c] not in tier In [b]',
    });
  });

  it('is printed in sorted order without the hostname', () => {
    const requirements = Requirements.fromLabels({ 'kubernetes.io/hostname': 'n', tier: 'b', team: 'a' });
    expect(String(requirements)).toBe('team In [a], tier In [b]');
  });

  it('writes bounds beyond 2^53 exactly', () => {
    const bound = (operator: 'Gt' | 'Lt', value: string) =>
      Requirements.fromRequirements([{ key: 'size', operator, values: [value] }]).toApi();
    expect(bound('Gt', '9007199254740992')).toEqual([{ key: 'size', operator: 'Gte', values: ['9007199254740993'] }]);
    expect(bound('Lt', '9223372036854775807')).toEqual([
      { key: 'size', operator: 'Lte', values: ['9223372036854775806'] },
    ]);
  });

  it('writes two bounds as two entries that share minValues', () => {
    const both = Requirements.fromRequirements([
      { key: 'cpu', operator: 'Gt', values: ['3'], minValues: 2 },
      { key: 'cpu', operator: 'Lt', values: ['9'] },
    ]);
    expect(both.toApi()).toEqual([
      { key: 'cpu', operator: 'Gte', values: ['4'], minValues: 2 },
      { key: 'cpu', operator: 'Lte', values: ['8'], minValues: 2 },
    ]);
  });
});

describe('requirementsOfPod', () => {
  const term = (value: string) => ({ matchExpressions: [{ key: 'team', operator: 'In' as const, values: [value] }] });
  const both = pod('p', {
    nodeSelector: { tier: 'gold' },
    affinity: {
      nodeAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [term('first'), term('second')] },
        preferredDuringSchedulingIgnoredDuringExecution: [
          { weight: 1, preference: { matchExpressions: [{ key: 'light', operator: 'Exists' }] } },
          { weight: 9, preference: { matchExpressions: [{ key: 'heavy', operator: 'Exists' }] } },
        ],
      },
    },
  });

  it('takes the selector and the first required term', () => {
    expect(String(requirementsOfPod(both))).toBe('team In [first], tier In [gold]');
  });

  it('adds the heaviest preference if requested', () => {
    expect(String(requirementsOfPod(both, { preferences: true }))).toBe(
      'heavy Exists, team In [first], tier In [gold]',
    );
  });
});
