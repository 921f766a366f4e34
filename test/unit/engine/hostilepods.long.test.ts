/** Valid pods that would take excessive solving time or an unlimited number of nodes. */
import { describe, expect, it } from '@jest/globals';
import {
  type NodeSelectorRequirement,
  type NodeSelectorTerm,
  type PodAffinityTerm,
  type WeightedPodAffinityTerm,
  ZONE_LABEL,
} from '#api/objects';
import { type HostPort, portConflict } from '../../../src/engine/host-ports.ts';
import { nodePool, oneOf, type PodParts, planOf, pod, refusalText, stateNode } from './build.ts';

const KEY = 'example.com/rank';

const wanting = (name: string, ...matchExpressions: NodeSelectorRequirement[]) =>
  pod(name, {
    affinity: {
      nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [{ matchExpressions }] } },
    },
  });
const gt = (value: string): NodeSelectorRequirement => ({ key: KEY, operator: 'Gt', values: [value] });
const lt = (value: string): NodeSelectorRequirement => ({ key: KEY, operator: 'Lt', values: [value] });
const notIn = (...values: string[]): NodeSelectorRequirement => ({ key: KEY, operator: 'NotIn', values });

describe('an integer of a requirement', () => {
  const ranked = nodePool('ranked', { requirements: [{ key: KEY, operator: 'Exists' }] });

  it.each([
    ['9007199254740991', ['9007199254740992'], '9007199254740993'],
    ['9007199254740992', ['9007199254740992', '9007199254740993'], '9007199254740994'],
    ['9223372036854775806', [], '9223372036854775807'],
  ] as const)('labels, above %s except %j, the node %s', (above, without, label) => {
    const pendingPods = [wanting('large', gt(above), notIn(...without, 'x'))];
    const [claim] = planOf({ pools: [ranked], pendingPods }).claims;
    expect(claim?.labels[KEY]).toBe(label);
    const bound = { key: KEY, operator: 'Gte', values: [String(BigInt(above) + 1n)] };
    expect(claim?.requirements).toContainEqual(bound);
  });

  it.each([
    ['a bound that no integer exceeds', [gt('9223372036854775807')]],
    ['bounds that exclude each other', [gt('5'), lt('6')]],
    ['bounds of which all integers are excluded', [gt('5'), lt('8'), notIn('6', '7')]],
    ['a bound below all labels', [lt('0')]],
    ['values of which none is left', [{ key: KEY, operator: 'In', values: ['a'] }, notIn('a')]],
  ] as const)('launches no node if it allows no value, such as %s, with or without the label on the NodePool', (_, expressions) => {
    for (const pool of [ranked, nodePool('default')]) {
      const plan = planOf({ pools: [pool], pendingPods: [wanting('picky', ...expressions), pod('plain')] });
      expect(plan.claims.flatMap(({ pods }) => pods)).toEqual(['default/plain']);
      expect([...plan.refusals.keys()]).toEqual(['default/picky']);
    }
  });

  it('requires a label even if values are also excluded', () => {
    const plan = planOf({ pendingPods: [wanting('picky', gt('5'), notIn('7'))] });
    expect(plan.claims).toEqual([]);
  });
});

const many = <T>(count: number, make: (at: number) => T): T[] => Array.from({ length: count }, (_, at) => make(at));
const podTerm = (at: number, topologyKey: string = ZONE_LABEL): PodAffinityTerm => ({
  topologyKey,
  labelSelector: { matchLabels: { app: `app-${at}` } },
});
const weighed = (at: number): WeightedPodAffinityTerm => ({ weight: 1 + (at % 100), podAffinityTerm: podTerm(at) });
const spread = (at: number, whenUnsatisfiable: 'DoNotSchedule' | 'ScheduleAnyway') => ({
  maxSkew: 1,
  topologyKey: ZONE_LABEL,
  whenUnsatisfiable,
  labelSelector: { matchLabels: { app: `app-${at}` } },
});
const nodePreference = (at: number) => ({
  weight: 1 + (at % 100),
  preference: { matchExpressions: [{ key: `example.com/k${at}`, operator: 'In' as const, values: ['x'] }] },
});
const required = (...nodeSelectorTerms: NodeSelectorTerm[]): PodParts => ({
  affinity: { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms } } },
});
const preferring = (count: number): PodParts => ({
  affinity: {
    nodeAffinity: { preferredDuringSchedulingIgnoredDuringExecution: many(count, nodePreference) },
  },
});

