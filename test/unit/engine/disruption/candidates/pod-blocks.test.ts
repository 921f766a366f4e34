import { describe, expect, it } from '@jest/globals';
import { DISRUPTED_TAINT, DO_NOT_DISRUPT_ANNOTATION, type PodDisruptionBudget } from '#api/objects';
import {
  consolidatableIn,
  isUnderConsolidateAfter,
} from '../../../../../src/engine/disruption/candidates/consolidate-after.ts';
import { lifetimeRemaining } from '../../../../../src/engine/disruption/candidates/disruption-cost.ts';
import {
  blockingBudgets,
  currentlyReschedulable,
  podBlock,
} from '../../../../../src/engine/disruption/candidates/pod-blocks.ts';
import { protectionOf } from '../../../../../src/engine/disruption/candidates/protection.ts';
import { doNotDisrupt } from '../../../../../src/engine/pods.ts';
import { invalid } from '../../../../support/partial.ts';
import { at, budget, claim, NOW, pod, pool } from '../objects.ts';

const everything = { selector: {} };

describe('blockingBudgets', () => {
  const never = (spec: Partial<PodDisruptionBudget['spec']>): readonly string[] =>
    blockingBudgets(pod('a'), [budget('b', { ...everything, ...spec })], { nowMs: NOW, test: 'never-any-disruption' });

  it.each([
    { spec: { maxUnavailable: 0 }, blocks: true },
    { spec: { maxUnavailable: '0%' }, blocks: true },
    { spec: { minAvailable: '100%' }, blocks: true },
    { spec: { minAvailable: 5 }, blocks: false },
    { spec: { maxUnavailable: 1 }, blocks: false },
  ])('blocks permanently with $spec: $blocks', ({ spec, blocks }) => {
    expect(never(spec)).toEqual(blocks ? ['default/b'] : []);
  });

  const now = (budgets: readonly PodDisruptionBudget[], subject = pod('a')): readonly string[] =>
    blockingBudgets(subject, budgets, { nowMs: NOW, test: 'no-disruption-now' });

  it('uses the disruptions that are allowed now', () => {
    expect(now([budget('b', everything, 0)])).toEqual(['default/b']);
    expect(now([budget('b', everything, 1)])).toEqual([]);
    expect(now([{ ...budget('b', everything, 0), metadata: { name: 'b', namespace: 'other' } }])).toEqual([]);
  });

  it.each<{ what: string; spec: Partial<PodDisruptionBudget['spec']> }>([
    { what: 'a percentage that is not a number', spec: { ...everything, maxUnavailable: 'abc%' } },
    { what: 'a negative number', spec: { ...everything, minAvailable: -1 } },
    {
      what: 'an unknown operator',
      spec: { selector: { matchExpressions: [{ key: 'app', operator: invalid('Like'), values: ['x'] }] } },
    },
  ])('blocks a pod that a budget with $what may select', ({ spec }) => {
    expect(now([budget('b', spec, 5)])).toEqual(['default/b']);
    expect(never(spec)).toEqual(['default/b']);
    expect(currentlyReschedulable(pod('a'), [budget('b', spec, 5)], NOW)).toBe(false);
  });

  it('uses the valid part of a selector to exclude pods that it cannot select', () => {
    const matchExpressions = [{ key: 'app', operator: invalid<'In'>('Like'), values: ['x'] }];
    expect(now([budget('b', { selector: { matchLabels: { app: 'other' }, matchExpressions } }, 5)])).toEqual([]);
  });

  it('uses the default namespace if none is set', () => {
    const unplaced = { ...budget('b', everything, 0), metadata: { name: 'b' } };
    expect(now([unplaced])).toEqual(['default/b']);
  });

  it('does not block unhealthy pods if the budget allows their eviction', () => {
    const unhealthy = pod('a', { status: { phase: 'Running', conditions: [{ type: 'Ready', status: 'False' }] } });
    expect(now([budget('b', { ...everything, unhealthyPodEvictionPolicy: 'AlwaysAllow' }, 0)], unhealthy)).toEqual([]);
    expect(now([budget('b', everything, 0)], unhealthy)).toEqual(['default/b']);
  });

  it.each([
    { status: 'Unknown' as const, spared: false },
    { status: 'True' as const, spared: false },
    { status: 'False' as const, spared: true },
  ])('treats a pod whose Ready condition is $status as unhealthy: $spared', ({ status, spared }) => {
    const subject = pod('a', { status: { phase: 'Running', conditions: [{ type: 'Ready', status }] } });
    const lenient = budget('b', { ...everything, unhealthyPodEvictionPolicy: 'AlwaysAllow' }, 0);
    expect(now([lenient], subject)).toEqual(spared ? [] : ['default/b']);
    expect(now([lenient], pod('without conditions'))).toEqual(['default/b']);
  });

  it('blocks a pod that two budgets select, even if both would allow the eviction', () => {
    const unhealthy = pod('a', { status: { phase: 'Running', conditions: [{ type: 'Ready', status: 'False' }] } });
    const lenient = ['b', 'c'].map((name) =>
      budget(name, { ...everything, unhealthyPodEvictionPolicy: 'AlwaysAllow' }, 5),
    );
    expect(now(lenient, unhealthy)).toEqual(['default/b', 'default/c']);
    expect(never({ maxUnavailable: 5 })).toEqual([]);
  });

  it('ignores pods that are never evicted', () => {
    const tolerant = pod('a', {
      spec: { containers: [], tolerations: [{ key: DISRUPTED_TAINT.key, operator: 'Exists' }] },
    });
    expect(now([budget('b', everything, 0)], tolerant)).toEqual([]);
  });
});

