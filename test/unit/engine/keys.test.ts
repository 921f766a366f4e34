/** Names of `Object.prototype` members, such as `constructor`, are valid keys. */
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { HOSTNAME_LABEL, NODEPOOL_HASH_ANNOTATION, ZONE_LABEL } from '#api/objects';
import { own, put } from '#lib';
import type { Snapshot } from '../../../src/engine/model.ts';
import {
  addResources,
  amountIn,
  fits,
  maxResources,
  resourcesOf,
  subtractResources,
} from '../../../src/engine/resources.ts';
import { selects } from '../../../src/engine/selectors.ts';
import { solve } from '../../../src/engine/solve.ts';
import { instanceType, nodePool, OPTIONS, oneOf, pod, snapshot, stateNode } from './build.ts';

/** Harmless names and their replacements in the same sort order. */
const RENAMED: ReadonlyMap<string, string> = new Map([
  ['constructos', 'constructor'],
  ['hasOwnPropertz', 'hasOwnProperty'],
  ['isPrototypeOg', 'isPrototypeOf'],
  ['toStrinh', 'toString'],
  ['valueOg', 'valueOf'],
]);
const harmless = fc.constantFrom(...RENAMED.keys());
const few = fc.uniqueArray(harmless, { maxLength: 2 });
const some = fc.uniqueArray(harmless, { minLength: 1, maxLength: 2 });
const map = <T>(value: fc.Arbitrary<T>) => fc.dictionary(harmless, value, { maxKeys: 2, noNullPrototype: true });
const labels = map(harmless);
const amounts = map(fc.constantFrom('1', '2', '3'));
const requirement = fc.oneof(
  fc.record({ key: harmless, operator: fc.constantFrom('In' as const, 'NotIn' as const), values: some }),
  fc.record({ key: harmless, operator: fc.constantFrom('Exists' as const, 'DoesNotExist' as const) }),
);
const taint = fc.record({ key: harmless, value: harmless, effect: fc.constant('NoSchedule' as const) });
const topologyKey = fc.constantFrom(ZONE_LABEL, HOSTNAME_LABEL, 'constructos');
const labelSelector = fc.record({ matchLabels: labels, matchExpressions: fc.array(requirement, { maxLength: 1 }) });

const podParts = fc.record(
  {
    labels,
    requests: amounts,
    namespace: harmless,
    nodeSelector: labels,
    tolerations: fc.array(fc.record({ key: harmless, operator: fc.constant('Exists' as const) }), { maxLength: 3 }),
    topologySpreadConstraints: fc.array(
      fc.record({
        maxSkew: fc.constant(1),
        topologyKey,
        whenUnsatisfiable: fc.constant('DoNotSchedule' as const),
        labelSelector,
      }),
      { maxLength: 1 },
    ),
    affinity: fc.record(
      {
        podAntiAffinity: fc.record({
          requiredDuringSchedulingIgnoredDuringExecution: fc.array(fc.record({ topologyKey, labelSelector }), {
            maxLength: 1,
          }),
        }),
      },
      { requiredKeys: [] },
    ),
  },
  { requiredKeys: ['labels'] },
);
const typed = fc.record({ zones: some, capacity: map(fc.constantFrom(1, 4)), requirements: labels });
const nodeParts = fc.record({ labels, allocatable: amounts });
const poolParts = fc.record({
  labels,
  requirements: fc.array(requirement, { maxLength: 1 }),
  taints: fc.array(taint, { maxLength: 1 }),
  limits: amounts,
});

