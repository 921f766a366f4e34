import { describe, expect, it } from '@jest/globals';
import { type PersistentVolume, type PersistentVolumeClaim, type Pod, ZONE_LABEL } from '#api/objects';
import { type PodParts, planOf, pod, replicas, type SnapshotParts, stateNode } from './build.ts';

const zonesOf = (pendingPods: readonly Pod[], parts: SnapshotParts = {}): object =>
  Object.fromEntries(planOf({ pendingPods, ...parts }, { countZones: true }).effectiveZones ?? []);

const inZones = (...values: readonly string[]): PodParts => ({
  affinity: {
    nodeAffinity: {
      requiredDuringSchedulingIgnoredDuringExecution: {
        nodeSelectorTerms: [{ matchExpressions: [{ key: ZONE_LABEL, operator: 'In', values }] }],
      },
    },
  },
});
const spread = (maxSkew: number): PodParts => ({
  labels: { app: 'web' },
  topologySpreadConstraints: [
    {
      maxSkew,
      topologyKey: ZONE_LABEL,
      whenUnsatisfiable: 'DoNotSchedule',
      labelSelector: { matchLabels: { app: 'web' } },
    },
  ],
});
const volumeIn = (zone: string): SnapshotParts => ({
  persistentVolumeClaims: [
    {
      apiVersion: 'v1',
      kind: 'PersistentVolumeClaim',
      metadata: { name: 'data', namespace: 'default', annotations: { 'pv.kubernetes.io/bind-completed': 'yes' } },
      spec: { volumeName: 'pv' },
    } satisfies PersistentVolumeClaim,
  ],
  persistentVolumes: [
    {
      apiVersion: 'v1',
      kind: 'PersistentVolume',
      metadata: { name: 'pv' },
      spec: {
        nodeAffinity: {
          required: {
            nodeSelectorTerms: [{ matchExpressions: [{ key: ZONE_LABEL, operator: 'In', values: [zone] }] }],
          },
        },
      },
    } satisfies PersistentVolume,
  ],
});
const DATA = { volumes: [{ name: 'data', persistentVolumeClaim: { claimName: 'data' } }] };
/** Nodes with one pod of the spread in each zone except the last. */
const uneven = ['zone-a', 'zone-b'].map((zone) =>
  stateNode(zone, {
    labels: { [ZONE_LABEL]: zone },
    allocatable: { cpu: '1' },
    pods: [pod(`on-${zone}`, { cpu: '1', labels: { app: 'web' }, nodeName: zone })],
  }),
);

describe('the effective zone of pending pods', () => {
  it.each<{ of: string; pods: readonly Pod[]; parts?: SnapshotParts; is: object }>([
    { of: 'pods without zone requirements', pods: replicas(2, 'p', { cpu: '1' }), is: { flexible: 2 } },
    {
      of: 'a pod that selects a zone',
      pods: [pod('p', { nodeSelector: { [ZONE_LABEL]: 'zone-b' } })],
      is: { 'zone-b': 1 },
    },
    { of: 'a pod that allows one zone', pods: [pod('p', inZones('zone-c'))], is: { 'zone-c': 1 } },
    { of: 'a pod that allows two zones', pods: [pod('p', inZones('zone-a', 'zone-c'))], is: { flexible: 1 } },
    { of: 'a pod with a zonal volume', pods: [pod('p', DATA)], parts: volumeIn('zone-a'), is: { 'zone-a': 1 } },
    {
      of: 'a pod whose volume is in another zone',
      pods: [pod('p', { ...DATA, ...inZones('zone-b') })],
      parts: volumeIn('zone-a'),
      is: { none: 1 },
    },
    { of: 'pods that spread over empty zones', pods: replicas(3, 'p', spread(1)), is: { flexible: 3 } },
    {
      of: 'a pod with one remaining zone for its spread',
      pods: [pod('p', spread(1))],
      parts: { nodes: uneven },
      is: { 'zone-c': 1 },
    },
    {
      of: 'a pod whose spread is a preference',
      pods: [pod('p', spread(2))],
      parts: { nodes: uneven },
      is: { flexible: 1 },
    },
    {
      of: 'a pod whose spread excludes its only zone',
      pods: [pod('p', { ...spread(1), ...DATA })],
      parts: { nodes: uneven, ...volumeIn('zone-a') },
      is: { none: 1 },
    },
  ])('is, for $of, $is', ({ pods, parts, is }) => {
    expect(zonesOf(pods, parts)).toEqual(is);
  });

  it('is not reported for running pods, or if it is not requested', () => {
    const [running] = uneven[0]?.pods ?? [];
    expect(zonesOf(running ? [running] : [])).toEqual({});
    expect(planOf({ pendingPods: [pod('p', {})] }).effectiveZones).toBeUndefined();
  });
});
