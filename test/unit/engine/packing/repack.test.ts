/** Replacement of planned nodes by cheaper ones. */
import { describe, expect, it, jest } from '@jest/globals';
import {
  type Affinity,
  CAPACITY_TYPE_LABEL,
  HOSTNAME_LABEL,
  INSTANCE_TYPE_LABEL,
  type Pod,
  ZONE_LABEL,
} from '#api/objects';
import type { Plan } from '../../../../src/engine/model.ts';
import { Shop } from '../../../../src/engine/packing/shop.ts';
import { instanceType, nodePool, oneOf, type PodParts, planOf, pod, replicas, type SnapshotParts } from '../build.ts';

const TYPES = [
  instanceType('small', { cpu: 2, usd: 0.2 }),
  instanceType('medium', { cpu: 4, usd: 0.4 }),
  instanceType('large', { cpu: 16, usd: 2.4 }),
];

/** First-fit puts all pods on one large node. Medium nodes cost less per pod. */
const planUnder = (limits: Readonly<Record<string, string>>): Plan =>
  planOf({
    types: TYPES,
    pools: [nodePool('default', { limits })],
    pendingPods: replicas(12, 'web', { cpu: '1', memory: '128Mi' }),
  });

const summary = ({ claims }: Plan) => ({
  usdPerHour: claims.reduce((sum, { usdPerHour }) => sum + usdPerHour, 0),
  types: new Set(claims.flatMap(({ instanceTypes }) => instanceTypes)),
});

describe('a cheaper node', () => {
  it('allows all types that hold its pods', () => {
    expect(summary(planUnder({}))).toEqual({
      usdPerHour: expect.closeTo(0.6),
      types: new Set(['small', 'medium', 'large']),
    });
  });

  it('allows no larger types if limits would count them', () => {
    // Three claims that allow large nodes count as 48 CPU.
    expect(summary(planUnder({ cpu: '20' }))).toEqual({
      usdPerHour: expect.closeTo(0.6),
      types: new Set(['small']),
    });
  });
});

describe('packing within limits', () => {
  it('uses more expensive nodes with less CPU if the cheapest nodes would exceed the limit', () => {
    const types = [
      instanceType('small', { cpu: 4, gib: 8, usd: 0.11 }),
      instanceType('big', { cpu: 8, gib: 64, usd: 1 }),
      instanceType('huge', { cpu: 16, gib: 128, usd: 4 }),
    ];
    const pendingPods = replicas(18, 'cache', { cpu: '100m', memory: '7Gi' });
    const usdUnder = (limits: Readonly<Record<string, string>>): number =>
      summary(planOf({ types, pools: [nodePool('default', { limits })], pendingPods })).usdPerHour;
    // 18 small nodes at the spot price, or two big nodes
    expect(usdUnder({})).toBeCloseTo(0.99);
    expect(usdUnder({ cpu: '16' })).toBeCloseTo(1);
  });

  it('finds the cheapest nodes within the limit if much cheaper nodes would exceed it', () => {
    const types = [
      instanceType('small', { cpu: 4, gib: 8, usd: 0.11 }),
      instanceType('double', { cpu: 4, gib: 16, usd: 0.25 }),
      instanceType('big', { cpu: 8, gib: 64, usd: 1.3 }),
      instanceType('huge', { cpu: 16, gib: 128, usd: 4 }),
    ];
    const pendingPods = replicas(18, 'cache', { cpu: '100m', memory: '7Gi' });
    const usdUnder = (limits: Readonly<Record<string, string>>): number =>
      summary(planOf({ types, pools: [nodePool('default', { limits })], pendingPods })).usdPerHour;
    expect(usdUnder({})).toBeCloseTo(0.99); // 18 small nodes
    expect(usdUnder({ cpu: '40' })).toBeCloseTo(1.125); // nine double nodes
    expect(usdUnder({ cpu: '20' })).toBeCloseTo(1.3); // two big nodes
  });
});

describe('a search for nodes within limits', () => {
  /** Number of searches of a solve. Each search has its own shop. */
  const searchesOf = (parts: SnapshotParts): number => {
    const buy = jest.spyOn(Shop.prototype, 'buy');
    try {
      planOf(parts);
      return new Set(buy.mock.contexts).size;
    } finally {
      buy.mockRestore();
    }
  };
  it('is repeated only if the cheapest nodes exceed a limit', () => {
    const types = [
      instanceType('small', { cpu: 4, gib: 8, usd: 0.11 }),
      instanceType('double', { cpu: 4, gib: 16, usd: 0.25 }),
      instanceType('big', { cpu: 8, gib: 64, usd: 1.3 }),
      instanceType('huge', { cpu: 16, gib: 128, usd: 4 }),
    ];
    const pendingPods = replicas(18, 'cache', { cpu: '100m', memory: '7Gi' });
    const searchesUnder = (limits: Readonly<Record<string, string>>): number =>
      searchesOf({ types, pools: [nodePool('default', { limits })], pendingPods });
    // one search without a fee and one with the default fee: 18 small nodes
    expect(searchesUnder({})).toBe(2);
    expect(searchesUnder({ cpu: '72' })).toBe(2);
    // the first price of the limit is high enough for double nodes, and the second price for big nodes
    expect(searchesUnder({ cpu: '40' })).toBe(3);
    expect(searchesUnder({ cpu: '20' })).toBe(4);
  });

  it('is not repeated if the nodes are within the limits, but minValues prevents them', () => {
    const types = [
      instanceType('small', { cpu: 2, usd: 0.2 }),
      instanceType('large', { cpu: 16, usd: 2.4 }),
      instanceType('larger', { cpu: 16, usd: 3 }),
    ];
    const requirements = [{ key: INSTANCE_TYPE_LABEL, operator: 'Exists', minValues: 2 }] as const;
    // a small node counts as a larger one, so the limit leaves only one type for the second node
    const pools = [nodePool('default', { requirements, limits: { cpu: '24' } })];
    const pendingPods = replicas(6, 'web', { cpu: '1', memory: '128Mi' });
    // for each of the two fees, one search with all types, and one with types that leave enough types
    expect(searchesOf({ types, pools, pendingPods })).toBe(4);
  });
});

