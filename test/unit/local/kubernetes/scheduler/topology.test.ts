import { describe, expect, it } from '@jest/globals';
import type { PodAffinityTerm, TopologySpreadConstraint } from '../../../../../src/api/kubernetes.ts';
import { interPodAffinity } from '../../../../../src/local/kubernetes/scheduler/pod-affinity.ts';
import { topologySpread } from '../../../../../src/local/kubernetes/scheduler/spread.ts';
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
    ['near others, by zone', near(term()), ['a', 'b']],
    ['near others, by host', near(term({ topologyKey: 'kubernetes.io/hostname' })), ['a']],
    ['away from others, by zone', far(term()), ['c']],
    ['others in the named namespaces', { namespace: 'mine', ...near(term({ namespaces: ['default'] })) }, ['a', 'b']],
    [
      'others in the selected namespaces',
      { namespace: 'mine', ...far(term({ namespaceSelector: { matchLabels: { team: 'x' } } })) },
      ['c'],
    ],
    ['others in every namespace', { namespace: 'mine', ...far(term({ namespaceSelector: {} })) }, ['c']],
    ['others in the own namespace alone', { namespace: 'mine', ...far(term()) }, ['a', 'b', 'c']],
    [
      'others with the same value of a label',
      { labels: { version: '2' }, ...far(term({ matchLabelKeys: ['version'] })) },
      ['a', 'b', 'c'],
    ],
    [
      'others with a different value of a label',
      { labels: { version: '2' }, ...far(term({ mismatchLabelKeys: ['version'] })) },
      ['c'],
    ],
  ])('%s', (_, shape, fits) => {
    expect(outcome(interPodAffinity, podWith(shape), cluster)).toEqual(fits);
  });

  it('lets the first pod of a group start anywhere the key exists', () => {
    const empty = clusterOf([inZone('a', 'z1'), nodeView('b')]);
    expect(outcome(interPodAffinity, podWith({ labels: web, ...near(term()) }), empty)).toEqual(['a']);
  });

  it('refuses a pod whose company is not there', () => {
    const message = outcome(interPodAffinity, podWith(near(term())), clusterOf([inZone('a', 'z1')]));
    expect(message).toBe(refusal("node(s) didn't match pod affinity rules"));
  });

  it('respects the anti-affinity of pods that run', () => {
    const loner = podWith(far(term()));
    const message = outcome(interPodAffinity, podWith({ labels: web }), clusterOf([inZone('a', 'z1', loner)]));
    expect(message).toBe(refusal("node(s) didn't satisfy existing pods anti-affinity rules"));
  });

  it('needs one pod that meets all terms', () => {
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
    ['a pod that the selector does not count', spread({}, { labels: {} }), ['a', 'b']],
    ['pods of other namespaces do not count', spread({}, { namespace: 'mine' }), ['a', 'b']],
    ['with too few domains the minimum is zero', spread({ minDomains: 3, maxSkew: 1 }), ['b']],
    ['domains that the pod cannot reach do not hold it back', spread({}, { nodeSelector: { zone: 'z1' } }), ['a', 'b']],
    [
      'unless the constraint ignores node affinity',
      spread({ nodeAffinityPolicy: 'Ignore' }, { nodeSelector: { zone: 'z1' } }),
      ['b'],
    ],
    [
      'only pods with the same value of a label count',
      spread({ matchLabelKeys: ['version'] }, { labels: { ...web, version: '2' } }),
      ['a', 'b'],
    ],
    ['soft constraints do not forbid', spread({ whenUnsatisfiable: 'ScheduleAnyway' }), ['a', 'b']],
  ])('%s', (_, shape, fits) => {
    expect(outcome(topologySpread, podWith(shape), clusterOf(uneven))).toEqual(fits);
  });

  it('counts no pods that are going away', () => {
    const going = podWith({ labels: web, deleting: true });
    const cluster = clusterOf([inZone('a', 'z1', going), inZone('b', 'z2')]);
    expect(outcome(topologySpread, podWith(spread()), cluster)).toEqual(['a', 'b']);
  });

  it('leaves tainted domains out when told to', () => {
    const tainted = nodeView('b', { labels: { zone: 'z2' }, spec: { taints: [{ key: 'x', effect: 'NoSchedule' }] } });
    const cluster = clusterOf([inZone('a', 'z1', webPod), tainted]);
    expect(outcome(topologySpread, podWith(spread()), cluster)).toEqual(['b']);
    expect(outcome(topologySpread, podWith(spread({ nodeTaintsPolicy: 'Honor' })), cluster)).toEqual(['a', 'b']);
  });

  it('holds the minimum at zero while domains are missing', () => {
    const cluster = clusterOf([inZone('a', 'z1', webPod), inZone('b', 'z2', webPod)]);
    expect(outcome(topologySpread, podWith(spread({ minDomains: 3 })), cluster)).toBe(
      "0/2 nodes are available: 2 node(s) didn't match pod topology spread constraints.",
    );
  });

  it('refuses nodes without the key', () => {
    expect(outcome(topologySpread, podWith(spread()), clusterOf([nodeView('a')]))).toBe(
      refusal("node(s) didn't match pod topology spread constraints (missing required label)"),
    );
  });
});
