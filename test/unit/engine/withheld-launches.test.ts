/** Launches that are withheld after unproductive ones, and the pods that they affect. */
import { describe, expect, it } from '@jest/globals';
import type { Pod } from '#api/objects';
import type { LaunchCause, WithheldLaunch } from '../../../src/engine/launch-causes.ts';
import { solve } from '../../../src/engine/solve.ts';
import { isAffected } from '../../../src/engine/withheld-launches.ts';
import { nodePool, OPTIONS, pod, replicas, snapshot, stateNode, TYPES } from './build.ts';

const TAINT: LaunchCause = { code: 'taint', taint: { key: 'agent', effect: 'NoSchedule' } };
const LABEL: LaunchCause = { code: 'label', labels: new Map([['team', undefined]]) };
const TOLERANT: Partial<Pod['spec']> = { tolerations: [{ key: 'agent', operator: 'Exists' }] };
const ownPod = (spec: Partial<Pod['spec']>, requests: Record<string, string> = { cpu: '1' }): Pod => {
  const made = pod('own', requests);
  return { ...made, spec: { ...made.spec, ...spec } };
};
const terms = (...keys: readonly string[]): Partial<Pod['spec']> => ({
  affinity: {
    nodeAffinity: {
      requiredDuringSchedulingIgnoredDuringExecution: {
        nodeSelectorTerms: keys.map((key) => ({ matchExpressions: [{ key, operator: 'In', values: ['a'] }] })),
      },
    },
  },
});

describe('isAffected', () => {
  it.each<[string, LaunchCause, Pod, boolean]>([
    ['does not tolerate the taint', TAINT, ownPod({}), true],
    ['tolerates the taint', TAINT, ownPod(TOLERANT), false],
    ['selects the label', LABEL, ownPod({ nodeSelector: { team: 'a' } }), true],
    ['selects another label', LABEL, ownPod({ nodeSelector: { other: 'a' } }), false],
    ['requires the label by affinity', LABEL, ownPod(terms('team')), true],
    ['has an alternative to the label', LABEL, ownPod(terms('team', 'other')), false],
    [
      'selects the value of the node',
      { code: 'label', labels: new Map([['team', 'a']]) },
      ownPod(terms('team')),
      false,
    ],
    ['requests more', { code: 'resource', resource: 'cpu', over: 900, upTo: 2000 }, ownPod({}), true],
    ['requests less', { code: 'resource', resource: 'cpu', over: 1000, upTo: 2000 }, ownPod({}), false],
    [
      'requests so much that its node is larger',
      { code: 'resource', resource: 'cpu', over: 900, upTo: 2000 },
      ownPod({}, { cpu: '3' }),
      false,
    ],
    ['needs a node that joins the cluster', { code: 'never-joined' }, ownPod(TOLERANT), true],
  ])('is correct for a pod that %s', (_, cause, of, is) => {
    expect(isAffected(of, cause)).toBe(is);
  });
});

describe('a withheld launch', () => {
  const withheld: WithheldLaunch = { nodePool: 'default', cause: TAINT, text: 'earlier nodes had a taint' };
  const healthy = ownPod({ ...TOLERANT });
  const planWith = (all: readonly WithheldLaunch[], parts: Parameters<typeof snapshot>[0]) =>
    solve({ ...snapshot(parts), withheld: all }, OPTIONS);

  it('keeps affected pods from new nodes of the NodePool, and reports why', () => {
    const plan = planWith([withheld], { pendingPods: [...replicas(3, 'web', { cpu: '1' }), healthy] });
    expect(plan.claims.map(({ pods }) => pods)).toEqual([['default/own']]);
    expect(plan.refusals.get('default/web-0')).toMatchObject({
      code: 'no-fit',
      text: 'earlier nodes had a taint',
      pools: [{ nodePool: 'default', misfit: { code: 'launch-withheld' } }],
    });
  });

  it('lets affected pods use another NodePool and existing nodes', () => {
    const pools = [
      { nodePool: nodePool('default', { weight: 10 }), instanceTypes: TYPES },
      { nodePool: nodePool('other'), instanceTypes: TYPES },
    ];
    const plan = solve(
      {
        ...snapshot({
          pendingPods: replicas(3, 'web', { cpu: '3' }),
          nodes: [stateNode('a')],
        }),
        pools,
        withheld: [withheld],
      },
      OPTIONS,
    );
    expect(plan.refusals.size).toBe(0);
    expect(plan.placements.flatMap(({ pods }) => pods)).toHaveLength(1);
    expect(new Set(plan.claims.map((claim) => claim.nodePool))).toEqual(new Set(['other']));
  });

  it('lets one pod retry, or affects only the named pods', () => {
    const pendingPods = replicas(3, 'web', { cpu: '1' });
    const trial = planWith([{ ...withheld, trial: 'default/web-1' }], { pendingPods });
    expect(trial.claims.flatMap(({ pods }) => pods)).toEqual(['default/web-1']);
    const named = planWith([{ ...withheld, pods: new Set(['default/web-1']) }], { pendingPods });
    expect([...named.refusals.keys()]).toEqual(['default/web-1']);
  });
});
