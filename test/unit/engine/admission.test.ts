/** Pods that are excluded from scheduling because of their own requirements. */
import { describe, expect, it } from '@jest/globals';
import type { NodeSelectorRequirement, NodeSelectorTerm } from '#api/objects';
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
  it('is skipped without an event if it opted out', () => {
    expect(refusal(requiring(term({ key: 'karpenter.sh/nodepool', operator: 'DoesNotExist' })))).toEqual({
      code: 'ignored',
      text: 'configured to not run on a Karpenter provisioned node (requirement=karpenter.sh/nodepool DoesNotExist)',
      optedOut: true,
    });
  });

  it.each([
    'karpenter.sh/nodepool',
    'karpenter.sh/capacity-type',
    'node.kubernetes.io/instance-type',
  ])('gets a node if it only prefers nodes without the label %s, or allows them as an alternative', (key) => {
    const without = term({ key, operator: 'DoesNotExist' });
    const preferred = { preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 1, preference: without }] };
    const pendingPods = [
      pod('preference', { cpu: '1', affinity: { nodeAffinity: preferred } }),
      pod('alternative', { cpu: '1', ...requiring(without, term({ key, operator: 'Exists' })) }),
    ];
    for (const preferencePolicy of ['Respect', 'Ignore'] as const)
      expect([...planOf({ pendingPods }, { preferencePolicy }).refusals]).toEqual([]);
  });

  it('is skipped without an event if it opted out in every alternative', () => {
    const without = { key: 'karpenter.sh/nodepool', operator: 'DoesNotExist' as const };
    expect(refusal(requiring(term(without), term(without, oneOf('team', 'blue'))))).toMatchObject({ optedOut: true });
  });

  it('has not opted out if it requires two different NodePools', () => {
    const both = term(oneOf('karpenter.sh/nodepool', 'a'), oneOf('karpenter.sh/nodepool', 'b'));
    expect(refusal(requiring(both))).toMatchObject({ code: 'no-fit' });
  });

  it.each<{ what: string; unusable: NodeSelectorTerm }>([
    { what: 'selects a node by its name', unusable: { matchFields: [oneOf('metadata.name', 'n')] } },
    { what: 'has no expressions', unusable: {} },
    { what: 'selects a restricted label', unusable: term(oneOf('karpenter.sh/secret', 'x')) },
  ])('gets a node if one of its alternatives $what', ({ unusable }) => {
    expect(refusal(requiring(unusable, term(oneOf('topology.kubernetes.io/zone', 'zone-a'))))).toBeUndefined();
    expect(refusal(requiring(unusable))).toMatchObject({ code: 'ignored', optedOut: false });
  });

  it.each<{ what: string; parts: PodParts; says: RegExp }>([
    {
      what: 'that selects a label of a restricted domain',
      parts: { nodeSelector: { 'karpenter.sh/secret': 'x' } },
      says: /^using label karpenter\.sh\/secret is not allowed as it might interfere with the internal provisioning logic/,
    },
    {
      what: 'that selects a subdomain of a restricted domain',
      parts: { nodeSelector: { 'my.karpenter.k8s.aws/secret': 'x' } },
      says: /^using label my\.karpenter\.k8s\.aws\/secret is not allowed/,
    },
    {
      what: 'that selects a capacity type that does not exist',
      parts: { nodeSelector: { 'karpenter.sh/capacity-type': 'cheap' } },
      says: /^no valid values found in /,
    },
    {
      what: 'whose required term has matchFields',
      parts: requiring({ matchFields: [oneOf('metadata.name', 'n')] }),
      says: /^node selector term with matchFields is not supported$/,
    },
    {
      what: 'whose bound is not a number',
      parts: requiring(term({ key: 'size', operator: 'Gt', values: ['many'] })),
      says: /^key size with operator Gt must have a single positive integer value$/,
    },
    {
      what: 'with several errors, which are reported together',
      parts: {
        nodeSelector: { 'karpenter.sh/secret': 'x' },
        ...requiring(term({ key: 'size', operator: 'Lt', values: ['-1'] })),
      },
      says: /^using label karpenter\.sh\/secret .*; key size with operator Lt must have a single positive integer value$/s,
    },
  ])('is refused: a pod $what', ({ parts, says }) => {
    expect(textOf(parts)).toMatch(says);
  });

  it('is not refused for errors only in its preferences', () => {
    const preference = term({ key: 'team', operator: 'In', values: [] });
    const affinity = { nodeAffinity: { preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 1, preference }] } };
    expect(refusal({ affinity })).toBeUndefined();
  });

  it('may use labels of Kubernetes, their old names, and labels of its own', () => {
    expect(refusal({ nodeSelector: { 'failure-domain.beta.kubernetes.io/zone': 'zone-a' } })).toBeUndefined();
    expect(refusal({ nodeSelector: { 'node.kubernetes.io/mine': 'x' } })?.code).toBe('no-fit');
    expect(refusal({ nodeSelector: { 'example.com/mine': 'x' } })?.code).toBe('no-fit');
  });
});

describe('a pod that must leave its node', () => {
  const there: PodParts = { nodeName: 'n', cpu: '1' };
  const host = (operator: 'In' | 'NotIn', ...values: readonly string[]): PodParts =>
    requiring(term({ key: 'kubernetes.io/hostname', operator, values }));

  it.each<{ what: string; parts: PodParts }>([
    { what: 'that avoids another node', parts: host('NotIn', 'bad') },
    {
      what: 'that selects initialized nodes',
      parts: { nodeSelector: { 'karpenter.sh/initialized': 'true' } },
    },
    {
      what: 'whose claim was deleted',
      parts: { volumes: [{ name: 'data', persistentVolumeClaim: { claimName: 'gone' } }] },
    },
  ])('is refused while it is pending, but not while it is running: a pod $what', ({ parts }) => {
    expect(refusal(parts)).toMatchObject({ code: 'ignored' });
    expect(refusal({ ...there, ...parts })).toBeUndefined();
  });

  it('is refused if it requires its current node by name, and new nodes have no hostname requirement', () => {
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
