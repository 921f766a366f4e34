import { describe, expect, it } from '@jest/globals';
import { canonicalJson, decimalFingerprint, fingerprint, setFingerprint } from '../../../src/aws/fingerprint.ts';

describe('canonicalJson', () => {
  it.each([
    [{ b: 1, a: [2, 1] }, '{"a":[2,1],"b":1}'],
    [{ b: undefined, a: [undefined, null] }, '{"a":[null,null]}'],
    [{ '"': '\n', 10: 'ten', 9: 'nine' }, '{"\\"":"\\n","10":"ten","9":"nine"}'],
    [{}, '{}'],
    ['text', '"text"'],
    [undefined, 'null'],
  ])('writes %j with its keys in order', (value, text) => expect(canonicalJson(value)).toBe(text));
});

// Names of launch templates and client tokens contain these fingerprints, so a new release must compute the same
// values.
describe('a fingerprint of lists as sets', () => {
  const value = { tags: [{ Key: 'b' }, { Key: 'a' }], zones: [['z', 'y'], ['x']], data: new Uint8Array([2, 1]) };

  it('is stable across releases', () => {
    expect(setFingerprint(value)).toBe('222a59b66e19c19044082fab7a6d7030');
    expect(decimalFingerprint(value)).toBe('2461878786377499024');
    expect(fingerprint(value)).toBe('217641ba54781de75e8d2f920e91c237');
  });

  it('does not depend on the order of lists, at any depth', () => {
    const other = { zones: [['x'], ['y', 'z']], tags: [{ Key: 'a' }, { Key: 'b' }], data: new Uint8Array([2, 1]) };
    expect(setFingerprint(other)).toBe(setFingerprint(value));
    expect(fingerprint(other)).not.toBe(fingerprint(value));
  });

  it('depends on the order of bytes', () => {
    expect(setFingerprint({ ...value, data: new Uint8Array([1, 2]) })).not.toBe(setFingerprint(value));
  });
});
