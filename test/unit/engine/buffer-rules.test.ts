import { describe, expect, it } from '@jest/globals';
import type { CapacityBuffer, Pod, PodTemplateSpec } from '#api/objects';
import { bufferPrices, bufferRules, clusterShare, consumersOf, countTaken } from '../../../src/engine/buffer-rules.ts';
import { virtualPods } from '../../../src/engine/capacity-buffers.ts';

const PREFIX = 'karpenter-ts.sh/buffer-';
const buffer = (annotations: Record<string, string> = {}, spec: CapacityBuffer['spec'] = {}): CapacityBuffer => ({
  apiVersion: 'autoscaling.x-k8s.io/v1beta1',
  kind: 'CapacityBuffer',
  metadata: {
    name: 'spare',
    namespace: 'web',
    creationTimestamp: '2026-01-01T00:00:00Z',
    annotations: Object.fromEntries(Object.entries(annotations).map(([name, value]) => [PREFIX + name, value])),
  },
  spec,
});

const template = (cpu: string, labels?: Record<string, string>): PodTemplateSpec => ({
  ...(labels && { metadata: { labels } }),
  spec: { containers: [{ name: 'main', resources: { requests: { cpu, memory: '1Gi' } } }] },
});

const running = (name: string, cpu: string, more: Partial<Pod['metadata']> = {}, nodeName = 'n'): Pod => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name, namespace: 'web', uid: name, creationTimestamp: '2026-01-02T00:00:00Z', ...more },
  spec: { ...(nodeName && { nodeName }), containers: [{ name: 'main', resources: { requests: { cpu } } }] },
});

describe('a schedule of a buffer', () => {
  const working = { schedule: '0 7 * * mon-fri', 'schedule-duration': '11h', 'time-zone': 'Europe/Berlin' };

  it.each([
    ['2026-01-12T05:59:00Z', false],
    ['2026-01-12T06:00:00Z', true],
    ['2026-01-12T16:59:00Z', true],
    ['2026-01-12T17:01:00Z', false],
    ['2026-07-13T05:00:00Z', true],
    ['2026-01-11T10:00:00Z', false],
  ])('follows the clock of its time zone at %s', (time, isOpen) => {
    expect(bufferRules(buffer(working)).isOpenAt(Date.parse(time))).toBe(isOpen);
  });
});

describe('an annotation that is not valid', () => {
  it.each([
    [{ 'cluster-percentage': '10%' }, /cluster-percentage is "10%"; use an integer from 1 to 1000/],
    [{ 'cluster-percentage': '0' }, /use an integer/],
    [{ refill: 'once' }, /refill is "once"; use "never", or remove/],
    [{ refill: 'never', 'cluster-percentage': '5' }, /without a share or a schedule/],
    [{ schedule: '0 7 * * *' }, /set karpenter-ts\.sh\/buffer-schedule-duration to a duration/],
    [{ 'schedule-duration': '1h' }, /set karpenter-ts\.sh\/buffer-schedule,/],
    [{ schedule: 'daily', 'schedule-duration': '1h' }, /schedule is "daily"; .*not valid/],
    [{ schedule: '0 7 * * *', 'schedule-duration': 'long' }, /duration "long"/],
    [
      { schedule: '0 7 * * *', 'schedule-duration': '1h', 'time-zone': 'Mars' },
      /time zone is unknown, expected for example/,
    ],
  ])('is refused with the remedy: %j', (annotations: Record<string, string>, message) => {
    expect(() => bufferRules(buffer(annotations))).toThrow(message);
  });
});

describe('a share of the cluster', () => {
  it('covers the requests of running pods in each resource, without daemons, pending and ended pods', () => {
    const daemon = { ownerReferences: [{ apiVersion: 'apps/v1', kind: 'DaemonSet', name: 'd', uid: 'd' }] };
    const ended: Pod = { ...running('e', '50'), status: { phase: 'Succeeded' } };
    const pods = [running('a', '6'), running('b', '4'), running('c', '90', daemon), running('p', '9', {}, ''), ended];
    expect(clusterShare(10, template('1'), pods)).toBe(1);
    expect(clusterShare(11, template('1'), pods)).toBe(2);
    expect(clusterShare(100, template('300m'), pods)).toBe(34);
    expect(clusterShare(10, template('1'), [])).toBe(0);
  });
});

describe('the consumers of a buffer', () => {
  it('are bound pods of its namespace with the labels of the template that are newer than the buffer', () => {
    const labels = { app: 'train' };
    const old = running('old', '1', { labels, creationTimestamp: '2025-12-31T00:00:00Z' });
    const pods = [
      running('a', '1', { labels: { ...labels, more: 'x' } }),
      running('b', '1', { labels }, ''),
      running('c', '1', { labels, namespace: 'other' }),
      running('d', '1', {}),
      old,
    ];
    expect(consumersOf(buffer(), template('1', labels), pods).map(({ metadata }) => metadata.name)).toEqual(['a']);
    expect(() => consumersOf(buffer(), template('1'), pods)).toThrow(/add labels to the pod template/);
  });

  it('take room by their requests', () => {
    const cpuOnly: PodTemplateSpec = { spec: { containers: [{ name: 'm', resources: { requests: { cpu: '2' } } }] } };
    expect(countTaken([running('a', '3'), running('b', '2')], cpuOnly)).toBe(2);
    expect(countTaken([], cpuOnly)).toBe(0);
  });
});

describe('the price of the room of a buffer', () => {
  it('is its share of new nodes by requests, and of existing nodes by allocatable resources', () => {
    const virtual = virtualPods(buffer(), template('1'), 3, 0);
    const other = running('web', '1', {}, '');
    const keys = virtual.map(({ metadata }) => `web/${metadata.name}`);
    const claim = { usdPerHour: 0.4, requests: { cpu: 2, memory: 2 * 1024 ** 3 } };
    const plan = {
      claims: [{ ...claim, pods: [keys[0], 'web/web'] }],
      placements: [{ node: 'n', providerId: 'n', pods: [keys[1], keys[2]] }],
    } as unknown as Parameters<typeof bufferPrices>[0];
    const existing = new Map([['n', { allocatable: { cpu: 8000, memory: 64 * 1024 ** 3 }, usdPerHour: 0.8 }]]);
    const prices = bufferPrices(plan, [...virtual, other], existing);
    expect([...prices.keys()]).toEqual(['web/spare']);
    expect(prices.get('web/spare')).toBeGreaterThan(0.2);
    expect(prices.get('web/spare')).toBeLessThan(0.4 + 0.8);
  });
});
