/** Pods that take no part in scheduling because of what they ask for. */
import { describe, expect, it } from '@jest/globals';
import type { NodeSelectorRequirement, NodeSelectorTerm } from '../../../src/api/kubernetes.ts';
import type { PodRefusal } from '../../../src/engine/model.ts';
import { oneOf, type PodParts, planOf, pod } from './build.ts';

const refusal = (parts: PodParts): PodRefusal | undefined =>
  planOf({ pendingPods: [pod('p', { cpu: '1', ...parts })] }).refusals.get('default/p');
const textOf = (parts: PodParts): string => {
  const found = refusal(parts);
  return found?.code === 'ignored' ? found.text : `not ignored: ${found?.text}`;
};
const requiring = (...nodeSelectorTerms: readonly NodeSelectorTerm[]): PodParts => ({
  affinity: { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms } } },
});
const term = (...matchExpressions: readonly NodeSelectorRequirement[]): NodeSelectorTerm => ({ matchExpressions });

describe('a pod', () => {
  it('that opted out is passed over, and nobody needs to be told', () => {
    expect(refusal(requiring(term({ key: 'karpenter.sh/nodepool', operator: 'DoesNotExist' })))).toEqual({
      code: 'ignored',
      text: 'configured to not run on a Karpenter provisioned node (requirement=karpenter.sh/nodepool DoesNotExist)',
      optedOut: true,
    });
  });

  it('that would prefer to opt out has done so, even if preferences are ignored', () => {
    const preference = term({ key: 'karpenter.sh/nodepool', operator: 'DoesNotExist' });
    const preferred = [{ weight: 1, preference }];
    const affinity = { nodeAffinity: { preferredDuringSchedulingIgnoredDuringExecution: preferred } };
    const pendingPods = [pod('p', { affinity })];
    for (const preferencePolicy of ['Respect', 'Ignore'] as const)
      expect(planOf({ pendingPods }, { preferencePolicy }).refusals.get('default/p')).toMatchObject({ optedOut: true });
  });

  it.each<{ what: string; parts: PodParts; says: RegExp }>([
    {
      what: 'that selects a label of a restricted domain',
      parts: { nodeSelector: { 'karpenter.sh/secret': 'x' } },
      says: /^using label karpenter\.sh\/secret is not allowed as it might interfere with the internal provisioning logic/,
    },
    {
      what: 'that selects a sub-domain of it',
      parts: { nodeSelector: { 'my.karpenter.k8s.aws/secret': 'x' } },
      says: /^using label my\.karpenter\.k8s\.aws\/secret is not allowed/,
    },
    {
      what: 'that asks for a capacity type that does not exist',
      parts: { nodeSelector: { 'karpenter.sh/capacity-type': 'cheap' } },
      says: /^no valid values found in /,
    },
    {
      what: 'whose required term goes by fields',
      parts: requiring({ matchFields: [oneOf('metadata.name', 'n')] }),
      says: /^node selector term with matchFields is not supported$/,
    },
    {
      what: 'whose second term is invalid although the first would do',
      parts: requiring(term(oneOf('team', 'blue')), term({ key: 'team', operator: 'In', values: [] })),
      says: /^key team with operator In must have a value defined$/,
    },
    {
      what: 'whose bound is no number',
      parts: requiring(term({ key: 'size', operator: 'Gt', values: ['many'] })),
      says: /^key size with operator Gt must have a single positive integer value$/,
    },
    {
      what: 'with several faults, which are told together',
      parts: {
        nodeSelector: { 'karpenter.sh/secret': 'x' },
        ...requiring(term({ key: 'size', operator: 'Lt', values: ['-1'] })),
      },
      says: /^using label karpenter\.sh\/secret .*; key size with operator Lt must have a single positive integer value$/s,
    },
  ])('$what is refused', ({ parts, says }) => {
    expect(textOf(parts)).toMatch(says);
  });

  it('with faults in its preferences only is not refused for them', () => {
    const preference = term({ key: 'team', operator: 'In', values: [] });
    const affinity = { nodeAffinity: { preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 1, preference }] } };
    expect(refusal({ affinity })).toBeUndefined();
  });

  it('may use labels of Kubernetes, old names included, and its own', () => {
    expect(refusal({ nodeSelector: { 'failure-domain.beta.kubernetes.io/zone': 'zone-a' } })).toBeUndefined();
    expect(refusal({ nodeSelector: { 'node.kubernetes.io/mine': 'x' } })?.code).toBe('no-fit');
    expect(refusal({ nodeSelector: { 'example.com/mine': 'x' } })?.code).toBe('no-fit');
  });
});

describe('a pod that is to be moved from its node', () => {
  const there: PodParts = { nodeName: 'n', cpu: '1' };
  const host = (operator: 'In' | 'NotIn', ...values: readonly string[]): PodParts =>
    requiring(term({ key: 'kubernetes.io/hostname', operator, values }));

  it.each<{ what: string; parts: PodParts }>([
    { what: 'that keeps away from some other node', parts: host('NotIn', 'bad') },
    {
      what: 'that asks for a node that is initialized',
      parts: { nodeSelector: { 'karpenter.sh/initialized': 'true' } },
    },
    {
      what: 'whose claim is gone',
      parts: { volumes: [{ name: 'data', persistentVolumeClaim: { claimName: 'gone' } }] },
    },
  ])('$what is refused while it waits, and not when it runs', ({ parts }) => {
    expect(refusal(parts)).toMatchObject({ code: 'ignored' });
    expect(refusal({ ...there, ...parts })).toBeUndefined();
  });

  it('stays where it is if it asks for its node by name, whatever others on a new node say of names', () => {
    const pendingPods = [
      pod('avoids', { ...there, cpu: '2', ...host('NotIn', 'bad') }),
      pod('pinned', { ...there, ...host('In', 'n') }),
      pod('by-field', { ...there, ...requiring({ matchFields: [oneOf('metadata.name', 'n')] }) }),
    ];
    const { claims, refusals } = planOf({ pendingPods });
    expect([...refusals.keys()].sort()).toEqual(['default/by-field', 'default/pinned']);
    expect(claims[0]?.requirements.map(({ key }) => key)).not.toContain('kubernetes.io/hostname');
  });
});
