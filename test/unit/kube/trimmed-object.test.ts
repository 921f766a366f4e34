import { describe, expect, it } from '@jest/globals';
import { NODE, NODE_POOL, POD } from '../../../src/api/kinds.ts';
import { trimmedObject } from '../../../src/kube/trimmed-object.ts';

const managedFields = [{ manager: 'kubelet', operation: 'Update' }];
const metadata = { name: 'web', namespace: 'default', labels: { app: 'web' }, annotations: { note: 'x' } };

describe('withoutBallast', () => {
  it('drops who set which field, of every kind', () => {
    const pool = {
      apiVersion: 'karpenter.sh/v1',
      kind: 'NodePool',
      metadata: { ...metadata, managedFields },
      spec: {},
    };
    expect(trimmedObject(NODE_POOL, pool as never)).toEqual({ ...pool, metadata });
  });

  it('drops the images of nodes, and keeps the rest of their status', () => {
    const status = { capacity: { cpu: '4' }, conditions: [], images: [{ names: ['a'] }] };
    const { images: _, ...rest } = status;
    const node = { apiVersion: 'v1', kind: 'Node', metadata, spec: {}, status };
    expect(trimmedObject(NODE, node)).toEqual({ ...node, status: rest });
  });

  it('keeps of pods what scheduling, draining and repair look at', () => {
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
      containerStatuses: [{ name: 'app', ready: true, allocatedResources: { cpu: '2' }, ...more }],
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

  it('keeps once what the pods of a workload have in common', () => {
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

  it('remembers no text that is long, nor more of them than some megabytes: they would outlive their pods', () => {
    const podOf = (name: string, value: string) => ({
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name },
      spec: { tolerations: [{ key: 'a', value }], containers: [{ name: 'app' }] },
    });
    const tolerationsOf = (value: string) => trimmedObject(POD, podOf('one', value)).spec.tolerations;
    const long = 'x'.repeat(20_000);
    expect(tolerationsOf(long)).toEqual([{ key: 'a', value: long }]);
    expect(tolerationsOf(long)).not.toBe(tolerationsOf(long));
    const first = tolerationsOf('first');
    expect(tolerationsOf('first')).toBe(first);
    for (let n = 0; n < 500; n++) tolerationsOf(`${n}${'x'.repeat(10_000)}`);
    expect(tolerationsOf('first')).not.toBe(first);
  });
});
