import { describe, expect, it } from '@jest/globals';
import { defined, messageOf, timeOf, timestamp } from '#lib';
import type { KubeObject } from '../../../src/api/kubernetes.ts';
import { NODEPOOL_LABEL } from '../../../src/api/labels.ts';
import { labelOf, nodeNameOf, poolNameOf, uidOf } from '../../../src/api/object-fields.ts';

describe('defined', () => {
  it('removes only undefined values and keeps the order', () => {
    const fields = defined({ b: undefined, d: 0, a: '', c: false, e: null });
    expect(JSON.stringify(fields)).toBe('{"d":0,"a":"","c":false,"e":null}');
    expect(Object.keys(fields)).toEqual(['d', 'a', 'c', 'e']);
  });
});

describe('a field of an object', () => {
  const claim = { metadata: { name: 'a', uid: 'u', labels: { [NODEPOOL_LABEL]: 'default', zone: 'b' } } };

  it('is returned if it is set', () => {
    expect([poolNameOf(claim), labelOf(claim, 'zone'), uidOf(claim)]).toEqual(['default', 'b', 'u']);
    expect(nodeNameOf({ spec: { nodeName: 'n' } })).toBe('n');
  });

  it('is empty if it is absent, even with a name of an Object.prototype member', () => {
    const bare: Pick<KubeObject, 'metadata'> = { metadata: { name: 'a' } };
    expect([poolNameOf(bare), labelOf(claim, 'constructor'), uidOf(bare), nodeNameOf({ spec: {} })]).toEqual([
      '',
      '',
      '',
      '',
    ]);
  });
});

describe('a time', () => {
  it('is formatted with whole seconds, and parsed', () => {
    expect(timestamp(1_700_000_000_999)).toBe('2023-11-14T22:13:20Z');
    expect(timeOf('2023-11-14T22:13:20Z')).toBe(1_700_000_000_000);
    expect([timeOf(undefined), timeOf('soon')]).toEqual([Number.NaN, Number.NaN]);
  });
});

it.each([
  [new TypeError('no'), 'no'],
  ['text', 'text'],
  [undefined, 'undefined'],
])('returns as the message of %p: %p', (thrown, text) => {
  expect(messageOf(thrown)).toBe(text);
});
