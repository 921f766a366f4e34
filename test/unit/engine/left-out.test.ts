/** An invalid object is reported and does not affect other objects. */
import { describe, expect, it } from '@jest/globals';
import type { LabelSelectorRequirement } from '#api/objects';
import type { Plan } from '../../../src/engine/model.ts';
import { invalid } from '../../support/partial.ts';
import { daemon, nodePool, planOf, pod, refusalText, type SnapshotParts, stateNode } from './build.ts';

const BAD = '1e1.5';
const isBought = ({ claims }: Plan, name: string): boolean =>
  claims.some(({ pods }) => pods.includes(`default/${name}`));

const healthy = pod('healthy', { cpu: '1' });
const plan = (parts: SnapshotParts): Plan => planOf({ pendingPods: [healthy], ...parts });

describe('a solve', () => {
  it.each([
    { what: 'a limit', broken: nodePool('broken', { limits: { cpu: BAD } }), text: /Cannot read quantity "1e1\.5"/ },
    {
      what: 'a duration',
      broken: {
        ...nodePool('broken'),
        spec: {
          template: { spec: { ...nodePool('broken').spec.template.spec, expireAfter: '99999999h' } },
        },
      },
      text: /Cannot read duration "99999999h"/,
    },
  ])('excludes a NodePool with $what that cannot be parsed', ({ broken, text }) => {
    const solved = plan({ pools: [broken, nodePool('default')] });
    expect(solved.claims.map(({ nodePool }) => nodePool)).toEqual(['default']);
    expect(solved.leftOut).toEqual([{ kind: 'NodePool', name: 'broken', text: expect.stringMatching(text) }]);
  });

  it('excludes the only NodePool, and still uses existing nodes', () => {
    const solved = plan({ pools: [nodePool('broken', { limits: { cpu: BAD } })], nodes: [stateNode('n')] });
    expect(solved.placements.map(({ node }) => node)).toEqual(['n']);
  });

  it('excludes a pod that cannot be parsed', () => {
    const solved = plan({ pendingPods: [pod('broken', { cpu: BAD }), healthy] });
    expect(isBought(solved, 'healthy')).toBe(true);
    expect(solved.refusals.get('default/broken')?.code).toBe('failed');
    expect(refusalText(solved, 'broken')).toMatch(/^the pod cannot be read: Cannot read quantity "1e1\.5"/);
  });

  it('excludes a pod whose rules cannot be parsed', () => {
    const term = {
      topologyKey: 'topology.kubernetes.io/zone',
      labelSelector: { matchExpressions: [invalid<LabelSelectorRequirement>(null)] },
    };
    const affinity = { podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [term] } };
    const solved = plan({ pendingPods: [pod('broken', { affinity }), healthy] });
    expect(isBought(solved, 'healthy')).toBe(true);
    expect(refusalText(solved, 'broken')).toMatch(/^the pod cannot be read: /);
  });

  it('excludes a DaemonSet', () => {
    const solved = plan({ daemonPods: [daemon('broken', { cpu: BAD }), daemon('sound', { cpu: '500m' })] });
    expect(isBought(solved, 'healthy')).toBe(true);
    expect(solved.claims[0]?.requests).toMatchObject({ cpu: 1500 });
    expect(solved.leftOut).toEqual([
      { kind: 'DaemonSet', namespace: 'default', name: 'broken', text: expect.stringMatching(/Cannot read quantity/) },
    ]);
  });

  it('excludes a node with a pod that cannot be parsed, but counts it against limits', () => {
    const pools = [nodePool('default', { limits: { cpu: '6' } })];
    const broken = stateNode('broken', { pods: [pod('running', { cpu: BAD, nodeName: 'broken' })] });
    const solved = plan({ pools, nodes: [broken] });
    expect(solved.placements).toEqual([]);
    expect(solved.claims.map(({ instanceTypes }) => instanceTypes)).toEqual([['small']]);
    expect(solved.leftOut).toEqual([{ kind: 'Node', name: 'broken', text: expect.stringMatching(/quantity/) }]);
    const sound = plan({ pools, nodes: [broken, stateNode('sound')] });
    expect(sound.placements.map(({ node }) => node)).toEqual(['sound']);
  });

  it('excludes nothing if all objects are valid', () => {
    expect(plan({})).not.toHaveProperty('leftOut');
  });
});