const scene: fc.Arbitrary<Snapshot> = fc
  .record({
    pools: fc.uniqueArray(fc.tuple(harmless, poolParts), { minLength: 1, maxLength: 3, selector: ([name]) => name }),
    types: fc.uniqueArray(fc.tuple(harmless, typed), { minLength: 1, maxLength: 3, selector: ([name]) => name }),
    nodes: fc.uniqueArray(fc.tuple(harmless, nodeParts, few), { maxLength: 3, selector: ([name]) => name }),
    pods: fc.array(podParts, { minLength: 1, maxLength: 5 }),
    daemons: fc.array(podParts, { maxLength: 1 }),
  })
  .map(({ pools, types, nodes, pods, daemons }) =>
    snapshot({
      pools: pools.map(([name, parts]) => nodePool(name, { ...parts, limits: { cpu: '30', ...parts.limits } })),
      types: types.map(([name, { requirements, ...parts }]) =>
        instanceType(name, {
          ...parts,
          requirements: Object.entries(requirements).map(([key, value]) => oneOf(key, value)),
        }),
      ),
      nodes: nodes.map(([name, parts, running]) =>
        stateNode(name, {
          ...parts,
          pods: running.map((each) =>
            pod(`on-${name}-${each}`, { cpu: '1', labels: { [each]: each }, nodeName: name }),
          ),
        }),
      ),
      pendingPods: pods.map((parts, at) => pod(`pod-${at}`, { cpu: '1', ...parts })),
      daemonPods: daemons.map((parts, at) => pod(`daemon-${at}`, { cpu: '100m', ...parts })),
    }),
  );

const rename = (text: string, pairs: Iterable<readonly [string, string]>): string => {
  let renamed = text;
  for (const [from, to] of pairs) renamed = renamed.replaceAll(from, to);
  return renamed;
};
/** Plan without the hash of the NodePool, which depends on names. */
const plain = (value: unknown): string =>
  JSON.stringify(value, (key, each: unknown) =>
    key === NODEPOOL_HASH_ANNOTATION
      ? undefined
      : each instanceof Map
        ? { map: [...each] }
        : each instanceof Set
          ? { set: [...each] }
          : each,
  );

describe('a name of a member of Object.prototype', () => {
  it('does not affect a plan', () => {
    let placed = 0;
    fc.assert(
      fc.property(scene, (harmlessScene) => {
        const text = JSON.stringify(harmlessScene);
        const renamed = JSON.parse(rename(text, RENAMED)) as Snapshot;
        const expected = solve(JSON.parse(text) as Snapshot, OPTIONS);
        const backwards = [...RENAMED].map(([from, to]) => [to, from] as const);
        expect(rename(plain(solve(renamed, OPTIONS)), backwards)).toBe(plain(expected));
        placed += expected.claims.length + expected.placements.length;
      }),
      { numRuns: 200 },
    );
    expect(placed).toBeGreaterThan(10);
  });

  it.each([...RENAMED.values(), '__proto__'])('is absent from an empty map: %s', (key) => {
    expect(own({}, key)).toBeUndefined();
    expect(selects({ matchExpressions: [{ key, operator: 'Exists' }] }, {})).toBe(false);
    expect(selects({ matchExpressions: [{ key, operator: 'DoesNotExist' }] }, {})).toBe(true);
    expect(selects({ matchExpressions: [{ key, operator: 'NotIn', values: ['a'] }] }, {})).toBe(true);
    expect(amountIn({}, key)).toBe(0);
  });

  it.each([...RENAMED.values()])('is summed as a number: %s', (name) => {
    const one = resourcesOf({ [name]: '1' });
    expect(addResources(one, one, {})).toEqual({ [name]: 2 });
    expect(subtractResources(one, {})).toEqual(one);
    expect(maxResources({}, one)).toEqual(one);
    expect(fits(one, {})).toBe(false);
    expect(fits({}, one)).toBe(true);
    expect(fits(one, one)).toBe(true);
  });

  it('can be put into a map', () => {
    const filled: Record<string, number> = {};
    for (const key of [...RENAMED.values(), '__proto__']) put(filled, key, 1);
    expect(Object.keys(filled)).toEqual([...RENAMED.values(), '__proto__']);
    expect(own(filled, '__proto__')).toBe(1);
  });
});
