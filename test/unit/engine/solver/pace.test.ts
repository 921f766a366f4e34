/** Time limits of solves: namespaces share the time, and every step ends. */
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { Pod } from '#api/objects';
import type { Plan, SolveOptions } from '../../../../src/engine/model.ts';
import { namespaceOf, podKey } from '../../../../src/engine/pods.ts';
import { planOf, pod, replicas } from '../build.ts';

const podsOf = (namespace: string, count: number, cpu: string): readonly Pod[] =>
  replicas(count, namespace, { cpu }).map((each) => ({ ...each, metadata: { ...each.metadata, namespace } }));

/** Solves with a clock that advances by a millisecond for each trial of a pod. */
function planIn(placementMs: number, pendingPods: readonly Pod[], options: Partial<SolveOptions> = {}): Plan {
  let nowMs = 0;
  const working = (): void => {
    nowMs += 1;
  };
  const clock = { elapsedMs: () => nowMs, working };
  return planOf({ pendingPods }, { deadlineMs: 60_000, placementMs, ...clock, packing: 'compatible', ...options });
}

const evaluated = (plan: Plan, pods: readonly Pod[]): readonly Pod[] => {
  const left = new Set(plan.notEvaluated);
  return pods.filter((each) => !left.has(podKey(each)));
};

describe('a solve with many pods of one namespace', () => {
  const many = podsOf('many', 1_000, '2');
  const few = podsOf('few', 3, '1');

  it('places the pods of another namespace, although they are last in the order', () => {
    const plan = planIn(100, [...many, ...few]);
    expect(evaluated(plan, few)).toEqual(few);
    expect(plan.claims.flatMap(({ pods }) => pods)).toEqual(expect.arrayContaining(few.map(podKey)));
    expect(evaluated(plan, many).length).toBeGreaterThan(50);
    expect(plan.notEvaluated).toHaveLength(1_000 - evaluated(plan, many).length);
  });

  it('places them if the remaining pods of the namespace come first', () => {
    const { notEvaluated } = planIn(100, [...many, ...few]);
    const plan = planIn(100, [...many, ...few], { first: notEvaluated });
    expect(evaluated(plan, few)).toEqual(few);
  });

  it('launches a node for another namespace if only some nodes can be launched at a time', () => {
    const pods = [...podsOf('many', 20, '7500m'), ...podsOf('few', 1, '7')];
    const plan = planIn(10_000, pods, { mostLaunches: 2 });
    expect(plan.claims.map(({ pods: [first] }) => first?.split('/')[0]).sort()).toEqual(['few', 'many']);
    expect(plan.notEvaluated).toHaveLength(19);
  });

  it('tries all of them if the time is enough', () => {
    expect(planIn(10_000, [...many, ...few]).notEvaluated).toEqual([]);
  });

  it('ends the search for causes, and pods of another namespace have a cause', () => {
    const huge = Array.from({ length: 1_000 }, (_, at) => podsOf('many', 1, `${100_000 + at}m`)[0] as Pod).map(
      (each, at) => ({ ...each, metadata: { ...each.metadata, name: `huge-${at}`, uid: `huge-${at}` } }),
    );
    const other = podsOf('few', 1, '50');
    let nowMs = 0;
    const plan = planIn(2_000, [...huge, ...other], { explain: true, elapsedMs: () => nowMs++ });
    const hasCause = (each: Pod): boolean => {
      const refusal = plan.refusals.get(podKey(each));
      return refusal?.code === 'no-fit' && refusal.cause !== undefined;
    };
    expect(other.filter(hasCause)).toHaveLength(1);
    expect(plan.refusals.size).toBe(1_001);
    expect(huge.filter(hasCause).length).toBeLessThan(1_001);
  });
});

describe('a solve with heavy pods of several namespaces', () => {
  it('lets namespaces take turns', () => {
    const terms = Array.from({ length: 40 }, (_, at) => ({
      weight: 1,
      preference: { matchExpressions: [{ key: `k${at}`, operator: 'In' as const, values: ['a'] }] },
    }));
    const affinity = { nodeAffinity: { preferredDuringSchedulingIgnoredDuringExecution: terms } };
    const heavy = ['a', 'a', 'a', 'b'].map((namespace, at) => {
      const made = pod(`heavy-${at}`, { cpu: namespace === 'a' ? '2' : '1', affinity });
      return { ...made, metadata: { ...made.metadata, namespace } };
    });
    const tried: string[] = [];
    planIn(10_000, heavy, { working: ({ metadata: { name } }) => void tried.push(name) });
    const order = tried.slice(-heavy.length);
    expect(order).toEqual(['heavy-0', 'heavy-3', 'heavy-1', 'heavy-2']);
  });
});

describe('the time for pods', () => {
  it('has an equal part for each namespace, for random namespaces', () => {
    const sizes = fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 6 });
    fc.assert(
      fc.property(sizes, fc.integer({ min: 6, max: 120 }), (counts, placementMs) => {
        const pods = counts.flatMap((count, at) => podsOf(`ns-${at}`, count, `${1 + (at % 3)}`));
        const done = evaluated(planIn(placementMs, pods), pods);
        // each namespace can exceed its part by one pod
        const least = Math.floor(placementMs / counts.length) - counts.length;
        for (const [at, count] of counts.entries())
          expect(done.filter((each) => namespaceOf(each) === `ns-${at}`).length).toBeGreaterThanOrEqual(
            Math.min(count, least),
          );
      }),
    );
  });
});
