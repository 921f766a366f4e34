import { describe, expect, it } from '@jest/globals';
import type { Pod, Taint, Toleration } from '#api/objects';
import { hostPortsOf, portConflict } from '../../../src/engine/host-ports.ts';
import {
  doNotDisrupt,
  evictionCost,
  isEvictable,
  isReschedulable,
  isUnschedulable,
  isWaitingForEviction,
} from '../../../src/engine/pods.ts';
import { formatTaint, tolerates, untolerated } from '../../../src/engine/taints.ts';
import { pod } from './build.ts';

const NOW = Date.parse('2026-06-01T00:00:00Z');
const meta = (base: Pod, metadata: Partial<Pod['metadata']>): Pod => ({
  ...base,
  metadata: { ...base.metadata, ...metadata },
});
const owned = (apiVersion: string, kind: string): Pod =>
  meta(pod('p'), { ownerReferences: [{ apiVersion, kind, name: 'o', uid: 'o' }] });
const annotated = (value: string, startTime?: string): Pod => ({
  ...meta(pod('p'), { annotations: { 'karpenter.sh/do-not-disrupt': value } }),
  status: { phase: 'Running', ...(startTime === undefined ? {} : { startTime }) },
});
const DISRUPTED: Toleration = { key: 'karpenter.sh/disrupted', operator: 'Exists' };
const leaving = (base: Pod): Pod => meta(base, { deletionTimestamp: '2026-05-31T23:59:50Z' });

describe('isUnschedulable', () => {
  it.each<[string, Pod, boolean]>([
    ['an unschedulable pod', pod('p'), true],
    ['a bound pod', pod('p', { nodeName: 'n' }), false],
    ['a pod that kube-scheduler has not tried', { ...pod('p'), status: { phase: 'Pending' } }, false],
    ['a pod with a nominated node', { ...pod('p'), status: { ...pod('p').status, nominatedNodeName: 'n' } }, true],
    ['a DaemonSet pod', owned('apps/v1', 'DaemonSet'), false],
    ['a mirror pod', owned('v1', 'Node'), false],
  ])('evaluates %s', (_, each, verdict) => expect(isUnschedulable(each)).toBe(verdict));
});

describe('isReschedulable', () => {
  it.each<[string, Pod, boolean]>([
    ['a running pod', pod('p'), true],
    ['a finished pod', { ...pod('p'), status: { phase: 'Succeeded' } }, false],
    ['a terminating pod', leaving(pod('p')), false],
    ['a terminating pod of a StatefulSet, which is created again', leaving(owned('apps/v1', 'StatefulSet')), true],
    ['a DaemonSet pod', owned('apps/v1', 'DaemonSet'), false],
  ])('evaluates %s', (_, each, verdict) => expect(isReschedulable(each)).toBe(verdict));
});

describe('doNotDisrupt', () => {
  it.each<[string, Pod, boolean]>([
    ['no annotation', pod('p'), false],
    ['true', annotated('true'), true],
    ['false', annotated('false'), false],
    ['a duration that has not elapsed', annotated('1h', '2026-05-31T23:30:00Z'), true],
    ['a duration that has elapsed', annotated('1h', '2026-05-31T22:30:00Z'), false],
    ['a duration without a start time', annotated('1h'), true],
    ['a negative duration', annotated('-1h'), false],
    ['a word', annotated('please'), false],
  ])('parses %s', (_, each, verdict) => expect(doNotDisrupt(each, NOW)).toBe(verdict));
});

describe('eviction', () => {
  it('skips pods that tolerate the disruption taint and pods that must not be disrupted', () => {
    expect(isEvictable(pod('p'), NOW)).toBe(true);
    expect(isEvictable(pod('p', { tolerations: [DISRUPTED] }), NOW)).toBe(false);
    expect(isEvictable(annotated('true'), NOW)).toBe(false);
  });

  it('is awaited until a pod is gone or stuck', () => {
    expect(isWaitingForEviction(leaving(pod('p')), NOW)).toBe(true);
    expect(isWaitingForEviction(leaving(pod('p')), NOW + 60_000)).toBe(false);
    expect(isWaitingForEviction(annotated('true'), NOW)).toBe(true);
    expect(isWaitingForEviction(pod('p', { tolerations: [DISRUPTED] }), NOW)).toBe(false);
  });

  it.each([
    [{}, 0, 1],
    [{ 'controller.kubernetes.io/pod-deletion-cost': String(2 ** 27) }, 0, 2],
    [{}, 2 ** 25, 2],
    [{ 'controller.kubernetes.io/pod-deletion-cost': '2147483647' }, 2_000_000_000, 10],
    [{ 'controller.kubernetes.io/pod-deletion-cost': 'dear' }, 0, 1],
    [{}, -2_147_483_648, -10],
  ])('costs, with %j and priority %d, %d', (annotations, priority, cost) => {
    expect(evictionCost(meta(pod('p', { priority }), { annotations }))).toBeCloseTo(cost, 5);
  });
});

describe('a taint', () => {
  const taint: Taint = { key: 'gpu', value: 'yes', effect: 'NoSchedule' };
  it.each<[Toleration, boolean]>([
    [{ key: 'gpu', operator: 'Exists' }, true],
    [{ operator: 'Exists' }, true],
    [{ key: 'gpu', value: 'yes' }, true],
    [{ key: 'gpu', value: 'no' }, false],
    [{ key: 'cpu', operator: 'Exists' }, false],
    [{ key: 'gpu', operator: 'Exists', effect: 'NoExecute' }, false],
    [{ key: 'gpu', operator: 'Gt', value: '1' }, false],
  ])('is tolerated with %j: %s', (toleration, verdict) => expect(tolerates(toleration, taint)).toBe(verdict));

  it('is compared as a number', () => {
    const level: Taint = { key: 'level', value: '5', effect: 'NoSchedule' };
    expect(tolerates({ key: 'level', operator: 'Gt', value: '4' }, level)).toBe(true);
    expect(tolerates({ key: 'level', operator: 'Gt', value: '5' }, level)).toBe(false);
    expect(tolerates({ key: 'level', operator: 'Lt', value: '6' }, level)).toBe(true);
  });

  it('must be tolerated for every effect', () => {
    const preferred: Taint = { key: 'old', effect: 'PreferNoSchedule' };
    expect(untolerated([{ key: 'gpu', operator: 'Exists' }], [taint, preferred]).map(formatTaint)).toEqual([
      'old:PreferNoSchedule',
    ]);
  });
});

describe('a pair of host ports', () => {
  const port = (ip: string, protocol = 'TCP') => ({ ip, port: 80, protocol });
  it.each([
    [port('0.0.0.0'), port('10.0.0.1'), true],
    [port('::'), port('10.0.0.1'), true],
    [port('10.0.0.1'), port('10.0.0.1'), true],
    [port('10.0.0.1'), port('10.0.0.2'), false],
    [port('0.0.0.0'), port('0.0.0.0', 'UDP'), false],
  ])('conflicts for %j and %j: %s', (a, b, verdict) => expect(portConflict([a], [b]) !== undefined).toBe(verdict));

  it('defaults to any address and TCP', () => {
    expect(hostPortsOf(pod('p', { hostPort: 80 }))).toEqual([port('0.0.0.0')]);
  });
});