/** `is` is the text of the refusal. The pod is placed if `is` is absent. */
const HUGE: readonly { readonly of: string; readonly pod: PodParts; readonly is?: string }[] = [
  { of: '5,000 preferred terms of node affinity', pod: preferring(5_000) },
  {
    of: '10,000 alternatives of node affinity',
    pod: required(...many(10_000, (at) => ({ matchExpressions: [oneOf('example.com/k', `v${at}`)] }))),
    is: 'only 100 of its alternatives and preferences of each kind were considered',
  },
  { of: '10,000 tolerations', pod: { tolerations: many(10_000, (at) => ({ key: `k${at}`, operator: 'Exists' })) } },
  {
    of: '5,000 preferred terms of pod affinity',
    pod: { affinity: { podAffinity: { preferredDuringSchedulingIgnoredDuringExecution: many(5_000, weighed) } } },
  },
  {
    of: '5,000 required terms of pod anti-affinity',
    pod: {
      affinity: {
        podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: many(5_000, (at) => podTerm(at)) },
      },
    },
    is: '5000 required pod (anti-)affinity terms and spread constraints, at most 64 are supported',
  },
  {
    of: '3,000 soft spread constraints',
    pod: { topologySpreadConstraints: many(3_000, (at) => spread(at, 'ScheduleAnyway')) },
  },
  {
    of: '3,000 hard spread constraints',
    pod: { topologySpreadConstraints: many(3_000, (at) => spread(at, 'DoNotSchedule')) },
    is: '3000 required pod (anti-)affinity terms and spread constraints, at most 64 are supported',
  },
  {
    of: '50,000 values',
    pod: required({ matchExpressions: [{ ...notIn(...many(50_000, (at) => `value-${at}`)) }] }),
    is: 'a NodeClaim can have at most 200000',
  },
  {
    of: '5,000 expressions',
    pod: required({ matchExpressions: many(5_000, (at) => ({ ...notIn('x'), key: `example.com/k${at}` })) }),
    is: '5000 expressions of its node selector and a term of its node affinity, at most 100 are supported',
  },
  {
    of: '20,000 keys in a selector',
    pod: {
      topologySpreadConstraints: [
        {
          ...spread(0, 'ScheduleAnyway'),
          labelSelector: { matchExpressions: many(20_000, (at) => ({ key: `k${at}`, operator: 'Exists' })) },
        },
        {
          ...spread(0, 'DoNotSchedule'),
          labelSelector: { matchExpressions: many(20_000, (at) => ({ key: `k${at}`, operator: 'Exists' })) },
        },
      ],
    },
    is: '20000 label keys in selectors of its pod (anti-)affinity and spread constraints, at most 256 are supported',
  },
];

describe('a hostile pod', () => {
  it.each(HUGE)('is placed or refused with $of, and twenty similar pods do not affect other pods', ({
    pod: parts,
    is,
  }) => {
    const pendingPods = [
      ...many(20, (at) => pod(`huge-${at}`, { cpu: '2', ...structuredClone(parts) })),
      pod('healthy', { cpu: '1' }),
    ];
    const options = { deadlineMs: 60_000, elapsedMs: () => 0 };
    const plan = planOf({ pendingPods }, options);
    const placed = plan.claims.flatMap(({ pods }) => pods);
    expect(placed).toContain('default/healthy');
    if (is === undefined) expect(plan.refusals.size).toBe(0);
    else {
      expect(placed).toEqual(['default/healthy']);
      expect(plan.refusals.size).toBeGreaterThan(0);
      for (const { text } of plan.refusals.values()) expect(text).toContain(is);
    }
    // Every pod is accounted for, and unevaluated pods are first in the next solve.
    expect(placed.length + plan.refusals.size + plan.notEvaluated.length).toBe(21);
    const later = planOf({ pendingPods }, { ...options, first: plan.notEvaluated });
    const [waiting] = plan.notEvaluated;
    if (waiting !== undefined) expect(later.notEvaluated).not.toContain(waiting);
  });

  it('is evaluated with its heaviest preferences if it has more than the limit', () => {
    const preferences = [
      ...many(150, (at) => ({ ...nodePreference(at), weight: 1 })),
      { weight: 100, preference: { matchExpressions: [oneOf(ZONE_LABEL, 'zone-c')] } },
    ];
    const [claim] = planOf({
      pendingPods: [
        pod('choosy', {
          affinity: { nodeAffinity: { preferredDuringSchedulingIgnoredDuringExecution: preferences } },
        }),
      ],
    }).claims;
    expect(claim?.requirements).toContainEqual(oneOf(ZONE_LABEL, 'zone-c'));
  });

  it('is refused after its share of the time if it has many alternatives, and other pods use the rest', () => {
    let nowMs = 0;
    const options = { deadlineMs: 60_000, elapsedMs: () => (nowMs += 100) };
    const plan = planOf({ pendingPods: [pod('slow', { cpu: '2', ...preferring(31) }), pod('quick')] }, options);
    expect(plan.claims.flatMap(({ pods }) => pods)).toEqual(['default/quick']);
    expect(refusalText(plan, 'slow')).toBe(
      'scheduling the pod took longer than 3s; reduce its affinity terms, spread constraints or tolerations',
    );
  });

  it('is evaluated after all other pods if it has many alternatives, and shares its time with similar pods', () => {
    let nowMs = 0;
    const tried: string[] = [];
    const plan = planOf(
      {
        pendingPods: [
          pod('heavy-1', { cpu: '7', ...preferring(40) }),
          pod('heavy-2', { cpu: '6', ...preferring(40) }),
          pod('light', { cpu: '1' }),
        ],
      },
      {
        deadlineMs: 60_000,
        elapsedMs: () => (nowMs += 50),
        working: ({ metadata: { name } }) => void (tried.at(-1) !== name && tried.push(name)),
      },
    );
    expect(tried.slice(-3)).toEqual(['light', 'heavy-1', 'heavy-2']);
    expect(plan.notEvaluated).toEqual(['default/heavy-2']);
  });

  it('volumes in many places each is evaluated with some combinations', () => {
    const names = many(20, (at) => `data-${at}`);
    const pendingPods = [
      pod('stateful', {
        volumes: names.map((name) => ({ name, persistentVolumeClaim: { claimName: name } })),
      }),
      pod('healthy'),
    ];
    const plan = planOf({
      pendingPods,
      persistentVolumeClaims: names.map((name) => ({
        apiVersion: 'v1',
        kind: 'PersistentVolumeClaim',
        metadata: { name, namespace: 'default' },
        spec: { storageClassName: name },
      })),
      storageClasses: names.map((name) => ({
        apiVersion: 'storage.k8s.io/v1',
        kind: 'StorageClass',
        metadata: { name },
        provisioner: 'example.com/disk',
        volumeBindingMode: 'WaitForFirstConsumer',
        allowedTopologies: ['a', 'b', 'c'].map((value) => ({
          matchLabelExpressions: [{ key: `example.com/${name}`, values: [value] }],
        })),
      })),
    });
    expect(plan.claims.flatMap(({ pods }) => pods)).toEqual(['default/healthy']);
  });
});

