import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { LabelSelector, Pod, StringMap } from '#api/objects';
import { type Rule, ruleCounts } from '../../../../src/engine/topology/group.ts';
import { RuleIndex } from '../../../../src/engine/topology/rule-index.ts';
import { ByLabels } from '../../../../src/engine/topology/running-pods.ts';
import { pod } from '../build.ts';

const NAMESPACES = ['a', 'b', 'c'];
const value = fc.constantFrom('1', '2', '3');
const key = fc.constantFrom('app', 'team', 'tier', 'constructor');
const labels = fc.dictionary(key, value, { maxKeys: 4 });
const expression = fc.record({
  key,
  operator: fc.constantFrom('In' as const, 'NotIn' as const, 'Exists' as const, 'DoesNotExist' as const),
  values: fc.array(value, { maxLength: 3 }),
});
const selector: fc.Arbitrary<LabelSelector | undefined> = fc.option(
  fc.record(
    {
      matchLabels: fc.dictionary(key, value, { maxKeys: 2 }),
      matchExpressions: fc.array(expression, { maxLength: 2 }),
    },
    { requiredKeys: [] },
  ),
  { nil: undefined },
);

const ruleOf = (of: LabelSelector | undefined, namespaces: readonly string[] = ['default']): Rule =>
  ({ selector: of, namespaces: new Set(namespaces) }) as unknown as Rule;

const rule = fc
  .tuple(selector, fc.uniqueArray(fc.constantFrom(...NAMESPACES), { maxLength: 3 }))
  .map(([of, namespaces]) => ruleOf(of, namespaces));

const podIn = (namespace: string, own: StringMap): Pod => {
  const { metadata, ...rest } = pod('any');
  return { ...rest, metadata: { ...metadata, namespace, labels: own } };
};
const anyPod = fc.tuple(fc.constantFrom(...NAMESPACES), labels).map(([namespace, own]) => podIn(namespace, own));

const appOf = (app: number): StringMap => ({ team: 'x', app: `app-${app}` });

describe('RuleIndex', () => {
  it('finds the rules that count a pod, in the order of their addition', () => {
    fc.assert(
      fc.property(fc.array(rule, { maxLength: 20 }), anyPod, (rules, some) => {
        const index = new RuleIndex<Rule>();
        for (const each of rules) index.add(each, each);
        expect(index.counting(some)).toEqual(rules.filter((each) => ruleCounts(each, some)));
      }),
    );
  });

  it('compares a pod only with the rules for its own application', () => {
    let compared = 0;
    const index = new RuleIndex<number>();
    for (let app = 0; app < 1000; app++) {
      const { selector: own, ...rest } = ruleOf({ matchLabels: appOf(app) });
      let isAdded = false;
      const counted = {
        ...rest,
        get selector() {
          if (isAdded) compared++;
          return own;
        },
      };
      index.add(counted, app);
      isAdded = true;
    }
    expect(index.counting(podIn('default', appOf(7)))).toEqual([7]);
    expect(compared).toBeLessThan(10);
  });
});

describe('ByLabels', () => {
  it('finds the pods that a rule counts after each change', () => {
    const step = fc.record({ some: anyPod, isRemoval: fc.boolean(), rule });
    fc.assert(
      fc.property(
        fc.array(labels, { minLength: 0, maxLength: 80 }),
        fc.array(step, { maxLength: 30 }),
        (first, steps) => {
          const index = new ByLabels<Pod>();
          const all: Pod[] = [];
          const add = (each: Pod): void => {
            index.set(each, each);
            all.push(each);
          };
          for (const own of first) add(podIn('a', own));
          for (const { some, isRemoval, rule: asked } of steps) {
            const gone = isRemoval ? all.shift() : undefined;
            if (gone === undefined) add(some);
            else index.delete(gone);
            const found = new Set(index.countedBy(asked));
            expect(found).toEqual(new Set(all.filter((each) => ruleCounts(asked, each))));
          }
        },
      ),
    );
  });

  it('compares a rule only with the pods of its own application', () => {
    let compared = 0;
    const counted = (own: StringMap): StringMap =>
      new Proxy(own, {
        getOwnPropertyDescriptor(target, name) {
          compared++;
          return Reflect.getOwnPropertyDescriptor(target, name);
        },
      });
    const index = new ByLabels<number>();
    for (let app = 0; app < 1000; app++) index.set(podIn('default', counted(appOf(app))), app);
    const ask = (app: number) => index.countedBy(ruleOf({ matchLabels: appOf(app) }));
    expect(ask(7)).toEqual([7]);
    compared = 0;
    expect(ask(8)).toEqual([8]);
    expect(compared).toBeLessThan(10);
  });
});
