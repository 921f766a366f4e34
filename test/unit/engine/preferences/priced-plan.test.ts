import { describe, expect, it } from '@jest/globals';
import { HOSTNAME_LABEL, PREFERENCE_WORTH_ANNOTATION, PREFERENCES_ANNOTATION, ZONE_LABEL } from '#api/objects';
import type { Plan, Snapshot } from '../../../../src/engine/model.ts';
import { prepare, solve } from '../../../../src/engine/solve.ts';
import {
  instanceType,
  nodePool,
  OPTIONS,
  offering,
  oneOf,
  type PodParts,
  pod,
  replicas,
  type SnapshotParts,
  snapshot,
  stateNode,
} from '../build.ts';

const APP = { labelSelector: { matchLabels: { app: 'web' } } };
const soft = (weight: number, topologyKey = HOSTNAME_LABEL) => ({ weight, podAffinityTerm: { topologyKey, ...APP } });
const ANTI: PodParts = {
  labels: { app: 'web' },
  affinity: { podAntiAffinity: { preferredDuringSchedulingIgnoredDuringExecution: [soft(100)] } },
};
const SPREAD: PodParts = {
  labels: { app: 'web' },
  topologySpreadConstraints: [{ maxSkew: 1, topologyKey: HOSTNAME_LABEL, whenUnsatisfiable: 'ScheduleAnyway', ...APP }],
};
const SIX = replicas(6, 'web', { cpu: '500m', memory: '512Mi', ...ANTI, ...SPREAD });

const PRICED = { ...OPTIONS, preferencePolicy: 'Priced', packing: 'cheapest' } as const;

interface Terms {
  readonly worth?: number;
  readonly most?: number;
}

const input = (parts: SnapshotParts, { worth = 0.1, most = 1 }: Terms = {}): Snapshot => {
  const found = snapshot(parts);
  return { ...found, pools: found.pools.map((pool) => ({ ...pool, preferences: { worth, most } })) };
};
const planOf = (parts: SnapshotParts, terms?: Terms): Plan => solve(input(parts, terms), PRICED);
const sizes = ({ claims }: Plan): readonly number[] => claims.map(({ pods }) => pods.length).sort();
const annotated = (share: string, pods = SIX) =>
  pods.map((each) => ({
    ...each,
    metadata: { ...each.metadata, annotations: { [PREFERENCE_WORTH_ANNOTATION]: share } },
  }));

