import { describe, expect, it } from '@jest/globals';
import { jsonPath } from '../../../../../src/local/kubernetes/apiserver/json-path.ts';
import { humanDuration } from '../../../../../src/local/kubernetes/apiserver/resources/columns.ts';

describe('jsonPath', () => {
  const object = {
    metadata: { labels: { 'a.b/c': 'x' } },
    spec: {
      items: [
        { name: 'one', n: 1, ok: true },
        { name: 'two', n: 2 },
      ],
    },
  };
  it.each([
    ['.spec.items[0].name', ['one']],
    ['{.spec.items[1].n}', [2]],
    ['.spec.items[*].name', ['one', 'two']],
    ['.spec.items[-1].name', ['two']],
    ['.spec.items[?(@.name=="two")].n', [2]],
    ["$.spec.items[?(@.name!='two')].n", [1]],
    ['.spec.items[?(@.ok==true)].name', ['one']],
    ['.spec.items[?(@.ok)].name', ['one']],
    ['.metadata.labels.a\\.b/c', ['x']],
    [".metadata.labels['a.b/c']", ['x']],
    ['.spec.nothing.here', []],
  ])('evaluates %s', (path, found) => {
    expect(jsonPath(path)(object)).toEqual(found);
  });
});

describe('humanDuration', () => {
  it.each([
    [0, '0s'],
    [119_000, '119s'],
    [120_000, '2m'],
    [185_000, '3m5s'],
    [11 * 60_000, '11m'],
    [200 * 60_000, '3h20m'],
    [10 * 3_600_000, '10h'],
    [50 * 3_600_000, '2d2h'],
    [30 * 86_400_000, '30d'],
    [800 * 86_400_000, '2y70d'],
    [-5000, '<invalid>'],
  ])('prints %d ms as %s', (ms, printed) => {
    expect(humanDuration(ms)).toBe(printed);
  });
});
