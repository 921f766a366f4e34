import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import {
  labelSelector,
  objectSelector,
  selectorText,
} from '../../../../../../src/local/kubernetes/apiserver/selectors.ts';
import { ObjectStore } from '../../../../../../src/local/kubernetes/apiserver/storage/store.ts';

const name = fc.constantFrom('a', 'b', 'c', 'd');
const step = fc.record({ name, namespace: fc.constantFrom('x', 'y'), remove: fc.boolean() });

describe('the store', () => {
  const state = (entries: readonly { readonly key: string; readonly revision: number }[] | undefined) =>
    entries?.map(({ key, revision }) => `${key}@${revision}`);

  /** Performs the steps and returns the content at each revision. */
  function perform(store: ObjectStore, steps: readonly { name: string; namespace: string; remove: boolean }[]) {
    const seen = new Map([[store.revision, state(store.list('things'))]]);
    for (const { name, namespace, remove } of steps) {
      const entry = store.get('things', namespace, name);
      if (remove && entry) store.remove('things', entry);
      else
        store.put('things', {
          apiVersion: 'v1',
          kind: 'Thing',
          metadata: { name, namespace, uid: `${namespace}-${name}` },
        });
      seen.set(store.revision, state(store.list('things')));
    }
    return seen;
  }

  it('restores any revision in its history', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 30 }), (steps) => {
        const store = new ObjectStore(1000);
        for (const [revision, held] of perform(store, steps))
          expect(state(store.listAt('things', undefined, revision))).toEqual(held);
      }),
    );
  });

  it('has changes that transform an old list into the current list', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 30 }), fc.nat(30), (steps, back) => {
        const store = new ObjectStore(1000);
        perform(store, steps);
        const from = Math.max(1, store.revision - back);
        const held = new Map((store.listAt('things', undefined, from) ?? []).map((entry) => [entry.key, entry]));
        for (const { type, entry } of store.since('things', from) ?? []) {
          if (type === 'DELETED') held.delete(entry.key);
          else held.set(entry.key, entry);
        }
        expect([...held.keys()].sort()).toEqual(store.list('things').map(({ key }) => key));
      }),
    );
  });

  it('removes the oldest changes beyond its limit', () => {
    const store = new ObjectStore(4);
    perform(
      store,
      Array.from({ length: 20 }, () => ({ name: 'a', namespace: 'x', remove: false })),
    );
    expect(store.since('things', 1)).toBeUndefined();
    expect(store.since('things', store.revision - 2)).toHaveLength(2);
  });

  it('indexes owners and dependents by uid', () => {
    const store = new ObjectStore(10);
    const ownerReferences = [{ apiVersion: 'v1', kind: 'Thing', name: 'a', uid: 'u1' }];
    const owned = store.put('things', {
      apiVersion: 'v1',
      kind: 'Thing',
      metadata: { name: 'b', uid: 'u2', ownerReferences },
    });
    expect(store.dependentsOf('u1')).toEqual([{ storage: 'things', key: '/b' }]);
    store.remove('things', owned);
    expect([store.dependentsOf('u1'), store.placeOf('u2')]).toEqual([[], undefined]);
  });
});

describe('a selector', () => {
  const labels = fc.dictionary(name, fc.constantFrom('1', '2', '3'));
  const expression = fc.oneof(
    fc.record({
      key: name,
      operator: fc.constantFrom('In', 'NotIn'),
      values: fc.array(fc.constantFrom('1', '2'), { minLength: 1 }),
    }),
    fc.record({ key: name, operator: fc.constantFrom('Exists', 'DoesNotExist') }),
  );

  it('matches equally as an object and as text', () => {
    fc.assert(
      fc.property(labels, fc.array(expression, { maxLength: 3 }), labels, (matchLabels, matchExpressions, held) => {
        const selector = { matchLabels, matchExpressions };
        const byText = labelSelector(selectorText(selector)) ?? (() => true);
        expect(byText(held)).toBe(objectSelector(selector)(held));
      }),
    );
  });

  it('selects nothing if absent and everything if empty', () => {
    expect([objectSelector(undefined)({}), objectSelector({})({ a: '1' })]).toEqual([false, true]);
  });
});
