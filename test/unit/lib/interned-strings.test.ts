import { describe, expect, it } from '@jest/globals';
import { internShared, internStrings } from '../../../src/lib/interned-strings.ts';
import { heapUsed } from '../../support/heap.ts';

describe('internStrings', () => {
  it('does not change the content of objects', () => {
    const text = JSON.stringify({
      metadata: {
        name: 'web-7f9c5d-abcde',
        uid: '0b5c7f0e-0000-0000-0000-000000000001',
        labels: { __proto__: 'x'.repeat(20) },
      },
      spec: {
        requirements: [{ key: 'node.kubernetes.io/instance-type', values: ['c6gn.xlarge', 'm7i-flex.large'] }, null],
      },
      status: {
        conditions: [{ type: 'ContainersReady', status: 'True', message: 'm'.repeat(500) }],
        count: 3,
        ok: true,
      },
    });
    expect(JSON.stringify(internStrings(JSON.parse(text) as object))).toBe(text);
  });

  it('supports objects with thousands of levels', () => {
    const depth = 50_000;
    const nested = JSON.parse(`${'{"a":'.repeat(depth)}"the innermost text"${'}'.repeat(depth)}`) as object;
    let at: unknown = internStrings(nested);
    for (let level = 0; level < depth; level++) at = (at as { a: unknown }).a;
    expect(at).toBe('the innermost text');
  });

  it('shares equal strings, so that a thousand equal lists need little memory', () => {
    const text = JSON.stringify(Array.from({ length: 100 }, (_, at) => `an instance type of number ${at}`));
    const bytesOf = (treat: (object: object) => object): number => {
      const before = heapUsed();
      const kept = Array.from({ length: 1_000 }, () => treat(JSON.parse(text) as object));
      const grown = heapUsed() - before;
      expect(kept).toHaveLength(1_000);
      return grown;
    };
    const [interned, plain] = [bytesOf((object) => internStrings(object)), bytesOf((object) => object)];
    expect(interned).toBeLessThan(plain / 3);
  });

  it('reads a part that many objects share only once', () => {
    let reads = 0;
    const part = {
      get value(): string {
        reads++;
        return 'short';
      },
    };
    internShared(part);
    for (const name of ['one', 'two']) internStrings({ name, part });
    expect(reads).toBe(1);
    internStrings({ part: { ...part } });
    expect(reads).toBe(2); // once more for the copy
  });
});