describe('a list of host ports', () => {
  const port = (at: number, ip = '0.0.0.0'): HostPort => ({ ip, port: at, protocol: 'TCP' });
  const taken = many(200, (at) => port(1_000 + at, at % 2 === 0 ? '10.0.0.1' : '0.0.0.0'));

  it.each([
    [[port(1_000)], true],
    [[port(1_000, '10.0.0.1')], true],
    [[port(1_000, '10.0.0.2')], false],
    [[port(1_001, '10.0.0.2')], true],
    [[port(999), port(1_201, '::')], false],
  ])('conflicts with many ports as with few: %j: %s', (wanted, clashes) => {
    const few = taken.filter(({ port: at }) => wanted.some((each) => each.port === at));
    expect(portConflict(wanted, few) !== undefined).toBe(clashes);
    expect(portConflict([...wanted, port(1), port(2)], taken) !== undefined).toBe(clashes);
  });
});

describe('a running pod with very many anti-affinity rules', () => {
  const repelling = (name: string, first: number, count: number) => {
    const terms = many(count, (at) => podTerm(first + at, 'kubernetes.io/hostname'));
    const affinity = { podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: terms } };
    return pod(name, { nodeName: 'n0', affinity });
  };
  const labelled = (app: string) => pod(app, { cpu: '100m', labels: { app } });

  it('is evaluated with the first of its terms, and reported', () => {
    const nodes = [stateNode('n0', { pods: [repelling('running', 0, 3_000)] })];
    const plan = planOf({ nodes, pendingPods: [labelled('app-63'), labelled('app-64')] });
    expect(plan.placements.flatMap(({ pods }) => pods)).toEqual(['default/app-64']);
    expect(plan.leftOut).toEqual([
      {
        kind: 'Pod',
        namespace: 'default',
        name: 'running',
        text: 'only 64 of its 3000 required pod anti-affinity terms are considered',
      },
    ]);
  });

  it('is evaluated up to a common memory limit, and the first pod beyond it is reported', () => {
    const others = many(2_500, (at) => stateNode(`n${at + 1}`));
    const pods = many(65, (at) => repelling(`running-${at}`, at * 64, 64));
    const plan = planOf({ nodes: [stateNode('n0', { pods }), ...others], pendingPods: [labelled('app-0')] });
    expect(plan.placements.map(({ node }) => node)).not.toContain('n0');
    expect(plan.leftOut).toEqual([
      {
        kind: 'Pod',
        namespace: 'default',
        name: 'running-62',
        text: expect.stringMatching(/too many different required pod anti-affinity terms; only 3998 are considered/),
      },
    ]);
  });
});
