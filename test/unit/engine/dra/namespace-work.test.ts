/** Expensive selectors of one namespace: its pods wait for later solves, and pods of other namespaces do not. */
import { describe, expect, it, jest } from '@jest/globals';
import type { Pod, ResourceClaim } from '#api/objects';
import { MOST_UNITS } from '../../../../src/engine/dra/search-budget.ts';
import type { Plan } from '../../../../src/engine/model.ts';
import { podKey } from '../../../../src/engine/pods.ts';
import { MOST_NAMESPACE_UNITS, NamespaceWork } from '../../../../src/engine/solver/namespace-work.ts';
import { pod } from '../build.ts';
import { devices, request, template } from './build.ts';
import { HUNDRED, planOf, privatePod } from './cluster.ts';

const TEMPLATES = { b: template(devices(64)) };

interface Member {
  readonly pod: Pod;
  readonly claim: ResourceClaim;
}

const inNamespace = (namespace: string, { pod: own, claim }: Member): Member => ({
  pod: { ...own, metadata: { ...own.metadata, namespace } },
  claim: { ...claim, metadata: { ...claim.metadata, namespace } },
});

/** Expression with a high cost that is evaluated once for each id. */
const expensive = (id: string): string => `${HUNDRED}.all(a, ${HUNDRED}.all(b, a + b >= 0 && '${id}' != ''))`;

const claiming = (namespace: string, name: string, expressions: readonly string[]): Member => {
  const selectors = expressions.map((expression) => ({ cel: { expression } }));
  return inNamespace(namespace, privatePod(name, [request('r', { selectors })]));
};

const planFor = (members: readonly Member[], more: readonly Pod[] = []) =>
  planOf({
    templates: TEMPLATES,
    claims: members.map(({ claim }) => claim),
    pendingPods: [...members.map((each) => each.pod), ...more],
  });

const textOf = (plan: Plan, key: string): string | undefined => plan.refusals.get(key)?.text;

describe('a namespace with expensive selectors', () => {
  const count = 12;
  const own = Array.from({ length: count }, (_, at) =>
    claiming(
      'attacker',
      `own-${at}`,
      Array.from({ length: 16 }, (__, index) => expensive(`${at}-${index}`)),
    ),
  );

  it('has only some pods tried in a solve, and pods of other namespaces are placed', () => {
    const others = [claiming('other', 'claiming', ["device.driver != ''"])];
    const plain = { ...pod('plain', { cpu: '1' }) };
    const plan = planFor([...own, ...others], [plain]);
    const placed = new Set(plan.claims.flatMap(({ pods }) => pods));
    expect([...placed]).toEqual(expect.arrayContaining(['other/claiming', podKey(plain)]));
    expect(plan.notEvaluated.length).toBeGreaterThan(count / 2);
    expect(plan.notEvaluated.every((key) => key.startsWith('attacker/'))).toBe(true);
    expect(plan.notEvaluated.length).toBeLessThan(count);
  });

  it('has all pods placed after several solves', () => {
    const placed = new Set<string>();
    let solves = 0;
    while (placed.size < count && solves < count) {
      solves += 1;
      const plan = planFor(own.filter((each) => !placed.has(podKey(each.pod))));
      for (const key of plan.claims.flatMap(({ pods }) => pods)) placed.add(key);
    }
    expect(placed.size).toBe(count);
  });

  it('has a pod refused whose selectors cost more than one pod may use', () => {
    const huge = claiming(
      'attacker',
      'huge',
      Array.from({ length: 80 }, (_, at) => expensive(`huge-${at}`)),
    );
    expect(textOf(planFor([huge]), 'attacker/huge')).toContain('selectors of devices cost more than');
  });

  it('has a claim refused whose selectors are too long to compile', () => {
    const long = Array.from({ length: 11 }, (_, at) => `device.driver != '${`${at}`.padEnd(10_000, 'x')}'`);
    const text = textOf(planFor([claiming('attacker', 'long', long)]), 'attacker/long');
    expect(text).toMatch(/its selectors have \d+ characters, at most 102400 are supported/);
  });
});

describe('a group of forty pods of one namespace with expensive selectors', () => {
  const attackers = Array.from({ length: 40 }, (_, at) =>
    claiming(
      'attacker',
      `forty-${at}`,
      Array.from({ length: 16 }, (__, index) => expensive(`forty-${at}-${index}`)),
    ),
  );
  const victim = claiming('other', 'victim', ["device.driver != 'other'"]);

  /** Returns a plan and the evaluated units of each namespace. */
  function measured(first: readonly string[]): { readonly plan: Plan; readonly units: ReadonlyMap<string, number> } {
    const units = new Map<string, number>();
    const counterFor = NamespaceWork.prototype.counterFor;
    const spy = jest.spyOn(NamespaceWork.prototype, 'counterFor').mockImplementation(function (
      this: NamespaceWork,
      pod,
    ) {
      const { namespace = '' } = pod.metadata;
      const count = counterFor.call(this, pod);
      return (more) => {
        units.set(namespace, (units.get(namespace) ?? 0) + more);
        count(more);
      };
    });
    try {
      const plan = planOf(
        {
          templates: TEMPLATES,
          claims: [...attackers, victim].map(({ claim }) => claim),
          pendingPods: [...attackers, victim].map((each) => each.pod),
        },
        { first },
      );
      return { plan, units };
    } finally {
      spy.mockRestore();
    }
  }

  it('costs a limited number of evaluations in each solve, and the pod of another namespace is placed in each', () => {
    let first: readonly string[] = [];
    for (let solve = 0; solve < 2; solve += 1) {
      const { plan, units } = measured(first);
      expect(plan.claims.flatMap(({ pods }) => pods)).toContain('other/victim');
      // the pod that exceeds the limit is completed
      expect(units.get('attacker')).toBeLessThanOrEqual(MOST_NAMESPACE_UNITS + MOST_UNITS);
      expect(plan.notEvaluated.length).toBeGreaterThan(0);
      expect(plan.notEvaluated.every((key) => key.startsWith('attacker/'))).toBe(true);
      first = plan.notEvaluated;
    }
  });
});

describe('NamespaceWork', () => {
  it('counts each namespace separately', () => {
    const work = new NamespaceWork();
    const [a, b] = ['a', 'b'].map((namespace) => ({ ...pod('p'), metadata: { name: 'p', namespace } }));
    if (a === undefined || b === undefined) throw new Error('no pods');
    work.counterFor(a)(10_000_001);
    expect([work.isSpentFor(a), work.isSpentFor(b)]).toEqual([true, false]);
  });
});
