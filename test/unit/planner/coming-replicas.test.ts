import { describe, expect, it } from '@jest/globals';
import type { Pod, Workload } from '#api/objects';
import { comingReplicas } from '../../../src/planner/coming-replicas.ts';

const SET_UID = 'set-uid';
const member = (ordinal: number, nodeName?: string): Pod => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: {
    name: `db-${ordinal}`,
    namespace: 'data',
    uid: `pod-${ordinal}`,
    ownerReferences: [{ apiVersion: 'apps/v1', kind: 'StatefulSet', name: 'db', uid: SET_UID, controller: true }],
  },
  spec: { containers: [], ...(nodeName && { nodeName }) },
});
const set = (spec: Partial<Workload['spec']>, uid = SET_UID): Workload => ({
  apiVersion: 'apps/v1',
  kind: 'StatefulSet',
  metadata: { name: 'db', namespace: 'data', uid },
  spec: { template: { spec: { containers: [] } }, ...spec },
});

const NOW_MS = Date.parse('2026-01-05T09:00:00Z');
const MINUTE_MS = 60_000;
const ago = (minutes: number): string => new Date(NOW_MS - minutes * MINUTE_MS).toISOString();

const readySince = (minutes: number): Pick<Pod, 'status'> => ({
  status: { conditions: [{ type: 'Ready', status: 'True', lastTransitionTime: ago(minutes) }] },
});

const createdBefore = (minutes: number, { metadata, ...pod }: Pod): Pod => ({
  ...pod,
  metadata: { ...metadata, creationTimestamp: ago(minutes) },
});

function comingOf(statefulSet: Workload | undefined, pods: readonly Pod[]): Readonly<Record<string, number>> {
  const stores = {
    pods: { get: ({ name }: { name: string }) => pods.find(({ metadata }) => metadata.name === name) },
    statefulSets: { list: () => (statefulSet === undefined ? [] : [statefulSet]) },
  } as unknown as Parameters<typeof comingReplicas>[0];
  return Object.fromEntries(comingReplicas(stores, NOW_MS));
}

describe('a pod that a StatefulSet has not created', () => {
  it('is counted by StatefulSet', () => {
    expect(comingOf(set({ replicas: 5 }), [member(0, 'a'), member(1)])).toEqual({ [SET_UID]: 3 });
    expect(comingOf(set({ replicas: 3, ordinals: { start: 7 } }), [member(7)])).toEqual({ [SET_UID]: 2 });
  });

  it('is not expected if a pod in the middle is replaced, or all pods exist', () => {
    expect(comingOf(set({ replicas: 3 }), [member(0, 'a'), member(1), member(2, 'a')])).toEqual({});
    expect(comingOf(set({}), [member(0)])).toEqual({});
    expect(comingOf(set({ replicas: 0 }), [member(0)])).toEqual({});
  });

  it('is expected while the last pod starts, for at most ten minutes', () => {
    const first = member(0, 'a');
    expect(comingOf(set({ replicas: 3 }), [createdBefore(9, first)])).toEqual({ [SET_UID]: 2 });
    expect(comingOf(set({ replicas: 3 }), [createdBefore(11, first)])).toEqual({});
  });

  it('is expected for a minute after the last pod is ready, because a quota may refuse it', () => {
    const first = createdBefore(20, member(0, 'a'));
    expect(comingOf(set({ replicas: 3 }), [{ ...first, ...readySince(0.5) }])).toEqual({ [SET_UID]: 2 });
    expect(comingOf(set({ replicas: 3 }), [{ ...first, ...readySince(2) }])).toEqual({});
  });

  it('is not expected without the first pod, or without StatefulSets', () => {
    expect(comingOf(set({ replicas: 3 }), [])).toEqual({});
    expect(comingOf(undefined, [member(0)])).toEqual({});
  });

  it('is one of at most as many as a solve considers', () => {
    const endless = set({ replicas: 2 ** 31 - 1 });
    expect(comingOf(endless, [member(0)])).toEqual({ [SET_UID]: 100 });
    const later = [member(0), member(1), createdBefore(11, member(2))];
    expect(comingOf({ ...endless, status: { replicas: 2 } }, later)).toEqual({ [SET_UID]: 100 });
    expect(comingOf({ ...endless, status: { replicas: 3 } }, later)).toEqual({});
  });
});
