/** Checks that the cost limit bounds the values that random kubelet expressions process. */
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import fc from 'fast-check';
import {
  compileFailure,
  type InstanceTypeFacts,
  MOST_UNITS,
  withMaxPods,
} from '../../../../src/aws/kubelet/expressions.ts';

const M5_LARGE: InstanceTypeFacts = {
  vcpus: 2,
  memoryMib: 8192,
  defaultEnis: 3,
  ipsPerEni: 10,
  instanceType: 'm5.large',
  maxPods: 29,
};

/** Functions of texts and of lists of texts, by return type. */
const OF_TEXT = { list: [".split('')", ".split('a')"], text: ['.upperAscii()', '.trim()', '.substring(1)'] };
const OF_LIST = {
  list: [
    '.map(t, t + t)',
    '.map(t, t.size() > 1, t)',
    ".map(t, t + 'aaaaaaaaaaaaaaaaaaaa')",
    ".map(t, t.split('').join('aaaa'))",
    '.map(t, [1, 2, 3].map(u, t)[0])',
    '.filter(t, t == t)',
    ".filter(t, t.matches('^(a|ab)*') || t.size() / 0 == 1)",
  ],
  text: [".join('aaaaaaaaaaaaaaaaaaa')", '.join()', '[0]'],
};

/** A chain of functions that make texts and lists larger, smaller, or into each other. */
const grown = fc.array(fc.nat(1_000), { minLength: 1, maxLength: 60 }).map((choices) => {
  let [text, of] = ["'abcdefghij'", OF_TEXT];
  for (const choice of choices) {
    const list = of.list.map((step) => [step, OF_LIST] as const);
    const steps = [...list, ...of.text.map((step) => [step, OF_TEXT] as const)];
    const [step, next] = steps[choice % steps.length] ?? ['', of];
    [text, of] = [text + step, next];
  }
  return text;
});

const joined = fc.tuple(grown, grown).map(([a, b]) => `(${a}) + (${b})`);
const bound = fc
  .tuple(fc.integer({ min: 1, max: 40 }), grown)
  .map(([times, inner]) => `${'cel.bind(t, t + t, '.repeat(times).replace('t + t', inner)}t${')'.repeat(times)}`);
const sized = fc.oneof(grown, joined, bound).map((text) => `size(${text})`);

/** Characters and items that `split` and `join` have returned. */
let processed = 0;
const count =
  <T>(amountOf: (value: T) => number) =>
  (value: T): T => {
    processed += amountOf(value);
    return value;
  };

describe('a random expression', () => {
  const { split } = String.prototype;
  const { join } = Array.prototype;
  beforeEach(() => {
    const lengthOf = count(({ length }: { readonly length: number }) => length);
    jest.spyOn(String.prototype, 'split').mockImplementation(function (this: string, ...args: unknown[]) {
      return lengthOf(Reflect.apply(split, this, args)) as string[];
    });
    jest.spyOn(Array.prototype, 'join').mockImplementation(function (this: unknown[], ...args: unknown[]) {
      return lengthOf(Reflect.apply(join, this, args)) as string;
    });
  });
  afterEach(() => void jest.restoreAllMocks());

  it.each([255, 1_000, 4_096])('processes no more than its limit allows with up to %i characters', (longest) => {
    let [evaluated, refused] = [0, 0];
    fc.assert(
      fc.property(
        sized.filter(({ length }) => length <= longest),
        (maxPods) => {
          if (compileFailure({ maxPods }) !== undefined) return;
          processed = 0;
          try {
            withMaxPods({ maxPods }, M5_LARGE);
          } catch (error) {
            if (String(error).includes('it costs more than')) refused += 1;
          }
          evaluated += 1;
          // Ten characters are one unit, and the last value is created before it is counted. A split creates ten times
          // as many.
          expect(processed).toBeLessThan(MOST_UNITS * 10 * 20);
        },
      ),
      { numRuns: 3_000, seed: longest },
    );
    expect(evaluated).toBeGreaterThan(100);
    expect(refused).toBeGreaterThan(10);
  });
});
