import { describe, expect, it } from '@jest/globals';
import type { Pod, Workload } from '../../../src/api/kubernetes.ts';
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

function comingOf(statefulSet: Workload | undefined, pods: readonly Pod[]): Readonly<Record<string, number>> {
  const stores = {
    pods: { get: ({ name }: { name: string }) => pods.find(({ metadata }) => metadata.name === name) },
    statefulSets: { get: () => statefulSet },
  } as unknown as Parameters<typeof comingReplicas>[0];
  const waiting = pods.filter(({ spec }) => spec.nodeName === undefined);
  return Object.fromEntries(comingReplicas(stores, waiting));
}

describe('the pods that a StatefulSet has not created', () => {
  it('follow its waiting pod', () => {
    expect(comingOf(set({ replicas: 5 }), [member(0, 'a'), member(1)])).toEqual({ 'pod-1': 3 });
    expect(comingOf(set({ replicas: 3, ordinals: { start: 7 } }), [member(7)])).toEqual({ 'pod-7': 2 });
  });

  it('follow the first of several waiting pods', () => {
    expect(comingOf(set({ replicas: 5 }), [member(0), member(1)])).toEqual({ 'pod-0': 3 });
  });

  it('are not expected if a pod in the middle is replaced, or all pods exist', () => {
    expect(comingOf(set({ replicas: 3 }), [member(0, 'a'), member(1), member(2, 'a')])).toEqual({});
    expect(comingOf(set({}), [member(0)])).toEqual({});
  });

  it('are not expected if the StatefulSet cannot be read, or was replaced by one with the same name', () => {
    expect(comingOf(undefined, [member(0)])).toEqual({});
    expect(comingOf(set({ replicas: 3 }, 'other'), [member(0)])).toEqual({});
  });

  it('are at most as many as a solve considers', () => {
    expect(comingOf(set({ replicas: 2 ** 31 - 1 }), [member(0)])).toEqual({ 'pod-0': 100 });
  });
});
