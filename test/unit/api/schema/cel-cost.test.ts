/** What an evaluation may cost: as much as on the API server, so that no expression holds anybody up. */
import { describe, expect, it } from '@jest/globals';
import { celCompiler, celValue } from '../../../../src/api/schema/cel.ts';
import { BudgetError, withinCost } from '../../../../src/api/schema/cel-cost.ts';

const compile = celCompiler(['object'], undefined, true);
const many = Array.from({ length: 1_000 }, (_, at) => at);
const object = celValue(undefined, { many, text: 'ab'.repeat(50_000), words: Array(300).fill('x'.repeat(10_000)) });
const EXCEEDED = 'operation cancelled: actual cost limit exceeded';
const HURRY_MS = 5_000;

describe('an evaluation that costs too much', () => {
  it.each([
    ['loops in loops', 'object.many.all(a, object.many.all(b, object.many.all(c, a + b + c >= 0)))'],
    [
      'a loop whose errors are passed over',
      'object.many.exists(a, object.many.exists(b, object.many.exists(c, a < 0)))',
    ],
    ['lists made in loops', 'object.many.map(a, object.many.map(b, object.many)).size() > 0'],
    [
      'a text that doubles',
      `${'cel.bind(t, t + t, '.repeat(30).replace('t + t', "'0123456789' + object.text")}t${')'.repeat(30)} == ''`,
    ],
    [
      'a list that doubles',
      `${'cel.bind(t, t + t, '.repeat(30).replace('t + t', 'object.many')}t${')'.repeat(30)} == []`,
    ],
    ['nests that are compared', `${'cel.bind(t, [t, t], '.repeat(40).replace('[t, t]', '[1]')}t == t${')'.repeat(40)}`],
    ['replacements', "object.text.replace('a', object.text) == ''"],
    ['a separator', 'object.words.join(object.text) == object.text'],
    ['long patterns over long texts', "object.many.exists(a, object.text.matches('(ab)*c|(ba)*d|[a-z]+e'))"],
    ['sets', 'object.many.all(a, sets.contains(object.many, object.many))'],
  ])('ends: %s', (_, expression) => {
    const startedMs = performance.now();
    expect(() => compile(expression).run({ object })).toThrow(EXCEEDED);
    expect(performance.now() - startedMs).toBeLessThan(HURRY_MS);
  });

  it.each([
    'object.many.all(a, a >= 0 && a < 1000)',
    "object.many.map(a, string(a)).join(',').size() > 10",
    "object.text.contains('ba') && object.many.filter(a, a in [1, 2]).size() == 2",
    'object.many.exists(a, a == 999) && object.many.exists_one(a, a == 7)',
    "has(object.text) && object.?none.orValue('x') == 'x'",
    "cel.bind(n, object.many.size(), n == 1000 ? 'yes' : 'no') == 'yes'",
    "[1, 2] + [3] == [1, 2, 3] && {'a': 1}.a == 1 && -(1 + 2) * 3 == -9 && (1 + 2) * 3 == 9",
    "'a' + 'b' == 'ab' && !('c' in ['a', 'b']) && b'x' == b'x' && 'q\"uo\\'te\\n' != ''",
    "duration('1h') > duration('1m') && timestamp('2026-01-01T00:00:00Z') < timestamp('2027-01-01T00:00:00Z')",
    '1.5 + 2.25 == 3.75 && 7 / 2 == 3 && 7 % 2 == 1 && 3u == 3u && 1e3 == 1000.0',
  ])('is not one of everyday: %s', (expression) => {
    expect(compile(expression).fault).toBeUndefined();
    expect(compile(expression).run({ object })).toBe(true);
  });

  it('compiles separators of separators once each', () => {
    const nested = `${"'ab'.split('').join(".repeat(40)}'x'${')'.repeat(40)}.size() == 81`;
    expect(compile(nested).run({ object })).toBe(true);
  });

  it('does not know the functions that count', () => {
    expect(compile('cost_of_loop_([1], -1000000) == []').fault).toContain('cost_of_loop_');
  });

  it('counts bytes, durations and time zones by their cost', () => {
    for (const expression of [
      `${'cel.bind(t, t + t, '.repeat(30).replace('t + t', "b'0123456789'")}t${')'.repeat(30)} == b''`,
      "duration(object.text.substring(0, 20000)) == duration('1s')",
      "object.words.map(t, object.many.map(n, timestamp(n).getHours('Asia/Tokyo')).size()).size() == 0",
      "object.many.all(n, string(n).matches('a{1000}b{1000}') || true)",
    ])
      expect(() => compile(expression).run({ object })).toThrow(EXCEEDED);
  });

  it('is part of what is around it, which ends when nothing is left', () => {
    const loop = compile('object.many.all(a, object.many.all(b, a >= 0) || true)');
    const cheap = compile('object.many.all(a, a >= 0)');
    expect(() => loop.run({ object })).toThrow(EXCEEDED);
    expect(() =>
      withinCost(10_000, () => {
        for (let times = 0; times < 100; times++) cheap.run({ object });
      }),
    ).toThrow(BudgetError);
    // nothing of it stays
    expect(cheap.run({ object })).toBe(true);
  });
});