describe('packing of nodes that will be launched', () => {
  const types = [
    instanceType('lean', { cpu: 32, gib: 64, usd: 1.09 }),
    instanceType('roomy', { cpu: 32, gib: 128, usd: 1.23 }),
  ];
  /** Pods with much and with little memory. First-fit places both on each node, because it goes by CPU. */
  const pairs = (count: number): readonly Pod[] =>
    Array.from({ length: count }, (_, index) => [
      pod(`cache-${index}`, { cpu: `${3000 - 40 * index}m`, memory: '12Gi' }),
      pod(`web-${index}`, { cpu: `${2980 - 40 * index}m`, memory: '5Gi' }),
    ]).flat();
  const typesOf = (pendingPods: readonly Pod[], afterBinding: boolean): readonly string[] =>
    planOf({ types, pendingPods }, { afterBinding })
      .claims.map(({ cheapest }) => cheapest)
      .sort();

  it('uses larger nodes if kube-scheduler would leave pods without room on the cheapest nodes', () => {
    expect(typesOf(pairs(10), false)).toEqual(['lean', 'roomy']);
    expect(typesOf(pairs(10), true)).toEqual(['roomy', 'roomy']);
    expect(typesOf(pairs(10).toReversed(), true)).toEqual(['roomy', 'roomy']);
  });

  it('uses the cheapest nodes if they hold the pods in any order', () => {
    const alike = replicas(20, 'web', { cpu: '3', memory: '5Gi' });
    expect(typesOf(alike, true)).toEqual(['lean', 'lean']);
  });
});

describe('packing of clusters with many different rules', () => {
  const apartFrom = (app: string): Affinity => ({
    podAntiAffinity: {
      requiredDuringSchedulingIgnoredDuringExecution: [
        { topologyKey: HOSTNAME_LABEL, labelSelector: { matchLabels: { app } } },
      ],
    },
  });
  /** Distinct node affinity for each name, although the allowed types are equal. */
  const affinityFor = (name: string): Affinity => ({
    nodeAffinity: {
      requiredDuringSchedulingIgnoredDuringExecution: {
        nodeSelectorTerms: [
          {
            matchExpressions: [
              { key: INSTANCE_TYPE_LABEL, operator: 'In', values: ['small', 'medium', 'large', `other-${name}`] },
            ],
          },
        ],
      },
    },
  });
  const deployments = (count: number, parts: (app: string) => PodParts): readonly Pod[] =>
    Array.from({ length: count }, (_, index) => `app-${index}`).flatMap((app) =>
      replicas(3, app, { cpu: '1', memory: '128Mi', labels: { app }, ...parts(app) }),
    );
  /** Price of a plan relative to the price of `compatible`. */
  const relativePrice = (parts: SnapshotParts): number => {
    const [ours, compatible] = [planOf(parts), planOf(parts, { packing: 'compatible' })];
    expect(ours.refusals.size).toBe(0);
    return summary(ours).usdPerHour / summary(compatible).usdPerHour;
  };

  it('lowers the price of 300 Deployments with host anti-affinity of their own, and keeps their pods apart', () => {
    const pendingPods = deployments(300, (app) => ({ affinity: apartFrom(app) }));
    expect(relativePrice({ types: TYPES, pendingPods })).toBeLessThan(0.8);
    for (const { pods } of planOf({ types: TYPES, pendingPods }).claims) {
      const apps = pods.map((key) => key.replace(/-\d+$/, ''));
      expect(new Set(apps).size).toBe(apps.length);
    }
  });

  it('lowers the price of 300 Deployments with a node affinity of their own', () => {
    const pendingPods = deployments(300, (app) => ({ affinity: affinityFor(app) }));
    expect(relativePrice({ types: TYPES, pendingPods })).toBeLessThan(0.8);
  });

  it('packs many node affinities if most kinds of pods share one of them', () => {
    const shared = Array.from({ length: 900 }, (_, index) =>
      replicas(1, `shared-${index}`, {
        cpu: `${900 + (index % 300)}m`,
        memory: `${128 + index}Mi`,
        affinity: affinityFor('a'),
      }),
    );
    const own = Array.from({ length: 150 }, (_, index) =>
      replicas(1, `own-${index}`, { cpu: '1', memory: '128Mi', affinity: affinityFor(`b-${index}`) }),
    );
    const parts = { types: TYPES, pendingPods: [...shared.flat(), ...own.flat()] };
    expect(planOf(parts).unpacked).toBeUndefined();
    expect(relativePrice(parts)).toBeLessThan(0.9);
  });

  it('ignores spread rules by host that count only nodes of other NodePools', () => {
    const teams = Array.from({ length: 130 }, (_, index) => `team-${index}`);
    const pools = teams.map((team) => nodePool(team, { requirements: [oneOf('team', team)] }));
    const pendingPods = teams.flatMap((team) =>
      replicas(6, team, {
        cpu: '1',
        memory: '128Mi',
        labels: { app: 'web' },
        nodeSelector: { team },
        topologySpreadConstraints: [
          {
            maxSkew: 3,
            topologyKey: HOSTNAME_LABEL,
            whenUnsatisfiable: 'DoNotSchedule',
            labelSelector: { matchLabels: { app: 'web' } },
          },
        ],
      }),
    );
    const types = [instanceType('large', { cpu: 16, usd: 2.4 }), instanceType('medium', { cpu: 4, usd: 0.4 })];
    expect(relativePrice({ types, pools, pendingPods })).toBeLessThanOrEqual(1);
  });
});

