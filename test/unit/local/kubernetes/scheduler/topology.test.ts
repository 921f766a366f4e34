import { describe, expect, it } from '@jest/globals';
import type { PodAffinityTerm, TopologySpreadConstraint } from '#api/objects';
import { topologySpread } from '../../../../../src/local/kubernetes/scheduler/filters.ts';
import { interPodAffinity } from '../../../../../src/local/kubernetes/scheduler/pod-affinity.ts';
import { clusterOf, nodeView, outcome, type PodShape, podWith, refusal } from './fixtures.ts';

const web = { app: 'web' };
const webPod = podWith({ labels: web });
const inZone = (name: string, zone: string, ...pods: ReturnType<typeof podWith>[]) =>
  nodeView(name, { labels: { zone }, pods });

describe('interPodAffinity', () => {
  const term = (more: Partial<PodAffinityTerm> = {}): PodAffinityTerm => ({
    topologyKey: 'zone',
    labelSelector: { matchLabels: web },
    ...more,
  });
  const near = (...terms: PodAffinityTerm[]): PodShape => ({
    affinity: { podAffinity: { requiredDuringSchedulingIgnoredDuringExecution: terms } },
  });
  const far = (...terms: PodAffinityTerm[]): PodShape => ({
    affinity: { podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: terms } },
  });
  const cluster = clusterOf([inZone('a', 'z1', webPod), inZone('b', 'z1'), inZone('c', 'z2')], {
    namespaces: [{ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'default', labels: { team: 'x' } } }],
  });

  it.each<[string, PodShape, readonly string[]]>([
    ['near other pods by zone', near(term()), ['a', 'b']],
    ['near other pods by host', near(term({ topologyKey: 'kubernetes.io/hostname' })), ['a']],
    ['away from other pods by zone', far(term()), ['c']],
    ['pods in named namespaces', { namespace: 'mine', ...near(term({ namespaces: ['default'] })) }, ['a', 'b']],
    [
      'pods in selected namespaces',
      { namespace: 'mine', ...far(term({ namespaceSelector: { matchLabels: { team: 'x' } } })) },
      ['c'],
    ],
    ['pods in every namespace', { namespace: 'mine', ...far(term({ namespaceSelector: {} })) }, ['c']],
    ['only pods in the own namespace', { namespace: 'mine', ...far(term()) }, ['a', 'b', 'c']],
    [
      'pods with the same value of a label',
      { labels: { version: '2' }, ...far(term({ matchLabelKeys: ['version'] })) },
      ['a', 'b', 'c'],
    ],
    [
      'pods with a different value of a label',
      { labels: { version: '2' }, ...far(term({ mismatchLabelKeys: ['version'] })) },
      ['c'],
    ],
  ])('decides as kube-scheduler: %s', (_, shape, fits) => {
    expect(outcome(interPodAffinity, podWith(shape), cluster)).toEqual(fits);
  });

  it('lets the first pod of a group start on any node with the key', () => {
    const empty = clusterOf([inZone('a', 'z1'), nodeView('b')]);
    expect(outcome(interPodAffinity, podWith({ labels: web, ...near(term()) }), empty)).toEqual(['a']);
  });

  it('rejects a pod if no other pod matches its affinity', () => {
    const message = outcome(interPodAffinity, podWith(near(term())), clusterOf([inZone('a', 'z1')]));
    expect(message).toBe(refusal("node(s) didn't match pod affinity rules"));
  });

  it('respects the anti-affinity of running pods', () => {
    const loner = podWith(far(term()));
    const message = outcome(interPodAffinity, podWith({ labels: web }), clusterOf([inZone('a', 'z1', loner)]));
    expect(message).toBe(refusal("node(s) didn't satisfy existing pods anti-affinity rules"));
  });

  it('requires one pod that matches all terms', () => {
    const both = near(term(), term({ labelSelector: { matchLabels: { tier: 'db' } } }));
    const one = clusterOf([inZone('a', 'z1', webPod, podWith({ labels: { tier: 'db' } }))]);
    expect(outcome(interPodAffinity, podWith(both), one)).toBe(refusal("node(s) didn't match pod affinity rules"));
    const all = clusterOf([inZone('a', 'z1', podWith({ labels: { ...web, tier: 'db' } }))]);
    expect(outcome(interPodAffinity, podWith(both), all)).toEqual(['a']);
  });
});

