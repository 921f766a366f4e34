/** Failures of Jobs, as the Job controller counts them. */
import { describe, expect, it } from '@jest/globals';
import { POD, type Pod } from '#api/objects';
import { ClusterState } from '../../../src/state/cluster.ts';
import { handFed } from '../kube/fakes.ts';
import { settableClock } from '../virtualclock.ts';

const START = '2026-06-01T00:00:00Z';
let version = 0;

interface Change {
  readonly kind?: string;
  readonly job?: string;
  readonly phase?: 'Running' | 'Succeeded' | 'Failed';
  readonly isDeleting?: boolean;
}

function podOf(name: string, { kind = 'Job', job = 'uid', phase = 'Running', isDeleting = false }: Change = {}): Pod {
  version += 1;
  const ownerReferences = [{ apiVersion: 'batch/v1', kind, name: 'import', uid: job, controller: true }];
  const deletion = isDeleting ? { deletionTimestamp: START } : {};
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace: 'default', uid: name, resourceVersion: String(version), ownerReferences, ...deletion },
    spec: { containers: [{ name: 'main' }] },
    status: { phase },
  };
}

function watched() {
  const stores = handFed();
  const cluster = new ClusterState({ informers: stores.informers, clock: settableClock(), manages: () => true });
  const pods = stores.store<Pod>(POD);
  const put = (...args: Parameters<typeof podOf>): void => pods.put(podOf(...args));
  return { pods, put, failures: (job = 'uid') => cluster.jobFailures.of(job) };
}

describe('the count of failures of a Job', () => {
  it.each<readonly [string, Change]>([
    ['fails', { phase: 'Failed' }],
    ['is evicted', { isDeleting: true }],
  ])('increases once if a pod %s', (_, change) => {
    const { pods, put, failures } = watched();
    put('a');
    put('b');
    expect(failures()).toBe(0);
    put('a', change);
    expect(failures()).toBe(1);
    put('a', { phase: 'Failed', isDeleting: true });
    pods.remove(podOf('a', { phase: 'Failed', isDeleting: true }));
    expect(failures()).toBe(1);
    put('b', change);
    expect(failures()).toBe(2);
  });

  it('increases if a pod disappears before it has succeeded', () => {
    const { pods, put, failures } = watched();
    put('a');
    pods.remove(podOf('a'));
    expect(failures()).toBe(1);
  });

  it('contains failed pods that existed at the start', () => {
    const { pods, failures } = watched();
    pods.replace([podOf('a', { phase: 'Failed' }), podOf('b'), podOf('c', { isDeleting: true })]);
    expect(failures()).toBe(2);
  });

  it('does not contain pods that succeeded, and pods of other owners', () => {
    const { pods, put, failures } = watched();
    put('a', { phase: 'Succeeded' });
    put('a', { phase: 'Succeeded', isDeleting: true });
    pods.remove(podOf('a', { phase: 'Succeeded', isDeleting: true }));
    put('b', { kind: 'ReplicaSet', phase: 'Failed' });
    put('c', { job: 'other', phase: 'Failed' });
    expect(failures()).toBe(0);
    expect(failures('other')).toBe(1);
  });

  it('is forgotten for the Jobs without a change for the longest time', () => {
    const { put, failures } = watched();
    for (let at = 0; at <= 10_000; at++) put(`pod-${at}`, { job: `job-${at}`, phase: 'Failed' });
    expect([failures('job-0'), failures('job-1'), failures('job-10000')]).toEqual([0, 1, 1]);
  });
});
