import { describe, expect, it } from '@jest/globals';
import {
  type Affinity,
  HOSTNAME_LABEL,
  type PodAffinityTerm,
  type TopologySpreadConstraint,
  ZONE_LABEL,
} from '#api/objects';
import type { Plan } from '../../../../src/engine/model.ts';
import { selects } from '../../../../src/engine/selectors.ts';
import {
  instanceType,
  nodePool,
  oneOf,
  type PodParts,
  planOf,
  pod,
  refusalText,
  replicas,
  stateNode,
} from '../build.ts';

const labels = { app: 'web' };
const labelSelector = { matchLabels: labels };
const spread = (topologyKey: string, extra: Partial<TopologySpreadConstraint> = {}): PodParts => ({
  cpu: '100m',
  labels,
  topologySpreadConstraints: [{ maxSkew: 1, topologyKey, whenUnsatisfiable: 'DoNotSchedule', labelSelector, ...extra }],
});
const term = (topologyKey: string): PodAffinityTerm => ({ topologyKey, labelSelector });
const bound = (affinity: Affinity, extra: PodParts = {}): PodParts => ({ cpu: '100m', labels, affinity, ...extra });
const together = (key: string): Affinity => ({
  podAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [term(key)] },
});
const apart = (key: string): Affinity => ({
  podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [term(key)] },
});
const ratherApart = (key: string): Affinity => ({
  podAntiAffinity: { preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 1, podAffinityTerm: term(key) }] },
});

const zonesOf = ({ claims }: Plan): readonly (readonly string[])[] =>
  claims.map(({ requirements }) => requirements.find(({ key }) => key === ZONE_LABEL)?.values ?? []);
const podsPerClaim = (plan: Plan): readonly number[] => plan.claims.map(({ pods }) => pods.length);

describe('spread', () => {
  it('opens a claim in each zone, and balances the counts', () => {
    const plan = planOf({ pendingPods: replicas(7, 'web', spread(ZONE_LABEL)) });
    expect(zonesOf(plan).flat().sort()).toEqual(['zone-a', 'zone-b', 'zone-c']);
    expect([...podsPerClaim(plan)].sort()).toEqual([2, 2, 3]);
  });

  it('counts running pods', () => {
    const running = replicas(2, 'old', { labels, nodeName: 'n' });
    const plan = planOf({
      nodes: [stateNode('n', { pods: running, allocatable: { cpu: '0' } })],
      pendingPods: replicas(4, 'web', spread(ZONE_LABEL)),
    });
    expect(zonesOf(plan).flat().sort()).toEqual(['zone-b', 'zone-c']);
    expect(podsPerClaim(plan)).toEqual([2, 2]);
  });

  it('allows over hosts as many pods per claim as the skew', () => {
    const plan = planOf({ pendingPods: replicas(4, 'web', spread(HOSTNAME_LABEL, { maxSkew: 2 })) });
    expect(podsPerClaim(plan)).toEqual([2, 2]);
  });

  it('treats missing domains below minDomains as empty domains', () => {
    const plan = planOf({
      types: [instanceType('t', { zones: ['zone-a'] })],
      pendingPods: replicas(3, 'web', spread(ZONE_LABEL, { minDomains: 2 })),
    });
    expect(podsPerClaim(plan)).toEqual([1]);
    expect(refusalText(plan, 'web-1')).toBe(
      `unsatisfiable topology constraint for topology spread, key=${ZONE_LABEL} (counts = zone-a: 1, ` +
        `podDomains = ${ZONE_LABEL} Exists, nodeDomains = ${ZONE_LABEL} Exists`,
    );
  });

  it('does not block other pods over a label without a value in the NodePool', () => {
    const pool = nodePool('default', { labels: { rack: 'a' }, requirements: [oneOf('rack', 'b')] });
    const pods = [pod('spread', spread('rack', { labelSelector: {} })), pod('counted', { cpu: '100m' })];
    const plan = planOf({ pools: [pool], pendingPods: pods });
    expect(plan.claims.map((claim) => claim.pods)).toEqual([['default/counted']]);
    expect(refusalText(plan, 'spread')).toMatch(/^unsatisfiable topology constraint/);
  });

  it('is relaxed if it is a preference', () => {
    const types = [instanceType('t', { zones: ['zone-a'] })];
    const soft = spread('rack', { whenUnsatisfiable: 'ScheduleAnyway' });
    expect(podsPerClaim(planOf({ types, pendingPods: replicas(3, 'web', soft) }))).toEqual([3]);
    const hard = planOf({ types, pendingPods: [pod('web', spread('rack'))] });
    expect(hard.refusals.get('default/web')).toMatchObject({ pools: [{ misfit: { code: 'topology' } }] });
  });
});

