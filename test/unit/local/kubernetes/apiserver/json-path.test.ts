import { describe, expect, it } from '@jest/globals';
import { jsonPath } from '../../../../../src/local/kubernetes/apiserver/json-path.ts';

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
