import { describe, expect, it } from '@jest/globals';
import { fixedInformers } from '../../../src/kube/fixed-informers.ts';
import { WIDGET, widget } from './fakes.ts';

describe('fixedInformers', () => {
  it('serves the objects of a kind, with the indexes of all callers', () => {
    const informers = fixedInformers([widget('a', 1, 'red'), widget('b', 1, 'blue')]);
    const store = informers.store(WIDGET, { color: ({ spec }) => [spec?.color ?? ''] });
    expect(store.synced).toBe(true);
    expect(store.byIndex('color', 'blue')).toEqual([widget('b', 1, 'blue')]);
    const again = informers.store(WIDGET, { name: ({ metadata }) => [metadata.name] });
    expect(again.byIndex('name', 'a')).toEqual([widget('a', 1, 'red')]);
    expect(again.list()).toBe(store.list());
  });

  it('throws the error of a listener', () => {
    const store = fixedInformers([widget('a', 1)]).store(WIDGET);
    const fail = (): void => {
      throw new Error('cannot be used');
    };
    expect(() => store.subscribe(fail)).toThrow('cannot be used');
  });
});
