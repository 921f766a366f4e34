import { describe, expect, it } from '@jest/globals';
import type { CapacityBuffer, CapacityBufferSpec, PodSpec, PodTemplateSpec } from '#api/objects';
import {
  bufferOutcomes,
  desiredReplicas,
  isActiveBuffer,
  isVirtual,
  provisioningCondition,
  virtualPods,
} from '../../../src/engine/capacity-buffers.ts';
import { invalid } from '../../support/partial.ts';
import { instanceType, nodePool, planOf, pod, type SnapshotParts, stateNode } from './build.ts';

const template = (
  requests: Record<string, string> = { cpu: '500m' },
  spec: Partial<PodSpec> = {},
): PodTemplateSpec => ({
  metadata: { labels: { app: 'web' } },
  spec: { containers: [{ name: 'main', resources: { requests } }], ...spec },
});
const buffer = (spec: CapacityBufferSpec = {}, status: CapacityBuffer['status'] = {}): CapacityBuffer => ({
  apiVersion: 'autoscaling.x-k8s.io/v1beta1',
  kind: 'CapacityBuffer',
  metadata: { name: 'spare', namespace: 'shop', uid: 'u' },
  spec,
  status,
});

describe('the number of pods of a buffer', () => {
  it.each<{ spec: CapacityBufferSpec; current?: number; is: number }>([
    { spec: { replicas: 3 }, is: 3 },
    { spec: { percentage: 20 }, current: 10, is: 2 },
    { spec: { percentage: 25 }, current: 10, is: 3 },
    { spec: { percentage: 1 }, current: 10, is: 1 },
    { spec: { percentage: 0 }, current: 10, is: 0 },
    { spec: { percentage: 50 }, current: 0, is: 0 },
    { spec: { percentage: 150 }, current: 4, is: 6 },
    { spec: { replicas: 3, percentage: 50 }, current: 10, is: 5 },
    { spec: { replicas: 7, percentage: 50 }, current: 10, is: 7 },
    { spec: { replicas: 7, limits: { cpu: '2' } }, is: 4 },
    { spec: { replicas: 2, limits: { cpu: '2' } }, is: 2 },
    { spec: { limits: { cpu: '1900m' } }, is: 3 },
    { spec: { limits: { cpu: '2', memory: '1Gi' } }, is: 4 },
    { spec: { replicas: 7, limits: { memory: '1Gi' } }, is: 7 },
    { spec: { limits: { memory: '1Gi' } }, is: 0 },
    { spec: { percentage: 0, limits: { cpu: '2' } }, current: 10, is: 0 },
    { spec: { percentage: 50, limits: { cpu: '2' } }, current: 0, is: 4 },
    { spec: { replicas: 9, limits: { pods: '1' } }, is: 9 },
    { spec: {}, current: 10, is: 0 },
  ])('is $is if the spec is $spec and the workload has $current', ({ spec, current, is }) => {
    expect(desiredReplicas(spec, template(), current)).toBe(is);
  });

  it('uses the limits of containers that have no requests', () => {
    const limited: PodTemplateSpec = { spec: { containers: [{ name: 'main', resources: { limits: { cpu: '1' } } }] } };
    expect(desiredReplicas({ replicas: 9, limits: { cpu: '3' } }, limited)).toBe(3);
  });
});

describe('a virtual pod', () => {
  const volumes = [
    { name: 'data', persistentVolumeClaim: { claimName: 'data' } },
    { name: 'scratch', ephemeral: {} },
    { name: 'tmp', emptyDir: {} },
  ];
  const [first, second, ...more] = virtualPods(buffer(), template({}, { nodeName: 'n', volumes, priority: 7 }), 2, 0);

  it('is made from the template, one for each replica', () => {
    expect(more).toEqual([]);
    expect([first?.metadata.name, second?.metadata.uid]).toEqual(['capacity-buffer-spare-1', 'u-2']);
    expect(first?.metadata).toMatchObject({ namespace: 'shop', labels: { app: 'web' } });
    expect(first?.metadata.annotations).toEqual({
      'karpenter.sh/capacity-buffer-fake-pod': 'true',
      'karpenter.sh/capacity-buffer-name': 'spare',
      'karpenter.sh/capacity-buffer-namespace': 'shop',
    });
    expect(first?.spec).toBe(second?.spec);
  });

  it('has no node, no volumes of its own and the lowest priority', () => {
    expect(first?.spec).toMatchObject({ priority: -2147483648, volumes: [{ name: 'tmp' }] });
    expect(first?.spec.nodeName).toBeUndefined();
    expect(first && isVirtual(first)).toBe(true);
  });

  it('is scheduled even if its template has requirements that would exclude a real pod', () => {
    const optedOut = template({ cpu: '1' }, { nodeSelector: { 'example.com/zone': 'a' } });
    const plan = planOf({
      pendingPods: virtualPods(buffer(), optedOut, 2, 0),
      pools: [nodePool('default', { labels: { 'example.com/zone': 'a' } })],
    });
    expect(plan.claims.flatMap(({ pods }) => pods)).toHaveLength(2);
  });
});

