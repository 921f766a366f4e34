import { describe, expect, it } from '@jest/globals';
import type { PodDisruptionBudget } from '#api/objects';
import { budgetsOf, isReadable } from '../../../../../src/engine/disruption/candidates/pdb-index.ts';
import { budget, pod } from '../objects.ts';

const web = pod('web', { metadata: { namespace: 'shop', labels: { app: 'web', tier: 'front' } } });

const of = (
  name: string,
  selector: PodDisruptionBudget['spec']['selector'],
  namespace = 'shop',
): PodDisruptionBudget => ({
  ...budget(name, selector === undefined ? {} : { selector }),
  metadata: { name, namespace },
});

describe('the list of budgets of a pod', () => {
  it.each([
    { what: 'by a label', selector: { matchLabels: { app: 'web' } }, is: true },
    { what: 'by all of its labels', selector: { matchLabels: { app: 'web', tier: 'front' } }, is: true },
    {
      what: 'by several labels, one of which differs',
      selector: { matchLabels: { app: 'web', tier: 'back' } },
      is: false,
    },
    {
      what: 'by a label and an expression that does not match',
      selector: {
        matchLabels: { app: 'web' },
        matchExpressions: [{ key: 'tier', operator: 'NotIn' as const, values: ['front'] }],
      },
      is: false,
    },
    {
      what: 'by an expression alone',
      selector: { matchExpressions: [{ key: 'tier', operator: 'Exists' as const }] },
      is: true,
    },
    { what: 'by an empty selector', selector: {}, is: true },
    { what: 'without a selector', selector: undefined, is: false },
    {
      what: 'by a label in another namespace',
      selector: { matchLabels: { app: 'web' } },
      namespace: 'bank',
      is: false,
    },
    { what: 'by an empty selector in another namespace', selector: {}, namespace: 'bank', is: false },
  ])('contains those that select it $what: $is', ({ selector, namespace, is }) => {
    expect(budgetsOf(web, [of('b', selector, namespace)]).map(({ metadata }) => metadata.name)).toEqual(
      is ? ['b'] : [],
    );
  });

  it('has the order of all budgets for any kind of selector', () => {
    const budgets = [
      of('first', { matchLabels: { tier: 'front' } }),
      of('second', {}),
      of('third', { matchLabels: { app: 'web' } }),
    ];
    expect(budgetsOf(web, budgets).map(({ metadata }) => metadata.name)).toEqual(['first', 'second', 'third']);
  });
});

describe('a budget whose selector exceeds the limit of rules', () => {
  const expressions = (count: number, values: number) =>
    Array.from({ length: count }, (_, at) => ({
      key: `k${at}`,
      operator: 'NotIn' as const,
      values: Array.from({ length: values }, (_, n) => `v${n}`),
    }));

  it.each([
    ['101 expressions', { matchExpressions: expressions(101, 1) }],
    ['1,010 values', { matchExpressions: expressions(10, 101) }],
    ['101 labels', { matchLabels: Object.fromEntries(Array.from({ length: 101 }, (_, at) => [`k${at}`, 'x'])) }],
  ])('is unreadable and blocks with %s', (_, selector) => {
    expect(isReadable(of('large', selector))).toBe(false);
  });

  it('is readable at the limit', () => {
    expect(isReadable(of('b', { matchExpressions: expressions(100, 10) }))).toBe(true);
  });

  it('selects too many pods rather than too few', () => {
    const last = { key: 'app', operator: 'DoesNotExist' as const };
    const selector = { matchExpressions: [...expressions(100, 1), last] };
    expect(budgetsOf(web, [of('large', selector)])).toHaveLength(1);
  });

  it('is evaluated only up to the limit', () => {
    let reads = 0;
    const labels = new Proxy({ app: 'web' } as Record<string, string>, {
      getOwnPropertyDescriptor(target, key) {
        reads += 1;
        return Reflect.getOwnPropertyDescriptor(target, key);
      },
    });
    budgetsOf(pod('p', { metadata: { namespace: 'shop', labels } }), [
      of('large', { matchExpressions: expressions(2_000, 1) }),
    ]);
    expect(reads).toBeLessThan(250);
  });
});