describe('packing of pods that a zonal spread rule counts', () => {
  const labels = { app: 'web' };
  const spread = replicas(3, 'spread', {
    cpu: '1',
    memory: '128Mi',
    labels,
    topologySpreadConstraints: [
      {
        maxSkew: 1,
        topologyKey: ZONE_LABEL,
        whenUnsatisfiable: 'DoNotSchedule',
        labelSelector: { matchLabels: labels },
      },
    ],
  });
  /** These pods fill a node before other pods are placed, so no zone counts them. */
  const counted = replicas(2, 'counted', {
    cpu: '1',
    memory: '256Mi',
    labels,
    nodeSelector: { [INSTANCE_TYPE_LABEL]: 'small' },
  });

  it('shares their nodes with other pods, but not with pods that the rule would count in another zone', () => {
    const others = replicas(21, 'other', { cpu: '1', memory: '128Mi' });
    const plan = planOf({ types: TYPES, pendingPods: [...spread, ...counted, ...others] });
    // 26 pods on full nodes of 2 CPU at the spot price
    expect(summary(plan).usdPerHour).toBeCloseTo(1.3);
    const nodes = plan.claims.map(({ pods }) => pods.join());
    expect(nodes.filter((pods) => pods.includes('spread') && pods.includes('other'))).not.toEqual([]);
    expect(nodes.filter((pods) => pods.includes('spread') && pods.includes('counted'))).toEqual([]);
  });
});

describe('packing with rules of NodePools and workloads', () => {
  const usdWith = (parts: SnapshotParts, packing: 'cheapest' | 'compatible'): number =>
    summary(planOf(parts, { packing })).usdPerHour;

  it('uses only types that leave enough types for minValues if a full node of the cheapest type does not', () => {
    const types = [
      instanceType('small', { cpu: 2, usd: 0.1 }),
      instanceType('medium', { cpu: 4, usd: 0.4 }),
      instanceType('large', { cpu: 16, usd: 0.41 }),
    ];
    const requirements = [{ key: INSTANCE_TYPE_LABEL, operator: 'Exists', minValues: 2 }] as const;
    const pools = [nodePool('default', { requirements })];
    const parts = { types, pools, pendingPods: replicas(12, 'web', { cpu: '1', memory: '128Mi' }) };
    expect(usdWith(parts, 'cheapest')).toBeLessThan(usdWith(parts, 'compatible'));
    for (const { instanceTypes } of planOf(parts).claims) expect(instanceTypes.length).toBeGreaterThanOrEqual(2);
  });

  it('keeps pods in the domains that count them only on nodes with the labels that another pod requires', () => {
    const labels = { app: 'web' };
    const topologySpreadConstraints = [
      {
        maxSkew: 1,
        topologyKey: ZONE_LABEL,
        whenUnsatisfiable: 'DoNotSchedule',
        labelSelector: { matchLabels: labels },
      },
    ] as const;
    const nodeSelector = { [CAPACITY_TYPE_LABEL]: 'on-demand' };
    const pendingPods = [
      ...replicas(6, 'spread', { cpu: '1', memory: '128Mi', labels, nodeSelector, topologySpreadConstraints }),
      ...replicas(6, 'counted', { cpu: '900m', memory: '128Mi', labels }),
    ];
    const types = [instanceType('small', { cpu: 2, usd: 0.1 }), instanceType('large', { cpu: 16, usd: 2.4 })];
    const parts = { types, pendingPods };
    expect(usdWith(parts, 'cheapest')).toBeLessThan(0.7 * usdWith(parts, 'compatible'));
  });
});
