import { describe, expect, it } from '@jest/globals';
import type { Pod } from '#api/objects';
import { grantedSeconds, needsForceDelete, pendingAttachments } from '#engine/drain';
import { planDrain } from '../../../../src/controllers/node/drain.ts';
import { conditionsChanged } from '../../../../src/controllers/node/health.ts';
import { withDisruptedTaint } from '../../../../src/controllers/node/node-termination.ts';
import { invalid } from '../../../support/partial.ts';
import { daemonOf, nodeOf, podOf } from './bench.ts';

const NOW = Date.UTC(2026, 0, 1, 12);
const at = (seconds: number): string => new Date(NOW + seconds * 1_000).toISOString();
const never = Number.POSITIVE_INFINITY;
const CRITICAL = { priorityClassName: 'system-node-critical' };
const terminating = (name: string, seconds: number, spec: Partial<Pod['spec']> = {}): Pod =>
  podOf(name, spec, { deletionTimestamp: at(seconds) });

describe('planDrain', () => {
  it.each([
    { when: 'there are no pods', pods: [], next: [], waiting: 0 },
    {
      when: 'there are pods of all tiers',
      pods: [podOf('a'), daemonOf('b'), podOf('c', CRITICAL), daemonOf('d', CRITICAL)],
      next: ['a'],
      waiting: 4,
    },
    { when: 'only DaemonSet pods remain', pods: [daemonOf('b'), podOf('c', CRITICAL)], next: ['b'], waiting: 2 },
    {
      when: 'only critical pods remain',
      pods: [daemonOf('d', CRITICAL), podOf('c', CRITICAL)],
      next: ['c'],
      waiting: 2,
    },
    { when: 'only critical DaemonSet pods remain', pods: [daemonOf('d', CRITICAL)], next: ['d'], waiting: 1 },
    {
      when: 'a pod has a high priority number but no critical class',
      pods: [podOf('a', { priority: 2_000_000_000 }), podOf('c', CRITICAL)],
      next: ['a'],
      waiting: 2,
    },
    { when: 'the first tier is still terminating', pods: [terminating('a', 10), daemonOf('b')], next: [], waiting: 2 },
    { when: 'a pod is stuck terminating', pods: [terminating('a', -61), daemonOf('b')], next: ['b'], waiting: 1 },
    {
      when: 'a pod is finished',
      pods: [{ ...podOf('a'), status: { phase: 'Succeeded' as const } }],
      next: [],
      waiting: 0,
    },
    {
      when: 'a pod tolerates the disruption',
      pods: [podOf('a', { tolerations: [{ key: 'karpenter.sh/disrupted', operator: 'Exists' }] })],
      next: [],
      waiting: 0,
    },
    {
      when: 'there is a static pod',
      pods: [podOf('a', {}, { ownerReferences: [{ apiVersion: 'v1', kind: 'Node', name: 'node', uid: 'n' }] })],
      next: [],
      waiting: 0,
    },
    {
      when: 'a pod must not be disrupted',
      pods: [podOf('a', {}, { annotations: { 'karpenter.sh/do-not-disrupt': 'true' } }), daemonOf('b')],
      next: ['a'],
      waiting: 2,
    },
  ])('lists $next as next if $when, and lets $waiting wait', ({ pods, next, waiting }) => {
    const plan = planDrain(pods, never, NOW);
    expect(plan.next.map(({ metadata }) => metadata.name)).toEqual(next);
    expect(plan.waiting).toBe(waiting);
  });

  it('force-deletes pods of any tier after their deadline', () => {
    const pods = [
      podOf('quick', { terminationGracePeriodSeconds: 5 }),
      daemonOf('slow', { ...CRITICAL, terminationGracePeriodSeconds: 120 }),
    ];
    const plan = planDrain(pods, NOW + 60_000, NOW);
    expect(plan.next.map(({ metadata }) => metadata.name)).toEqual(['slow', 'quick']);
  });
});

describe('needsForceDelete', () => {
  it.each([
    { when: 'there is no deadline', pod: podOf('a'), deadline: never, is: false },
    { when: 'the grace period still fits', pod: podOf('a'), deadline: NOW + 30_000, is: false },
    { when: 'the grace period no longer fits', pod: podOf('a'), deadline: NOW + 29_999, is: true },
    {
      when: 'no grace period is set',
      pod: podOf('a', { terminationGracePeriodSeconds: invalid(undefined) }),
      deadline: NOW - 1,
      is: false,
    },
    { when: 'it terminates in time', pod: terminating('a', 20), deadline: NOW + 20_000, is: false },
    { when: 'it terminates too late', pod: terminating('a', 21), deadline: NOW + 20_000, is: true },
  ])('is $is if $when', ({ pod, deadline, is }) => {
    expect(needsForceDelete(pod, deadline, NOW)).toBe(is);
  });

  it.each([
    { deadline: NOW + 12_900, seconds: 12 },
    { deadline: NOW, seconds: 1 },
    { deadline: NOW - 5_000, seconds: 1 },
  ])('returns $seconds s until the deadline', ({ deadline, seconds }) => {
    expect(grantedSeconds(deadline, NOW)).toBe(seconds);
  });
});

