import { describe, expect, it } from '@jest/globals';
import {
  DEVICE_CLASS,
  NODE,
  NODE_CLAIM,
  NODE_POOL,
  type NodeClaim,
  POD,
  type Pod,
  RESOURCE_CLAIM,
  RESOURCE_CLAIM_TEMPLATE,
} from '#api/objects';
import { podAt } from '../../../bench/largecluster.ts';
import { trimmedObject } from '../../../src/kube/trimmed-object.ts';
import { heapUsed } from '../../support/heap.ts';
import { invalid, partial } from '../../support/partial.ts';

const managedFields = [{ manager: 'kubelet', operation: 'Update' }];
const annotations = { 'karpenter.sh/do-not-disrupt': 'true' };
const metadata = { name: 'web', namespace: 'default', labels: { app: 'web' }, annotations };

describe('trimmedObject', () => {
  it('drops managedFields of every kind', () => {
    const pool = {
      apiVersion: 'karpenter.sh/v1',
      kind: 'NodePool',
      metadata: { ...metadata, managedFields },
      spec: {},
    };
    expect(trimmedObject(NODE_POOL, partial(pool))).toEqual({ ...pool, metadata });
  });

  it('keeps of the status of nodes the fields that the product reads', () => {
    const status = { capacity: { cpu: '4' }, conditions: [], images: [{ names: ['a'] }], volumesInUse: ['b'] };
    const { images: _, volumesInUse: __, ...rest } = status;
    const node = { apiVersion: 'v1', kind: 'Node', metadata, spec: {}, status };
    expect(trimmedObject(NODE, node)).toEqual({ ...node, status: rest });
  });

  it('drops parameters and reports of drivers from dynamic resources', () => {
    const config = [{ opaque: { driver: 'd', parameters: { large: 'text' } } }];
    const devices = { requests: [{ name: 'r', exactly: { deviceClassName: 'c' } }], constraints: [] };
    const reservedFor = [{ resource: 'pods', name: 'p', uid: 'u' }];
    const results = [{ driver: 'd', pool: 'p', device: 'x' }];
    const claim = {
      ...{ apiVersion: 'resource.k8s.io/v1', kind: 'ResourceClaim', metadata },
      spec: { devices: { ...devices, config } },
      status: { reservedFor, allocation: { devices: { results, config } }, devices: [{ data: {} }] },
    };
    expect(trimmedObject(RESOURCE_CLAIM, claim)).toEqual({
      ...claim,
      spec: { devices },
      status: { reservedFor, allocation: { devices: { results } } },
    });
    const template = { ...claim, kind: 'ResourceClaimTemplate', spec: { spec: claim.spec }, status: undefined };
    expect(trimmedObject(RESOURCE_CLAIM_TEMPLATE, template).spec).toEqual({ spec: { devices } });
    const spec = { selectors: [{ cel: { expression: 'true' } }], extendedResourceName: 'example.com/gpu' };
    const deviceClass = { ...claim, kind: 'DeviceClass', spec: { ...spec, config }, status: undefined };
    expect(trimmedObject(DEVICE_CLASS, deviceClass).spec).toEqual(spec);
    const bare = { ...claim, spec: {}, status: {} };
    expect(trimmedObject(RESOURCE_CLAIM, bare)).toEqual(bare);
  });

  it('keeps the fields of pods that scheduling, draining and repair read', () => {
    const kept = {
      name: 'app',
      resources: { requests: { cpu: '1' }, limits: { cpu: '2' } },
      ports: [{ hostPort: 80 }],
      restartPolicy: 'Always' as const,
    };
    const container = {
      ...kept,
      image: 'web:1',
      env: [{ name: 'A', value: '1' }],
      volumeMounts: [],
      livenessProbe: {},
    };
    const claim = { name: 'data', persistentVolumeClaim: { claimName: 'data' } };
    const statusOf = (more: object) => ({
      phase: 'Running' as const,
      conditions: [],
      containerStatuses: [
        { name: 'app', ready: true, allocatedResources: { cpu: '2' }, resources: { requests: { cpu: '2' } }, ...more },
      ],
    });
    const spec = { nodeName: 'n', tolerations: [], affinity: {}, priority: 3 };
    const pod = {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata,
      spec: {
        ...spec,
        containers: [container],
        initContainers: [container],
        volumes: [{ ...claim }, { name: 'token', projected: {} }],
      },
      status: statusOf({ image: 'web:1', state: {} }),
    };
    expect(trimmedObject(POD, pod)).toEqual({
      ...pod,
      spec: { ...spec, containers: [kept], initContainers: [kept], volumes: [claim, { name: 'token' }] },
      status: statusOf({}),
    });
  });

  it('drops the requests that a kubelet reports for a container that is not resized', () => {
    const requests = { cpu: '1' };
    const podWith = (resources: object) => ({
      apiVersion: 'v1',
      kind: 'Pod',
      metadata,
      spec: { containers: [{ name: 'app', resources: { requests } }] },
      status: { containerStatuses: [{ name: 'app', ready: true, ...resources }] },
    });
    const reported = { allocatedResources: { ...requests }, resources: { requests: { ...requests } } };
    expect(trimmedObject(POD, podWith(reported))).toEqual(podWith({}));
  });

  it('shares the parts that the pods of a workload have in common', () => {
    const podOf = (name: string) => ({
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name, labels: { app: 'web' } },
      spec: { nodeName: name, tolerations: [{ key: 'a', operator: 'Exists' as const }], containers: [{ name: 'app' }] },
    });
    const [one, other] = [trimmedObject(POD, podOf('one')), trimmedObject(POD, podOf('other'))];
    expect([one, other]).toEqual([podOf('one'), podOf('other')]);
    expect(one.spec.tolerations).toBe(other.spec.tolerations);
    expect(one.spec.containers).toBe(other.spec.containers);
    expect(one.metadata.labels).toBe(other.metadata.labels);
  });

  it('does not share long texts', () => {
    const podOf = (value: string) => ({
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'one' },
      spec: { tolerations: [{ key: 'a', value }], containers: [{ name: 'app' }] },
    });
    const long = 'x'.repeat(20_000);
    const tolerationsOf = (value: string) => trimmedObject(POD, podOf(value)).spec.tolerations;
    expect(tolerationsOf(long)).toEqual([{ key: 'a', value: long }]);
    expect(tolerationsOf(long)).not.toBe(tolerationsOf(long));
  });

  it('drops the fields of pods that the kubelet and admission add for other clients', () => {
    const scheduled = { type: 'PodScheduled', status: 'True', lastTransitionTime: '2026-01-01T00:00:00Z' };
    const pod = {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { ...metadata, annotations: { ...annotations, 'cni.projectcalico.org/podIP': '10.1.0.1/32' } },
      spec: { containers: [], nodeName: 'n', dnsPolicy: 'ClusterFirst', securityContext: {}, enableServiceLinks: true },
      status: {
        phase: 'Running',
        hostIP: '10.0.0.1',
        podIPs: [{ ip: '10.1.0.1' }],
        qosClass: 'Burstable',
        conditions: [
          { type: 'Initialized', status: 'True' },
          { ...scheduled, lastProbeTime: null },
        ],
      },
    };
    expect(trimmedObject(POD, invalid(pod))).toEqual({
      apiVersion: 'v1',
      kind: 'Pod',
      metadata,
      spec: { containers: [], nodeName: 'n' },
      status: { phase: 'Running', conditions: [scheduled] },
    });
  });

  it('shares the requirements of the NodeClaims of a NodePool', () => {
    const claimOf = (name: string) =>
      ({
        apiVersion: 'karpenter.sh/v1',
        kind: 'NodeClaim',
        metadata: { name },
        spec: { requirements: [{ key: 'a', operator: 'In', values: ['m5.large', 'm5.xlarge'] }] },
        status: { capacity: { cpu: '4' } },
      }) as unknown as NodeClaim;
    const [one, other] = [trimmedObject(NODE_CLAIM, claimOf('one')), trimmedObject(NODE_CLAIM, claimOf('other'))];
    expect([one, other]).toEqual([claimOf('one'), claimOf('other')]);
    expect(one.spec.requirements).toBe(other.spec.requirements);
    expect(one.status?.capacity).toBe(other.status?.capacity);
  });

  it('needs little memory for a pod, because pods of a workload share equal parts', () => {
    const pods = (): readonly Pod[] =>
      Array.from({ length: 5_000 }, (_, index) => {
        const text = JSON.stringify(podAt(index * 500, { nodes: 500, pods: 50_000 }));
        return trimmedObject(POD, JSON.parse(text) as Pod);
      });
    pods();
    const before = heapUsed();
    const kept = pods();
    const bytes = (heapUsed() - before) / kept.length;
    expect(bytes).toBeLessThan(900);
  });

  it('releases parts without a user', async () => {
    const requirementsOf = (count: number) => {
      for (let at = 0; at < count; at++) {
        const values = Array.from({ length: 60 }, (_, number) => `type-${at}-${number}.large`);
        const spec = { requirements: [{ key: 'node.kubernetes.io/instance-type', operator: 'In', values }] };
        trimmedObject(NODE_CLAIM, {
          apiVersion: 'v1',
          kind: 'NodeClaim',
          metadata: { name: 'a' },
          spec: invalid<NodeClaim['spec']>(spec),
        });
      }
    };
    requirementsOf(100);
    const before = heapUsed();
    const mostBytes = 8_000_000;
    requirementsOf(20_000);
    // Collected parts are removed in later turns of the event loop.
    for (let turn = 0; turn < 20 && heapUsed() - before >= mostBytes; turn++) {
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    expect(heapUsed() - before).toBeLessThan(mostBytes);
  });
});