describe('affinity', () => {
  it('starts by zone in the cheapest zone and stays there', () => {
    const types = [
      instanceType('dear', { cpu: 2, usd: 9, zones: ['zone-a'] }),
      instanceType('cheap', { cpu: 2, usd: 1, zones: ['zone-b'] }),
    ];
    const plan = planOf({ types, pendingPods: replicas(30, 'web', bound(together(ZONE_LABEL))) });
    expect(new Set(zonesOf(plan).flat())).toEqual(new Set(['zone-b']));
    expect(podsPerClaim(plan)).toEqual([20, 10]);
  });

  it('follows running pods by host', () => {
    const running = pod('old', { labels, nodeName: 'b' });
    const plan = planOf({
      nodes: [stateNode('a'), stateNode('b', { pods: [running] })],
      pendingPods: [pod('web', bound(together(HOSTNAME_LABEL)))],
    });
    expect(plan.placements.map(({ node }) => node)).toEqual(['b']);
  });

  it('keeps a pod pending if it is to pods that do not exist', () => {
    const plan = planOf({ pendingPods: [pod('web', bound(together(ZONE_LABEL), { labels: { app: 'other' } }))] });
    expect(refusalText(plan, 'web')).toMatch(/^unsatisfiable topology constraint for pod affinity, key=/);
  });
});

describe('anti-affinity', () => {
  it('places by host each pod on its own node', () => {
    expect(podsPerClaim(planOf({ pendingPods: replicas(3, 'web', bound(apart(HOSTNAME_LABEL))) }))).toEqual([1, 1, 1]);
  });

  it('blocks by zone every possible zone of an open claim', () => {
    const plan = planOf({ pendingPods: replicas(2, 'web', bound(apart(ZONE_LABEL))) });
    expect(podsPerClaim(plan)).toEqual([1]);
    expect(plan.refusals.size).toBe(1);
  });

  it('repels pods without a rule of their own if it is that of a running pod', () => {
    const jealous = pod('jealous', { labels: { app: 'db' }, nodeName: 'n', affinity: apart(HOSTNAME_LABEL) });
    const plan = planOf({
      nodes: [stateNode('n', { pods: [jealous] })],
      pendingPods: [pod('web', { cpu: '100m', labels }), pod('free', { cpu: '100m' })],
    });
    expect(plan.placements).toEqual([{ node: 'n', providerId: 'aws:///n', pods: ['default/free'] }]);
    expect(plan.claims.map(({ pods }) => pods)).toEqual([['default/web']]);
  });

  it('does not count if it is of another namespace', () => {
    const jealous = pod('j', { namespace: 'other', nodeName: 'n', affinity: apart(HOSTNAME_LABEL) });
    const plan = planOf({ nodes: [stateNode('n', { pods: [jealous] })], pendingPods: [pod('web', { labels })] });
    expect(plan.placements).toHaveLength(1);
  });

  it('applies as a preference if it only costs nodes, and is ignored on request', () => {
    const pendingPods = replicas(3, 'web', bound(ratherApart(HOSTNAME_LABEL)));
    expect(podsPerClaim(planOf({ pendingPods }))).toEqual([1, 1, 1]);
    expect(podsPerClaim(planOf({ pendingPods }, { preferencePolicy: 'Ignore' }))).toEqual([3]);
  });
});

describe('selects', () => {
  it.each([
    [undefined, false],
    [{}, true],
    [{ matchLabels: { app: 'web' } }, true],
    [{ matchLabels: { app: 'db' } }, false],
    [{ matchExpressions: [{ key: 'app', operator: 'NotIn' as const, values: ['db'] }] }, true],
    [{ matchExpressions: [{ key: 'tier', operator: 'Exists' as const }] }, false],
    [{ matchExpressions: [{ key: 'tier', operator: 'DoesNotExist' as const }] }, true],
  ])('returns for %j: %s', (selector, verdict) => expect(selects(selector, labels)).toBe(verdict));
});
