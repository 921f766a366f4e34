/**
 * Keys with the names of members of Object.prototype, in patches of the operator and in patches for the local API
 * server.
 */
import { describe, expect, it } from '@jest/globals';
import { applyMergePatch as applied } from '#local/api-conventions';
import { clone, equal } from '#local/testing';
import { mergePatch } from '../../../src/kube/patch.ts';

const KEYS = ['constructor', 'toString', 'valueOf', 'hasOwnProperty', '__proto__'];
const mapOf = (key: string, value: unknown): unknown =>
  JSON.parse(JSON.stringify({ '?': value }).replace('"?"', JSON.stringify(key)));

describe.each(KEYS)('a key %s', (key) => {
  it('is added, changed and removed by a merge patch', () => {
    const [one, two] = [mapOf(key, 'one'), mapOf(key, 'two')];
    for (const [before, after] of [
      [{}, one],
      [one, two],
      [two, {}],
      [{ labels: one }, { labels: {} }],
      [{ labels: {} }, { labels: two }],
    ] as const)
      expect(JSON.stringify(applied(before, mergePatch(before, after)))).toBe(JSON.stringify(after));
    expect(mergePatch(one, mapOf(key, 'one'))).toBeUndefined();
  });

  it('is copied and compared', () => {
    const map = mapOf(key, { inner: 1 });
    expect(JSON.stringify(clone(map))).toBe(JSON.stringify(map));
    expect(Object.getPrototypeOf(clone(map))).toBe(Object.prototype);
    expect(equal(map, {})).toBe(false);
    expect(equal({}, map)).toBe(false);
    expect(equal(map, clone(map))).toBe(true);
  });
});