describe('currentlyReschedulable', () => {
  it.each([
    { what: 'a running pod', subject: pod('a'), is: true },
    { what: 'a finished pod', subject: pod('a', { status: { phase: 'Succeeded' } }), is: false },
    {
      what: 'a pod that must stay',
      subject: pod('a', { metadata: { annotations: { [DO_NOT_DISRUPT_ANNOTATION]: 'true' } } }),
      is: false,
    },
    {
      what: 'a daemon',
      subject: pod('a', {
        metadata: { ownerReferences: [{ apiVersion: 'apps/v1', kind: 'DaemonSet', name: 'd', uid: 'd' }] },
      }),
      is: false,
    },
    { what: 'a terminating pod', subject: pod('a', { metadata: { deletionTimestamp: at(NOW) } }), is: false },
    {
      what: 'a terminating pod of a StatefulSet',
      subject: pod('a', {
        metadata: {
          deletionTimestamp: at(NOW),
          ownerReferences: [{ apiVersion: 'apps/v1', kind: 'StatefulSet', name: 's', uid: 's' }],
        },
      }),
      is: true,
    },
    {
      what: 'a terminating pod of a StatefulSet that must stay, which it cannot',
      subject: pod('a', {
        metadata: {
          deletionTimestamp: at(NOW),
          ownerReferences: [{ apiVersion: 'apps/v1', kind: 'StatefulSet', name: 's', uid: 's' }],
          annotations: { [DO_NOT_DISRUPT_ANNOTATION]: 'true' },
        },
      }),
      is: true,
    },
  ])('is $is for $what', ({ subject, is }) => {
    expect(currentlyReschedulable(subject, [], NOW)).toBe(is);
  });
});

describe('podBlock', () => {
  const kept = { annotations: { [DO_NOT_DISRUPT_ANNOTATION]: 'true' } };

  it.each([
    { what: 'runs', subject: pod('a', { metadata: kept }), code: 'pod-do-not-disrupt' },
    { what: 'has finished', subject: pod('a', { metadata: kept, status: { phase: 'Failed' } }), code: undefined },
    {
      what: 'is terminating',
      subject: pod('a', { metadata: { ...kept, deletionTimestamp: at(NOW) } }),
      code: undefined,
    },
  ])('reports a pod that must not be disrupted and $what: $code', ({ subject, code }) => {
    expect(podBlock([subject], [], NOW)?.code).toBe(code);
  });
});

describe('protectionOf', () => {
  const started = { phase: 'Running' as const, startTime: at(NOW - 3_600_000) };

  it.each([
    { value: 'true', kind: 'always' },
    { value: '1h1s', kind: 'until' },
    { value: '1h', kind: 'elapsed' }, // exactly now
    { value: '59m', kind: 'elapsed' },
    { value: '0s', kind: 'invalid' },
    { value: '-1h', kind: 'invalid' },
    { value: 'false', kind: 'invalid' },
  ])('is $kind for $value, one hour after the start', ({ value, kind }) => {
    const subject = pod('a', { metadata: { annotations: { [DO_NOT_DISRUPT_ANNOTATION]: value } }, status: started });
    expect(protectionOf(subject, NOW).kind).toBe(kind);
    // Both readers of the annotation agree.
    expect(doNotDisrupt(subject, NOW)).toBe(kind === 'always' || kind === 'until');
  });
});

describe('consolidatableIn', () => {
  const initialized = { type: 'Initialized', status: 'True' as const, lastTransitionTime: at(NOW - 60_000) };
  const quiet = claim('a', { status: { conditions: [initialized] } });
  const busy = claim('a', { status: { conditions: [initialized], lastPodEventTime: at(NOW - 10_000) } });
  it.each([
    { when: 'at once', subject: busy, after: '0s', is: 0 },
    { when: 'since initialisation', subject: quiet, after: '5m', is: 240_000 },
    { when: 'since the last pod event', subject: busy, after: '30s', is: 20_000 },
    { when: 'and the window has passed', subject: quiet, after: '30s', is: 0 },
    { when: 'never', subject: quiet, after: 'Never', is: undefined },
    { when: 'before initialisation', subject: claim('a'), after: '0s', is: undefined },
  ])('is $is for $after $when', ({ subject, after, is }) => {
    const own = pool('p', { consolidateAfter: after });
    expect(consolidatableIn(subject, own, NOW)).toBe(is);
    expect(isUnderConsolidateAfter(subject, own, NOW)).toBe(is !== undefined && is > 0);
  });
});

describe('lifetimeRemaining', () => {
  it.each([
    { expireAfter: 'Never', is: 1 },
    { expireAfter: '2h', is: 0.5 },
    { expireAfter: '30m', is: 0 },
  ])('is $is one hour into $expireAfter', ({ expireAfter, is }) => {
    expect(lifetimeRemaining(claim('a', { spec: { expireAfter } }), NOW)).toBe(is);
  });
});