describe('pendingAttachments', () => {
  const attachment = (name: string, volume?: string) => ({
    apiVersion: 'storage.k8s.io/v1',
    kind: 'VolumeAttachment',
    metadata: { name },
    spec: { nodeName: 'node', ...(volume !== undefined && { source: { persistentVolumeName: volume } }) },
  });
  const bound: Readonly<Record<string, string>> = { data: 'pv-data', 'own-scratch': 'pv-scratch' };
  const names = (pods: readonly Pod[]) =>
    pendingAttachments({
      attachments: [attachment('1', 'pv-data'), attachment('2', 'pv-scratch'), attachment('3')],
      pods,
      claim: ({ name }) =>
        bound[name] === undefined
          ? undefined
          : { apiVersion: 'v1', kind: 'PersistentVolumeClaim', metadata: { name }, spec: { volumeName: bound[name] } },
      nowMs: NOW,
    }).map(({ metadata }) => metadata.name);
  const staying = { tolerations: [{ operator: 'Exists' as const }] };
  const volumes = [
    { name: 'data', persistentVolumeClaim: { claimName: 'data' } },
    { name: 'lost', persistentVolumeClaim: { claimName: 'missing' } },
    { name: 'scratch', ephemeral: {} },
  ];

  it('returns attachments of persistent volumes', () => expect(names([])).toEqual(['1', '2']));
  it('returns attachments of volumes of drained pods', () =>
    expect(names([podOf('own', { volumes })])).toEqual(['1', '2']));
  it('excludes volumes of pods that are not drained', () =>
    expect(names([podOf('own', { ...staying, volumes })])).toEqual([]));
});

describe('withDisruptedTaint', () => {
  it('adds the taint and the label, and replaces other effects of the same key', () => {
    const other = { key: 'team', value: 'a', effect: 'NoSchedule' as const };
    const node = nodeOf('node');
    const tainted = withDisruptedTaint({
      ...node,
      spec: { taints: [{ key: 'karpenter.sh/disrupted', effect: 'NoExecute' }, other] },
    });
    expect(tainted.spec?.taints).toEqual([other, { key: 'karpenter.sh/disrupted', effect: 'NoSchedule' }]);
    expect(tainted.metadata.labels).toMatchObject({
      'node.kubernetes.io/exclude-from-external-load-balancers': 'karpenter',
      ...node.metadata.labels,
    });
    expect(withDisruptedTaint(tainted)).toBe(tainted);
  });

  it('keeps an existing taint and adds the label', () => {
    const taint = { key: 'karpenter.sh/disrupted', value: 'soon', effect: 'NoSchedule' as const, timeAdded: at(0) };
    const other = { key: 'team', effect: 'NoSchedule' as const };
    const tainted = withDisruptedTaint({ ...nodeOf('node'), spec: { taints: [taint, other] } });
    expect(tainted.spec?.taints).toEqual([taint, other]);
    expect(tainted.metadata.labels).toHaveProperty(['node.kubernetes.io/exclude-from-external-load-balancers']);
  });
});

describe('repair', () => {
  const conditions = (...types: readonly [string, 'True' | 'False' | 'Unknown', number][]) => ({
    ...nodeOf('node'),
    status: { conditions: types.map(([type, status, seconds]) => ({ type, status, lastTransitionTime: at(seconds) })) },
  });

  it.each([
    { when: 'nothing changes', now: conditions(['Ready', 'True', 0]), changed: false },
    { when: 'a status changes', now: conditions(['Ready', 'False', 0]), changed: true },
    { when: 'a time changes', now: conditions(['Ready', 'True', 1]), changed: true },
    { when: 'a condition is replaced', now: conditions(['Other', 'True', 0]), changed: true },
    { when: 'a condition is added', now: conditions(['Ready', 'True', 0], ['Other', 'True', 0]), changed: true },
  ])('detects a change if $when: $changed', ({ now, changed }) => {
    expect(conditionsChanged(conditions(['Ready', 'True', 0]), now)).toBe(changed);
  });
});