describe('the status of a buffer', () => {
  it('counts virtual pods by buffer and by node', () => {
    const virtual = virtualPods(buffer(), template({ cpu: '3' }), 3, 0);
    const plan = planOf({
      pendingPods: [...virtual, pod('real', { cpu: '500m' })],
      nodes: [stateNode('spare-room', { allocatable: { cpu: '4' } })],
      pools: [nodePool('default', { limits: { cpu: '4' } })],
      types: invalid(undefined),
    });
    const { byBuffer, byNode } = bufferOutcomes(plan, virtual);
    const outcome = byBuffer.get('shop/spare');
    expect(outcome).toMatchObject({ existing: 1, joining: 0, bought: 0, failed: 2, refusal: { code: 'no-fit' } });
    const joining = bufferOutcomes(plan, virtual, () => false);
    expect(joining.byBuffer.get('shop/spare')).toMatchObject({ existing: 0, joining: 1 });
    expect([...byNode]).toEqual([['aws:///spare-room', 1]]);
  });

  const ready = { conditions: [{ type: 'ReadyForProvisioning', status: 'True' as const }] };
  const outcome = (existing: number, bought: number, failed: number) => ({
    existing,
    joining: 0,
    bought,
    failed,
  });
  it.each([
    {
      of: buffer({}, { replicas: 2 }),
      is: outcome(2, 0, 0),
      says: 'False NotReadyForProvisioning Buffer is not ReadyForProvisioning',
    },
    { of: buffer({}, ready), is: undefined, says: 'False BufferEmpty Buffer has zero desired replicas' },
    {
      of: buffer({}, { ...ready, replicas: 0 }),
      is: undefined,
      says: 'False BufferEmpty Buffer has zero desired replicas',
    },
    { of: buffer({}, { ...ready, replicas: 3 }), is: undefined, says: undefined },
    {
      of: buffer({}, { ...ready, replicas: 3 }),
      is: outcome(1, 2, 0),
      says: 'False RequiresNewCapacity 2/3 virtual pods required new capacity, 0 failed',
    },
    {
      of: buffer({}, { ...ready, replicas: 3 }),
      is: outcome(2, 0, 1),
      says: 'False RequiresNewCapacity 0/3 virtual pods required new capacity, 1 failed',
    },
    {
      of: buffer({}, { ...ready, replicas: 3 }),
      is: outcome(3, 0, 0),
      says: 'True FitsExistingCapacity All 3 virtual pods fit on existing capacity',
    },
    { of: buffer({}, { ...ready, replicas: 3 }), is: outcome(2, 0, 0), says: undefined },
    {
      of: buffer({}, { ...ready, replicas: 3 }),
      is: { ...outcome(1, 0, 0), joining: 2 },
      says: 'False RequiresNewCapacity 0/3 virtual pods required new capacity, 0 failed, 2 wait for nodes that are not initialized',
    },
  ])('is $says', ({ of, is, says }) => {
    const told = provisioningCondition(of, is);
    expect(told && `${told.status} ${told.reason} ${told.message}`).toBe(says);
  });

  it('is infeasible with the cause if no instance type can ever run the pods, but not at a limit', () => {
    const conditionIn = (parts: SnapshotParts) => {
      const virtual = virtualPods(buffer(), template({ cpu: '3000' }), 1, 0);
      const plan = planOf({ ...parts, pendingPods: virtual }, { explain: true });
      return provisioningCondition(
        buffer({}, { ...ready, replicas: 1 }),
        bufferOutcomes(plan, virtual).byBuffer.get('shop/spare'),
      );
    };
    expect(conditionIn({})).toMatchObject({
      status: 'False',
      reason: 'Infeasible',
      message: expect.stringContaining('has no instance type with enough room'),
    });
    const types = [instanceType('huge', { cpu: 4000, gib: 64 })];
    const atLimit = conditionIn({ types, pools: [nodePool('default', { limits: { cpu: '8' } })] });
    expect(atLimit?.reason).toBe('RequiresNewCapacity');
    expect(atLimit?.message).toContain('cannot launch a node within its limits');
  });

  it('is not managed if the buffer has another provisioning strategy', () => {
    expect(isActiveBuffer(buffer())).toBe(true);
    expect(isActiveBuffer(buffer({ provisioningStrategy: 'example.com/other' }))).toBe(false);
  });
});