describe('a priced preference', () => {
  it('launches no nodes that cost more than it is worth', () => {
    expect(sizes(solve(snapshot({ pendingPods: SIX }), OPTIONS))).toEqual([1, 1, 1, 1, 1, 1]);
    const plan = planOf({ pendingPods: SIX });
    expect(sizes(plan)).toEqual([6]);
    expect(plan.preferences?.groups).toMatchObject([{ satisfied: 2, wanted: 12 }]);
    expect(plan.preferences).toMatchObject({ addedUsdPerHour: 0, gainedUsdPerHour: 0, lostUsdPerHour: 0 });
  });

  it('is satisfied if it costs nothing', () => {
    const types = [instanceType('half', { cpu: 2, usd: 0.2 }), instanceType('whole', { cpu: 4, usd: 0.4 })];
    const pods = replicas(2, 'web', { cpu: '2', ...ANTI });
    expect(sizes(planOf({ types, pendingPods: pods }, { worth: 0 }))).toEqual([1, 1]);
  });

  it('is satisfied if it is worth its price', () => {
    const types = [instanceType('half', { cpu: 2, usd: 0.21 }), instanceType('whole', { cpu: 4, usd: 0.4 })];
    const pods = replicas(2, 'web', { cpu: '2', ...ANTI });
    const separate = planOf({ types, pendingPods: pods });
    expect(sizes(separate)).toEqual([1, 1]);
    expect(separate.preferences?.addedUsdPerHour).toBeCloseTo(0.01);
    expect(sizes(planOf({ types, pendingPods: pods }, { worth: 0.05 }))).toEqual([2]);
  });

  it('has the worth of the annotation, up to the limit of the NodePolicy', () => {
    expect(sizes(planOf({ pendingPods: annotated('900%') }, { most: 10 }))).toEqual([1, 1, 1, 1, 1, 1]);
    expect(sizes(planOf({ pendingPods: annotated('900%') }, { most: 1 }))).toEqual([6]);
  });

  it('has the worth of the NodePolicy if the annotation is not valid', () => {
    const plan = planOf({ pendingPods: annotated('much') }, { most: 10 });
    expect(sizes(plan)).toEqual([6]);
    const error =
      'annotation karpenter-ts.sh/preference-worth "much" is not valid, it has no effect; use a share of the price of the pod such as "25%"';
    expect(plan.preferences?.groups).toMatchObject([{ invalidWorth: expect.stringContaining(error) }]);
    expect(plan.claims[0]?.annotations[PREFERENCES_ANNOTATION]).toContain(error);
    expect(planOf({ pendingPods: annotated('9%') }).preferences?.groups[0]).not.toHaveProperty('invalidWorth');
  });

  it('chooses among nodes that are launched in any case', () => {
    const types = [instanceType('only', { cpu: 4, usd: 0.4 })];
    const others = replicas(2, 'other', { cpu: '3' });
    const plan = planOf({ types, pendingPods: [...others, ...replicas(2, 'web', { cpu: '100m', ...ANTI })] });
    expect(plan.claims).toHaveLength(2);
    expect(plan.claims.map(({ pods }) => pods.filter((name) => name.includes('web')).length)).toEqual([1, 1]);
    expect(plan.preferences?.groups).toMatchObject([{ satisfied: 2, wanted: 2 }]);
  });

  it('is decided for each group of equal pods', () => {
    const types = [
      instanceType('small', { cpu: 2, usd: 0.2 }),
      instanceType('large', { cpu: 8, usd: 0.5, zones: ['zone-b'] }),
      instanceType('huge', { cpu: 8, usd: 0.5, zones: ['zone-a'] }),
    ];
    const near = { weight: 100, preference: { matchExpressions: [oneOf(ZONE_LABEL, 'zone-a')] } };
    const zonal = replicas(4, 'zonal', {
      cpu: '2',
      affinity: { nodeAffinity: { preferredDuringSchedulingIgnoredDuringExecution: [near] } },
    });
    const plan = planOf({ types, pendingPods: [...zonal, ...SIX] });
    const [ofZonal, ofWeb] = plan.preferences?.groups ?? [];
    expect(ofZonal).toMatchObject({ satisfied: 4, wanted: 4 });
    expect(ofWeb?.satisfied).toBeLessThan(12);
  });

  it('never leaves a pod pending that a plan without it places', () => {
    const pools = [nodePool('default', { limits: { nodes: '1' } })];
    const plan = planOf({ pools, pendingPods: annotated('900%') }, { most: 10 });
    expect(plan.refusals.size).toBe(0);
    expect(sizes(plan)).toEqual([6]);
  });

  it('is noted on the NodeClaim', () => {
    const [claim] = planOf({ pendingPods: SIX }).claims;
    expect(claim?.annotations[PREFERENCES_ANNOTATION]).toMatch(
      /^default\/web-0 and 5 more \(spread by kubernetes.io\/hostname \(weight 100\), pod anti-affinity by .*\): satisfied 2 of 12; a plan for all would add \$0.\d{4}\/h and satisfy preferences worth \$0.\d{4}\/h$/,
    );
  });

  it('limits the NodeClaims of a plan after the comparison', () => {
    const plan = solve(input({ pendingPods: annotated('900%') }, { most: 10 }), { ...PRICED, mostLaunches: 2 });
    expect(plan.claims).toHaveLength(2);
    expect(plan.notEvaluated).toHaveLength(4);
  });

  describe('of many pods', () => {
    const many = replicas(500, 'web', { cpu: '2', ...ANTI });
    const at = (usd: number, pods = many): Plan => {
      const capacityTypes = ['on-demand'];
      const half = instanceType('half', { cpu: 2, usd, capacityTypes });
      return planOf({ types: [half, instanceType('whole', { cpu: 4, usd: 0.4, capacityTypes })], pendingPods: pods });
    };

    it('is satisfied without a second plan if its price is near the lower bound', () => {
      const plan = at(0.205);
      expect(plan.claims).toHaveLength(500);
      expect(plan.preferences?.groups).toMatchObject([{ satisfied: 500, wanted: 500 }]);
      // the worth of all preferences, although another plan would satisfy half of them by chance
      expect(plan.preferences?.gainedUsdPerHour).toBeCloseTo(500 * 0.1 * 0.2);
      expect(plan.preferences?.addedUsdPerHour).toBeCloseTo(500 * 0.005);
      expect(plan.preferences?.groups[0]).not.toHaveProperty('addedUsdPerHour');
    });

    it('is compared with its price if it is expensive, or if there are fewer pods', () => {
      expect(at(0.23).claims).toHaveLength(250);
      expect(at(0.205, many.slice(1)).preferences?.groups[0]).toHaveProperty('addedUsdPerHour');
    });

    it('leaves no pod pending that fits without it', () => {
      const pools = [nodePool('default', { limits: { nodes: '300' } })];
      const types = [instanceType('half', { cpu: 2, usd: 0.205 }), instanceType('whole', { cpu: 4, usd: 0.4 })];
      expect(planOf({ types, pools, pendingPods: many }).refusals.size).toBe(0);
    });
  });

  it('does not depend on the scale of prices and requests', () => {
    const typesAt = (usd: number, scale = 1) => [
      instanceType('half', { cpu: 2 * scale, gib: 8 * scale, usd: 0.21 * usd }),
      instanceType('whole', { cpu: 4 * scale, gib: 16 * scale, usd: 0.4 * usd }),
    ];
    const podsOf = (cpu: string) => replicas(2, 'web', { cpu, ...ANTI });
    for (const worth of [0.05, 0.1])
      for (const [usd, scale, cpu] of [
        [10, 1, '2'],
        [0.001, 1, '2'],
        [1, 10, '20'],
      ] as const)
        expect(sizes(planOf({ types: typesAt(usd, scale), pendingPods: podsOf(cpu) }, { worth }))).toEqual(
          sizes(planOf({ types: typesAt(1), pendingPods: podsOf('2') }, { worth })),
        );
  });

  describe('in a simulation', () => {
    const on = (name: string, parts: PodParts = ANTI) =>
      stateNode(name, { pods: [pod(`${name}-pod`, { cpu: '500m', nodeName: name, ...parts })] });
    const simulate = (terms?: Terms) => {
      const nodes = [on('one'), on('two')];
      const prepared = prepare(input({ nodes }, terms), { ...PRICED, reservedMode: 'fallback' });
      return prepared.solve({ leaving: new Set(['aws:///one']), pendingPods: nodes[0]?.pods ?? [] }, {});
    };

    it('is lost for its worth if nodes are merged', () => {
      const plan = simulate();
      expect(plan.placements.map(({ node }) => node)).toEqual(['two']);
      // 500m of nodes with 10 USD per 100 CPU, of which half is spot, at one tenth
      expect(plan.preferences?.lostUsdPerHour).toBeCloseTo(0.1 * 0.5 * 0.05);
    });

    it('keeps its own node if it is worth the node', () => {
      const plan = simulate({ worth: 20 });
      expect(plan.placements).toEqual([]);
      expect(plan.claims).toHaveLength(1);
      expect(plan.preferences?.lostUsdPerHour).toBe(0);
    });
  });

  it('respects an offering that is preferred at the same price', () => {
    const offerings = ['zone-a', 'zone-b'].map((zone) => offering('on-demand', zone, 0.3));
    const near = { weight: 1, preference: { matchExpressions: [oneOf(ZONE_LABEL, 'zone-b')] } };
    const preferring = pod('x', {
      cpu: '1',
      affinity: { nodeAffinity: { preferredDuringSchedulingIgnoredDuringExecution: [near] } },
    });
    const plan = planOf({ types: [instanceType('x', { offerings })], pendingPods: [preferring] }, { worth: 0 });
    expect(plan.claims[0]?.requirements.find(({ key }) => key === ZONE_LABEL)?.values).toEqual(['zone-b']);
  });
});