describe('topologySpread', () => {
  const spread = (more: Partial<TopologySpreadConstraint> = {}, pod: PodShape = {}): PodShape => ({
    labels: web,
    topologySpreadConstraints: [
      {
        maxSkew: 1,
        topologyKey: 'zone',
        whenUnsatisfiable: 'DoNotSchedule',
        labelSelector: { matchLabels: web },
        ...more,
      },
    ],
    ...pod,
  });
  const uneven = [inZone('a', 'z1', webPod), inZone('b', 'z2')];

  it.each<[string, PodShape, readonly string[]]>([
    ['the emptier domain', spread(), ['b']],
    ['a wider skew', spread({ maxSkew: 2 }), ['a', 'b']],
    ['a pod that the selector does not match', spread({}, { labels: {} }), ['a', 'b']],
    ['pods in other namespaces are ignored', spread({}, { namespace: 'mine' }), ['a', 'b']],
    ['the minimum is 0 below minDomains', spread({ minDomains: 3, maxSkew: 1 }), ['b']],
    ['domains that the pod cannot use are ignored', spread({}, { nodeSelector: { zone: 'z1' } }), ['a', 'b']],
    [
      'domains count if the constraint ignores node affinity',
      spread({ nodeAffinityPolicy: 'Ignore' }, { nodeSelector: { zone: 'z1' } }),
      ['b'],
    ],
    [
      'only pods with the same label value are counted',
      spread({ matchLabelKeys: ['version'] }, { labels: { ...web, version: '2' } }),
      ['a', 'b'],
    ],
    ['ScheduleAnyway does not reject nodes', spread({ whenUnsatisfiable: 'ScheduleAnyway' }), ['a', 'b']],
  ])('decides as kube-scheduler: %s', (_, shape, fits) => {
    expect(outcome(topologySpread, podWith(shape), clusterOf(uneven))).toEqual(fits);
  });

  it('ignores terminating pods', () => {
    const going = podWith({ labels: web, deleting: true });
    const cluster = clusterOf([inZone('a', 'z1', going), inZone('b', 'z2')]);
    expect(outcome(topologySpread, podWith(spread()), cluster)).toEqual(['a', 'b']);
  });

  it('excludes tainted domains if nodeTaintsPolicy is Honor', () => {
    const tainted = nodeView('b', { labels: { zone: 'z2' }, spec: { taints: [{ key: 'x', effect: 'NoSchedule' }] } });
    const cluster = clusterOf([inZone('a', 'z1', webPod), tainted]);
    expect(outcome(topologySpread, podWith(spread()), cluster)).toEqual(['b']);
    expect(outcome(topologySpread, podWith(spread({ nodeTaintsPolicy: 'Honor' })), cluster)).toEqual(['a', 'b']);
  });

  it('uses a minimum of 0 while domains are missing', () => {
    const cluster = clusterOf([inZone('a', 'z1', webPod), inZone('b', 'z2', webPod)]);
    expect(outcome(topologySpread, podWith(spread({ minDomains: 3 })), cluster)).toBe(
      "0/2 nodes are available: 2 node(s) didn't match pod topology spread constraints.",
    );
  });

  it('rejects nodes without the key', () => {
    expect(outcome(topologySpread, podWith(spread()), clusterOf([nodeView('a')]))).toBe(
      refusal("node(s) didn't match pod topology spread constraints (missing required label)"),
    );
  });
});
