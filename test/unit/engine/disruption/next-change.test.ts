/** The next time at which the passage of time alone changes a decision. */
import { describe, expect, it } from '@jest/globals';
import { DO_NOT_DISRUPT_ANNOTATION } from '#api/objects';
import { nextChangeMs } from '../../../../src/engine/disruption/next-change.ts';
import { at, claim, NOW, pod, pool, stateNode } from './objects.ts';

const MINUTE = 60_000;
type TimedCluster = Parameters<typeof nextChangeMs>[0];
const next = (more: Partial<TimedCluster>): number =>
  nextChangeMs({ nodes: [stateNode('a')], nodePools: [pool()], ...more }, NOW) - NOW;

const nominated = (ms: number) => stateNode('a', { state: { nominatedUntilMs: NOW + ms } });
const withPod = (value: string, startTime: string | undefined = at(NOW - MINUTE)) =>
  stateNode('a', {
    pods: [
      pod('one', {
        metadata: { annotations: { [DO_NOT_DISRUPT_ANNOTATION]: value } },
        status: { phase: 'Running', ...(startTime !== '' && { startTime }) },
      }),
    ],
  });
const terminating = stateNode('a', { pods: [pod('one', { metadata: { deletionTimestamp: at(NOW + 1000) } })] });
const initialized = stateNode('a', {
  claim: claim('a', {
    status: { conditions: [{ type: 'Initialized', status: 'True', lastTransitionTime: at(NOW - MINUTE) }] },
  }),
});
const budgets = (schedule: string, duration: string) => [
  pool('default', { consolidateAfter: '0s', budgets: [{ nodes: '0', schedule, duration }] }),
];

describe('nextChangeMs', () => {
  // NOW is 12:00 UTC
  it.each<[string, Partial<TimedCluster>, number]>([
    ['no condition depends on time', {}, Number.POSITIVE_INFINITY],
    ['a nomination ends', { nodes: [nominated(20_000)] }, 20_000],
    ['a nomination has ended', { nodes: [nominated(0)] }, Number.POSITIVE_INFINITY],
    ['the protection of a pod ends', { nodes: [withPod('10m')] }, 9 * MINUTE],
    ['the protection of a pod has ended', { nodes: [withPod('30s')] }, Number.POSITIVE_INFINITY],
    ['a pod is always protected', { nodes: [withPod('true')] }, Number.POSITIVE_INFINITY],
    ['a pod has not started', { nodes: [withPod('10m', '')] }, Number.POSITIVE_INFINITY],
    ['a terminating pod will count as stuck', { nodes: [terminating] }, Number.POSITIVE_INFINITY],
    [
      'a node has been quiet for consolidateAfter',
      { nodes: [initialized], nodePools: [pool('default', { consolidateAfter: '5m' })] },
      4 * MINUTE,
    ],
    ['a window of a budget begins', { nodePools: budgets('30 12 * * *', '1h') }, 30 * MINUTE],
    ['a window of a budget ends', { nodePools: budgets('30 11 * * *', '1h') }, 30 * MINUTE],
    ['one window ends before the next begins', { nodePools: budgets('*/20 * * * *', '1m') }, MINUTE],
    ['a budget cannot be parsed', { nodePools: budgets('never', '1m') }, Number.POSITIVE_INFINITY],
    ['several times are possible', { nodes: [nominated(3 * MINUTE), withPod('3m')] }, 2 * MINUTE],
  ])('returns the time when %s', (_, cluster, ms) => {
    expect(next(cluster)).toBe(ms);
  });
});
