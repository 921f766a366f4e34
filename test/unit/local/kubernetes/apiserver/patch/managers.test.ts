import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { Json } from '../../../../../../src/local/kubernetes/apiserver/json.ts';
import {
  difference,
  type FieldSet,
  intersection,
  pathsOf,
  union,
} from '../../../../../../src/local/kubernetes/apiserver/patch/field-set.ts';
import { compare, fieldsOf } from '../../../../../../src/local/kubernetes/apiserver/patch/fields.ts';
import {
  afterUpdate,
  type Managed,
  managerEntries,
} from '../../../../../../src/local/kubernetes/apiserver/patch/managers.ts';
import { modelShape } from '../../../../../../src/local/kubernetes/apiserver/resources/models.ts';
import { ANY } from '../../../../../../src/local/kubernetes/apiserver/resources/shape.ts';

/** Sets in the form of appliers and updates: fields of objects; some objects are also marked as set themselves. */
const { set } = fc.letrec<{ set: FieldSet; node: FieldSet }>((tie) => ({
  set: fc.dictionary(fc.constantFrom('f:a', 'f:b', 'f:c'), tie('node'), { maxKeys: 3 }),
  node: fc.oneof(
    { maxDepth: 3 },
    fc.constant({}),
    fc
      .tuple(fc.boolean(), fc.dictionary(fc.constantFrom('f:a', 'f:b'), tie('node'), { minKeys: 1, maxKeys: 2 }))
      .map(([isIn, under]): FieldSet => (isIn ? { '.': {}, ...under } : under)),
  ),
}));

const paths = (one: FieldSet): readonly string[] => [...pathsOf(one)].sort();

describe('a set of fields', () => {
  it('satisfies the laws of sets', () => {
    fc.assert(
      fc.property(set, set, (left, right) => {
        const [a, b] = [new Set(paths(left)), new Set(paths(right))];
        expect(paths(difference(left, right))).toEqual([...a].filter((path) => !b.has(path)).sort());
        expect(paths(intersection(left, right))).toEqual([...a].filter((path) => b.has(path)).sort());
        expect(paths(union(left, right))).toEqual([...new Set([...a, ...b])].sort());
      }),
    );
  });

  it('is formatted as Kubernetes paths', () => {
    const spec = {
      replicas: 1,
      template: { spec: { containers: [{ name: 'main', ports: [{ containerPort: 80 }], args: ['a'] }] } },
    };
    const fields = fieldsOf(
      { metadata: { finalizers: ['x/y'], labels: { 'a/b': 'c' } }, spec },
      modelShape('V1Deployment'),
    );
    expect(pathsOf(fields)).toEqual([
      '.metadata.finalizers[="x/y"]',
      '.metadata.labels.a/b',
      '.spec.replicas',
      '.spec.template.spec.containers[name="main"]',
      '.spec.template.spec.containers[name="main"].name',
      '.spec.template.spec.containers[name="main"].ports[containerPort=80,protocol="TCP"]',
      '.spec.template.spec.containers[name="main"].ports[containerPort=80,protocol="TCP"].containerPort',
      '.spec.template.spec.containers[name="main"].args',
    ]);
  });
});

const parts = fc.dictionary(fc.constantFrom('x', 'y'), fc.constantFrom(1, 2));
/** A field has the same type in every version. */
const object = fc.record(
  { a: fc.constantFrom(1, 2), b: parts, c: fc.record({ d: parts }, { requiredKeys: [] }) },
  { requiredKeys: [] },
) as fc.Arbitrary<Json>;

describe('the difference of two objects', () => {
  it('is empty for equal objects, and names each added, removed or changed field', () => {
    fc.assert(
      fc.property(object, object, (before, after) => {
        expect(compare(before, before, ANY)).toEqual({ changed: {}, removed: {} });
        const there = compare(before, after, ANY);
        const back = compare(after, before, ANY);
        // Fields added in one direction are removed in the other. Changed values differ in both directions.
        const came = difference(there.changed, back.changed);
        expect(paths(difference(came, back.removed))).toEqual([]);
        expect(there.changed).toEqual(compare(before, { ...before, ...after }, ANY).changed);
      }),
    );
  });
});

describe('a manager', () => {
  const writer = (manager: string) => ({ manager, operation: 'Update' as const, nowMs: 0 });
  const fieldsBy = (entries: readonly Managed[], manager: string): readonly string[] =>
    paths(entries.find((entry) => entry.manager === manager)?.fieldsV1 ?? {});

  it('owns the fields that it wrote last, and removed fields have no owner', () => {
    fc.assert(
      fc.property(fc.array(object, { minLength: 1, maxLength: 6 }), (versions) => {
        let entries: readonly Managed[] = managerEntries(undefined);
        let before: Json = {};
        for (const [i, after] of versions.entries()) {
          entries = afterUpdate(before, after, ANY, entries, writer(`m${i % 3}`));
          before = after;
          const held = entries.flatMap(({ fieldsV1 }) => pathsOf(fieldsV1));
          // Every leaf has exactly one owner, because there are no appliers.
          expect(new Set(held).size).toBe(held.length);
          const leaves = pathsOf(fieldsOf(after, ANY)).filter((path) => path !== '.metadata');
          expect(held).toEqual(expect.arrayContaining([...leaves]));
        }
      }),
    );
  });

  it('loses fields that another manager changes', () => {
    const made = afterUpdate({}, { data: { a: '1', b: '1' } }, ANY, [], writer('maker'));
    const merged = afterUpdate({ data: { a: '1', b: '1' } }, { data: { a: '2', b: '1' } }, ANY, made, writer('merger'));
    expect(fieldsBy(merged, 'maker')).toEqual(['.data', '.data.b']);
    expect(fieldsBy(merged, 'merger')).toEqual(['.data.a']);
    const removed = afterUpdate({ data: { a: '2', b: '1' } }, { data: { b: '1' } }, ANY, merged, writer('remover'));
    expect(removed.map(({ manager }) => manager)).toEqual(['maker']);
  });
});
