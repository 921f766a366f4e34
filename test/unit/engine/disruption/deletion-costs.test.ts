/** Choice of the pods that scale-downs delete first. */
import { describe, expect, it } from '@jest/globals';
import { DELETION_COST_ANNOTATION, DELETION_COST_SINCE_ANNOTATION, type Pod, type PodSpec } from '#api/objects';
import { podsToDeleteFirst } from '../../../../src/engine/disruption/deletion-costs.ts';
import { NOW, pod } from './objects.ts';

interface Shape {
  readonly owner?: string;
  readonly kind?: string;
  readonly ready?: boolean;
  readonly spec?: Partial<PodSpec>;
  readonly metadata?: Partial<Pod['metadata']>;
}

const on = (nodeName: string, name: string, shape: Shape = {}): Pod => {
  const { owner = 'web', kind = 'ReplicaSet', ready = true } = shape;
  const ownerReference = { apiVersion: 'apps/v1', kind, name: owner, uid: `uid-${owner}`, controller: true };
  return pod(name, {
    metadata: { ownerReferences: [ownerReference], ...shape.metadata },
    spec: { containers: [{ name: 'main' }], nodeName, ...shape.spec },
    status: { phase: 'Running', conditions: [{ type: 'Ready', status: ready ? 'True' : 'False' }] },
  });
};
const withCost = (cost: string, isOwn: boolean): Shape => ({
  metadata: {
    annotations: { [DELETION_COST_ANNOTATION]: cost, ...(isOwn && { [DELETION_COST_SINCE_ANNOTATION]: 'earlier' }) },
  },
});

const MARKED = new Map([
  ['marked', NOW],
  ['marked-before', NOW - 1000],
]);
const chosen = (...pods: readonly Pod[]): readonly string[] =>
  podsToDeleteFirst(pods, MARKED).map(({ metadata }) => metadata.name);
const OTHERS = [on('node-1', 'a'), on('node-2', 'b')];

describe('podsToDeleteFirst', () => {
  it('chooses the pods on marked nodes, in the order of the marks', () => {
    const pods = [on('marked', 'c'), on('marked-before', 'e'), on('marked-before', 'd'), ...OTHERS];
    expect(chosen(...pods)).toEqual(['d', 'e', 'c']);
    expect(podsToDeleteFirst(pods, new Map())).toEqual([]);
  });

  it('keeps the choice after the cost was lowered', () => {
    expect(chosen(on('marked', 'c', withCost('-1', true)), on('marked', 'd'), ...OTHERS)).toEqual(['c', 'd']);
  });

  it.each<[string, readonly Pod[]]>([
    ['of other workloads', [on('marked', 'c', { kind: 'StatefulSet' }), ...OTHERS]],
    ['without a controller', [on('marked', 'c', { metadata: { ownerReferences: [] } }), ...OTHERS]],
    [
      'that are being deleted',
      [on('marked', 'c', { metadata: { deletionTimestamp: '2026-01-01T00:00:00Z' } }), ...OTHERS],
    ],
    ['with a cost of a user', [on('marked', 'c', withCost('5', false)), ...OTHERS]],
    ['with a cost that a user has changed', [on('marked', 'c', withCost('-2', true)), ...OTHERS]],
    [
      'if another pod of the ReplicaSet has a cost of a user',
      [on('marked', 'c'), ...OTHERS, on('', 'd', withCost('1', false))],
    ],
    [
      'with spread constraints',
      [
        on('marked', 'c', {
          spec: {
            topologySpreadConstraints: [{ maxSkew: 1, topologyKey: 'zone', whenUnsatisfiable: 'ScheduleAnyway' }],
          },
        }),
        ...OTHERS,
      ],
    ],
    [
      'with anti-affinity',
      [
        on('marked', 'c', {
          spec: { affinity: { podAntiAffinity: { preferredDuringSchedulingIgnoredDuringExecution: [] } } },
        }),
        ...OTHERS,
      ],
    ],
    ['if the workload would end on a single node', [on('marked', 'c'), on('node-1', 'a'), on('node-1', 'b')]],
    ['if all pods run on marked nodes', [on('marked', 'c'), on('marked-before', 'd')]],
    [
      'if too few pods on unmarked nodes are ready and bound',
      [on('marked', 'c'), on('node-1', 'a'), on('node-2', 'b', { ready: false }), on('', 'd')],
    ],
    ['if only pods of another workload run on unmarked nodes', [on('marked', 'c', { owner: 'other' }), ...OTHERS]],
  ])('leaves out pods %s', (_, pods) => {
    expect(chosen(...pods)).toEqual([]);
  });

  it('chooses at most 500 pods', () => {
    const many = Array.from({ length: 600 }, (_, index) => on('marked', `p-${index}`));
    expect(chosen(...many, ...OTHERS)).toHaveLength(500);
  });
});
