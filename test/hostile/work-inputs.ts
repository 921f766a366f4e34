/** Objects with texts, rules or numbers that are expensive to evaluate. The API server accepts all of them. */
import type { KubeObject } from '#api/objects';
import { nodeClassBase, nodePoolBase, overlayBase } from './bases.ts';
import { smallPod } from './healthy.ts';
import type { ObjectsInput } from './play.ts';

type Json = Readonly<Record<string, unknown>>;

const many = <T>(count: number, make: (index: number) => T): readonly T[] =>
  Array.from({ length: count }, (_, i) => make(i));

/** Returns an EC2NodeClass, a NodePool that refers to it, and a pod that selects the NodePool. */
const withNodeClass = (name: string, spec: Json): readonly KubeObject[] => {
  const base = nodeClassBase(name) as KubeObject & { readonly spec: Json };
  const nodeClass = { ...base, spec: { ...base.spec, ...spec } };
  return [nodeClass, nodePoolBase(name, name), smallPod(name, { 'karpenter.sh/nodepool': name })];
};

const digits = "['1111'].map(x, x + x).map(x, x + x).map(x, x + x).map(x, x + x).map(x, x + x)[0]";
const numbers = `[${many(90, String).join()}]`;

const EXPRESSIONS: Readonly<Record<string, string>> = {
  'split and join': `instance_type${".split('').join('aaaaaaaaaaaaaaaaaaa')".repeat(5)}.size()`,
  'texts that double': `['ab']${'.map(t, t + t)'.repeat(40)}[0].size()`,
  'bytes that double': `[b'ab']${'.map(t, t + t)'.repeat(40)}[0].size()`,
  'lists that double': `[[1, 2]]${'.map(t, t + t)'.repeat(40)}[0].size()`,
  'types that double': `[1]${'.map(x, {x: x})'.repeat(45)}.size()`,
  'names of names': `${'cel.bind(t, t + t, '.repeat(20).replace('t + t', "'ab'")}t.size()${')'.repeat(20)}`,
  'lists within lists': `${numbers}.map(a, ${numbers}.filter(b, a > b).size()).size()`,
  'a long duration': `duration(${digits} + 's').getSeconds()`,
  'large patterns': `instance_type.matches('${'a{1000}'.repeat(20)}') ? 1 : 2`,
};

const expressionInputs: readonly ObjectsInput[] = Object.entries(EXPRESSIONS).map(([what, text], at) => ({
  name: `an EC2NodeClass with expressions of ${what}`,
  objects: withNodeClass(`hostile-expression-${at}`, {
    kubelet: { maxPods: text, kubeReserved: { cpu: text, memory: text }, systemReserved: { memory: text } },
  }),
  explained: ['EC2NodeClass'],
}));

const LONGEST = 60_000;
const USER_DATA: Readonly<Record<string, string>> = {
  'nested lists': `a: ${'['.repeat(LONGEST)}`,
  'maps in maps': `a: ${'{a: '.repeat(LONGEST / 4)}`,
  'nested lists that EC2 takes': `a: ${'['.repeat(16_000)}`,
};

const userDataInputs: readonly ObjectsInput[] = Object.entries(USER_DATA).map(([what, userData], at) => ({
  name: `an EC2NodeClass with user data of ${what}`,
  objects: withNodeClass(`hostile-user-data-${at}`, { userData }),
  explained: ['EC2NodeClass'],
}));

const overlay = (at: number, requirements: readonly Json[]): KubeObject => {
  const { spec: _, ...base } = overlayBase(`hostile-overlay-${at}`) as KubeObject & { readonly spec: Json };
  return { ...base, spec: { priceAdjustment: '-10%', weight: 1 + at, requirements } } as KubeObject;
};
/** Returns NodePools that no pod selects. */
const poolsOf = (count: number): readonly KubeObject[] => many(count, (at) => nodePoolBase(`hostile-pool-${at}`));
const others = (count: number): readonly Json[] =>
  many(count, (at) => ({ key: `example.com/k${at}`, operator: 'NotIn', values: ['x'] }));

const overlayInputs: readonly ObjectsInput[] = [
  {
    name: '300 NodeOverlays and 20 NodePools',
    objects: [...poolsOf(20), ...many(300, (at) => overlay(at, others(5)))],
    explained: ['NodeOverlay'],
  },
  {
    name: '600 NodeOverlays, more than are evaluated',
    objects: many(600, (at) => overlay(at, others(1))),
    explained: ['NodeOverlay'],
  },
  {
    name: '50 NodeOverlays of 100 requirements each',
    objects: many(50, (at) => overlay(at, others(100))),
    explained: ['NodeOverlay'],
  },
];

/** Returns a budget whose rules except the last one select every pod of its namespace. */
const budget = (at: number, rules: number): KubeObject =>
  ({
    apiVersion: 'policy/v1',
    kind: 'PodDisruptionBudget',
    metadata: { name: `hostile-budget-${at}`, namespace: 'default' },
    spec: {
      minAvailable: 0,
      selector: {
        matchExpressions: [
          ...many(rules, (n) => ({ key: `example.com/k${n}`, operator: 'NotIn', values: [`v${at}`] })),
          { key: 'example.com/nowhere', operator: 'Exists' },
        ],
      },
    },
  }) as unknown as KubeObject;

const budgetInputs: readonly ObjectsInput[] = [
  {
    name: '100 PodDisruptionBudgets of 2,000 rules each',
    objects: many(100, (at) => budget(at, 2_000)),
    explained: [],
  },
];

export const WORK_INPUTS: readonly ObjectsInput[] = [
  ...expressionInputs,
  ...userDataInputs,
  ...overlayInputs,
  ...budgetInputs,
];
