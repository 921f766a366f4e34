import { describe, expect, it } from '@jest/globals';
import { HOSTNAME_LABEL, type Pod, type TopologySpreadConstraint, ZONE_LABEL } from '#api/objects';
import { relax } from '../../../../src/engine/solver/relax.ts';
import { nodePool, oneOf, type PodParts, planOf, pod, refusalText, replicas } from '../build.ts';

const zone = (name: string) => ({ matchExpressions: [oneOf(ZONE_LABEL, `zone-${name}`)] });
const near = (weight: number, topologyKey = ZONE_LABEL) => ({
  weight,
  podAffinityTerm: { topologyKey, labelSelector: { matchLabels: { app: `w${weight}` } } },
});
const anyway = (topologyKey: string): TopologySpreadConstraint => ({
  maxSkew: 1,
  topologyKey,
  whenUnsatisfiable: 'ScheduleAnyway',
  labelSelector: { matchLabels: { app: 'web' } },
});
const firm: TopologySpreadConstraint = { ...anyway('firm'), whenUnsatisfiable: 'DoNotSchedule' };

/** A pod with every kind of preference. */
const DEMANDING: PodParts = {
  affinity: {
    nodeAffinity: {
      requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [zone('a'), zone('b')] },
      preferredDuringSchedulingIgnoredDuringExecution: [
        { weight: 1, preference: zone('a') },
        { weight: 9, preference: zone('b') },
      ],
    },
    podAffinity: { preferredDuringSchedulingIgnoredDuringExecution: [near(2), near(7), near(3)] },
    podAntiAffinity: { preferredDuringSchedulingIgnoredDuringExecution: [near(5)] },
  },
  topologySpreadConstraints: [anyway('a'), firm, anyway('b'), anyway('c')],
};

/** The state of a pod after each step. */
function stepsOf(start: Pod, preferenceTaints: boolean): readonly string[] {
  const left: string[] = [];
  for (let at = relax(start, { preferenceTaints }); at !== undefined; at = relax(at, { preferenceTaints })) {
    const { affinity, topologySpreadConstraints = [], tolerations = [] } = at.spec;
    const weights = (terms: readonly { readonly weight: number }[] = []): string =>
      terms.map(({ weight }) => weight).join();
    left.push(
      [
        affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms.length,
        weights(affinity?.podAffinity?.preferredDuringSchedulingIgnoredDuringExecution),
        weights(affinity?.podAntiAffinity?.preferredDuringSchedulingIgnoredDuringExecution),
        weights(affinity?.nodeAffinity?.preferredDuringSchedulingIgnoredDuringExecution),
        topologySpreadConstraints.map(({ topologyKey }) => topologyKey).join(),
        tolerations.length,
      ].join(' | '),
    );
  }
  return left;
}

describe('relaxation', () => {
  it('removes one item per step in this order: terms, pod affinity, anti-affinity, node affinity, spread, taints', () => {
    expect(stepsOf(pod('p', DEMANDING), true)).toEqual([
      '1 | 2,7,3 | 5 | 1,9 | a,firm,b,c | 0',
      '1 | 3,2 | 5 | 1,9 | a,firm,b,c | 0',
      '1 | 2 | 5 | 1,9 | a,firm,b,c | 0',
      '1 |  | 5 | 1,9 | a,firm,b,c | 0',
      '1 |  |  | 1,9 | a,firm,b,c | 0',
      '1 |  |  | 1 | a,firm,b,c | 0',
      '1 |  |  |  | a,firm,b,c | 0',
      // The last constraint takes the place of the removed one.
      '1 |  |  |  | c,firm,b | 0',
      '1 |  |  |  | b,firm | 0',
      '1 |  |  |  | firm | 0',
      '1 |  |  |  | firm | 1',
    ]);
  });

  it('tolerates PreferNoSchedule taints only if some NodePool has such a taint', () => {
    expect(stepsOf(pod('p'), false)).toEqual([]);
    expect(stepsOf(pod('p'), true)).toHaveLength(1);
    const tolerating = pod('p', { tolerations: [{ operator: 'Exists', effect: 'PreferNoSchedule' }] });
    expect(stepsOf(tolerating, true)).toEqual([]);
  });

  it('never removes the last required term', () => {
    const affinity = {
      nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [zone('x')] } },
    };
    const plan = planOf({ pendingPods: [pod('p', { affinity })] });
    expect(plan.claims).toEqual([]);
    expect(refusalText(plan, 'p')).toMatch(/^no instance type/);
  });

  it('does not mutate the pod', () => {
    const before = pod('p', DEMANDING);
    const copy = structuredClone(before);
    stepsOf(before, true);
    expect(before).toEqual(copy);
  });
});

describe('a preference', () => {
  const preferring = (name: string, weight = 1): PodParts => ({
    cpu: '100m',
    affinity: {
      nodeAffinity: { preferredDuringSchedulingIgnoredDuringExecution: [{ weight, preference: zone(name) }] },
    },
  });
  const zones = (parts: PodParts, policy: 'Respect' | 'Ignore' = 'Respect') =>
    planOf({ pendingPods: [pod('p', parts)] }, { preferencePolicy: policy }).claims[0]?.requirements.find(
      ({ key }) => key === ZONE_LABEL,
    )?.values;

  it('counts as a requirement if it can be satisfied', () => {
    expect(zones(preferring('c'))).toEqual(['zone-c']);
  });

  it('is removed if it cannot be satisfied', () => {
    expect(zones(preferring('x'))).toBeUndefined();
  });

  it('is ignored if the policy is Ignore', () => {
    expect(zones(preferring('c'), 'Ignore')).toBeUndefined();
  });

  it('counts one at a time, the heaviest first, and the next after its removal', () => {
    const affinity = {
      nodeAffinity: {
        preferredDuringSchedulingIgnoredDuringExecution: [
          { weight: 1, preference: zone('a') },
          { weight: 50, preference: zone('x') },
          { weight: 20, preference: zone('b') },
        ],
      },
    };
    expect(zones({ affinity })).toEqual(['zone-b']);
  });

  it('is restored when a pod is tried again', () => {
    // The pod it depends on is not placed in the first round, so all preferences are removed without success.
    const friend = pod('friend', { cpu: '100m', labels: { app: 'friend' }, nodeSelector: { [ZONE_LABEL]: 'zone-b' } });
    const gold = { matchExpressions: [oneOf('tier', 'gold')] };
    const fan = pod('fan', {
      cpu: '2',
      affinity: {
        podAffinity: {
          requiredDuringSchedulingIgnoredDuringExecution: [
            { topologyKey: ZONE_LABEL, labelSelector: { matchLabels: { app: 'friend' } } },
          ],
        },
        nodeAffinity: { preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 1, preference: gold }] },
      },
    });
    const pools = [nodePool('plain', { weight: 10 }), nodePool('gold', { labels: { tier: 'gold' } })];
    const plan = planOf({ pendingPods: [fan, friend], pools });
    expect(plan.refusals.size).toBe(0);
    expect(plan.claims.find(({ pods }) => pods.includes('default/fan'))?.nodePool).toBe('gold');
  });

  it('is removed per pod, and equal pods keep theirs', () => {
    const rather = replicas(2, 'p', {
      cpu: '100m',
      labels: { app: 'web' },
      topologySpreadConstraints: [{ ...anyway(HOSTNAME_LABEL) }],
    });
    const plan = planOf({ pendingPods: rather, pools: [nodePool('default', { limits: { cpu: '9' } })] });
    expect(plan.refusals.size).toBe(0);
    expect(plan.claims.flatMap(({ pods }) => pods)).toHaveLength(2);
  });
});
