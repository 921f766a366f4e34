import { describe, expect, it } from '@jest/globals';
import { dependsOnChange, mayCount } from '../../../../../src/local/kubernetes/scheduler/counted-pods.ts';
import { nodeView, type PodShape, podWith } from './fixtures.ts';

const labelSelector = { matchLabels: { app: 'web' } };
const term = { topologyKey: 'zone', labelSelector };
const required = { requiredDuringSchedulingIgnoredDuringExecution: [term] };
const spread = (more: object = {}): PodShape => ({
  topologySpreadConstraints: [{ ...term, maxSkew: 1, whenUnsatisfiable: 'DoNotSchedule', ...more }],
});

describe('a pod with rules about other pods', () => {
  it.each<[string, PodShape]>([
    ['affinity', { affinity: { podAffinity: required } }],
    ['anti-affinity', { affinity: { podAntiAffinity: required } }],
    ['a topology spread constraint', spread()],
  ])('counts the pods that its %s selects', (_, shape) => {
    expect(mayCount(podWith(shape), podWith({ labels: { app: 'web' } }))).toBe(true);
    expect(mayCount(podWith(shape), podWith({ labels: { app: 'job' } }))).toBe(false);
  });

  it('counts no pods for a soft constraint', () => {
    const soft = podWith(spread({ whenUnsatisfiable: 'ScheduleAnyway' }));
    expect(mayCount(soft, podWith({ labels: { app: 'web' } }))).toBe(false);
  });

  const taints = [{ key: 'a', effect: 'NoSchedule' }] as const;
  it.each<[string, PodShape, { labels?: Record<string, string>; spec?: { taints: typeof taints } }, boolean]>([
    ['the topology key', spread(), { labels: { zone: 'b' } }, true],
    ['another label', spread(), { labels: { zone: 'a', note: 'x' } }, false],
    ['a selected label', { ...spread(), nodeSelector: { disk: 'ssd' } }, { labels: { zone: 'a', disk: 'ssd' } }, true],
    ['a taint', spread(), { labels: { zone: 'a' }, spec: { taints } }, false],
    ['a counted taint', spread({ nodeTaintsPolicy: 'Honor' }), { labels: { zone: 'a' }, spec: { taints } }, true],
  ])('depends on a change of %s: %j', (_, shape, changed, isExpected) => {
    const before = nodeView('n', { labels: { zone: 'a' } }).node;
    expect(dependsOnChange(podWith(shape), nodeView('n', changed).node, before)).toBe(isExpected);
  });
});
