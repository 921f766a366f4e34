import { beforeEach, describe, expect, it } from '@jest/globals';
import { silent } from '#observe/logger';
import { ObjectStore } from '../../../src/kube/store.ts';
import { WIDGET, type Widget, widget } from './fakes.ts';

let store: ObjectStore<Widget>;
beforeEach(() => {
  store = new ObjectStore(WIDGET, silent);
  store.addIndexes({ color: ({ spec }) => (spec?.color === undefined ? [] : [spec.color]) });
});

const named = (color: string): readonly string[] => store.byIndex('color', color).map(({ metadata }) => metadata.name);

describe('an index of a store', () => {
  it('returns the same list until an object with the value changes', () => {
    store.put(widget('a', 1, 'red'));
    const red = store.byIndex('color', 'red');
    store.put(widget('b', 1, 'blue'));
    expect(store.byIndex('color', 'red')).toBe(red);
    expect(store.byIndex('color', 'none')).toBe(store.byIndex('color', 'neither'));
  });

  it('follows additions, changes and removals', () => {
    store.put(widget('a', 1, 'red'));
    store.put(widget('b', 1, 'red'));
    expect(named('red')).toEqual(['a', 'b']);
    store.put(widget('a', 2, 'blue'));
    expect([named('red'), named('blue')]).toEqual([['b'], ['a']]);
    store.put(widget('a', 3, 'red'));
    expect([named('red'), named('blue')]).toEqual([['b', 'a'], []]);
    const [first] = store.byIndex('color', 'red');
    store.put(widget('b', 2, 'red'));
    expect(store.byIndex('color', 'red')).not.toContain(first);
    store.remove(widget('b', 3, 'red'));
    expect(named('red')).toEqual(['a']);
  });
});
