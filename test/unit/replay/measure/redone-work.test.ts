/** Work that pods lose with their nodes: its time, and its share of the price of the node. */
import { describe, expect, it } from '@jest/globals';
import type { Pod } from '#api/objects';
import { type PricedNode, packedShare, RedoneMeter } from '../../../../src/replay/measure/measure.ts';
import { pod } from '../../engine/disruption/objects.ts';

const HOUR = 3_600_000;
const GIB = 2 ** 30;
const NODE: PricedNode = { usdPerHour: 1, allocatable: { cpu: 4_000, memory: 8 * GIB, pods: 100 } };

/** Pod with half of the node's CPU and an eighth of its memory. */
const task = (phase: string, isLost = false, restartPolicy: 'Never' | 'Always' = 'Never'): Pod =>
  pod('task', {
    spec: {
      nodeName: 'a',
      restartPolicy,
      containers: [{ name: 'main', resources: { requests: { cpu: '2', memory: '1Gi' } } }],
    } as Pod['spec'],
    status: {
      phase,
      conditions: isLost ? [{ type: 'DisruptionTarget', status: 'True' }] : [],
    } as unknown as NonNullable<Pod['status']>,
  });

const meter = (nodes: Readonly<Record<string, PricedNode>> = { a: NODE }) => new RedoneMeter((name) => nodes[name]);

describe('RedoneMeter', () => {
  it('counts the time from the start of the containers until an evicted pod is gone', () => {
    const redone = meter();
    redone.changed(task('Pending'), 0);
    redone.changed(task('Running'), HOUR);
    redone.changed(task('Running', true), 2.9 * HOUR);
    redone.gone(task('Running', true), 3 * HOUR);
    expect(redone.total).toEqual({ pods: 1, podHours: 2, usd: 2 * ((0.5 + 0.125) / 2) });
  });

  it('counts a pod that failed with its node once', () => {
    const redone = meter();
    redone.changed(task('Running'), 0);
    redone.changed(task('Failed', true), HOUR);
    redone.gone(task('Failed', true), 2 * HOUR);
    expect(redone.total).toMatchObject({ pods: 1, podHours: 1 });
  });

  it.each<[string, readonly Pod[]]>([
    ['succeeded', [task('Running'), task('Succeeded')]],
    ['succeeded in its grace period', [task('Running'), task('Running', true), task('Succeeded', true)]],
    ['was deleted', [task('Running')]],
    ['had not started', [task('Pending', true)]],
    ['serves requests', [task('Running', false, 'Always'), task('Running', true, 'Always')]],
  ])('counts nothing for a pod that %s', (_, states) => {
    const redone = meter();
    for (const [hour, state] of states.entries()) redone.changed(state, hour * HOUR);
    redone.gone(states.at(-1) ?? task('Running'), 9 * HOUR);
    expect(redone.total).toEqual({ pods: 0, podHours: 0, usd: 0 });
  });

  it('counts the time of a pod without a price if its node is unknown', () => {
    const redone = meter({});
    redone.changed(task('Running'), 0);
    redone.gone(task('Running', true), HOUR);
    expect(redone.total).toEqual({ pods: 1, podHours: 1, usd: 0 });
  });
});

describe('shareOf', () => {
  it('is the mean over CPU, memory and devices, without network resources', () => {
    const allocatable = { cpu: 8_000, memory: 8 * GIB, 'nvidia.com/gpu': 4, 'vpc.amazonaws.com/pod-eni': 9, pods: 50 };
    expect(packedShare({ cpu: 2_000, memory: 2 * GIB, 'nvidia.com/gpu': 4, pods: 1 }, allocatable)).toBe(0.5);
    expect(packedShare({ cpu: 1 }, {})).toBe(0);
  });
});
