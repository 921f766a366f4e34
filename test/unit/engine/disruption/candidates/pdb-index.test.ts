import { describe, expect, it } from '@jest/globals';
import type { PodDisruptionBudget } from '../../../../../src/api/kubernetes.ts';
import { budgetsOf } from '../../../../../src/engine/disruption/candidates/pdb-index.ts';
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

describe('the budgets of a pod', () => {
  it.each([
    { what: 'by a label', selector: { matchLabels: { app: 'web' } }, is: true },
    { what: 'by all of its labels', selector: { matchLabels: { app: 'web', tier: 'front' } }, is: true },
    { what: 'by labels of which one is another', selector: { matchLabels: { app: 'web', tier: 'back' } }, is: false },
    {
      what: 'by a label and an expression that does not hold',
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
  ])('are those that select it $what: $is', ({ selector, namespace, is }) => {
    expect(budgetsOf(web, [of('b', selector, namespace)]).map(({ metadata }) => metadata.name)).toEqual(
      is ? ['b'] : [],
    );
  });

  it('come in the order of the list, however they select', () => {
    const budgets = [
      of('first', { matchLabels: { tier: 'front' } }),
      of('second', {}),
      of('third', { matchLabels: { app: 'web' } }),
    ];
    expect(budgetsOf(web, budgets).map(({ metadata }) => metadata.name)).toEqual(['first', 'second', 'third']);
  });
});
