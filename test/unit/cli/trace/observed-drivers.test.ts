/** DRA drivers of a recorded cluster, as a trace contains them. */
import { describe, expect, it } from '@jest/globals';
import {
  type ConfigMap,
  type Device,
  INSTANCE_TYPE_LABEL,
  type KubeObject,
  NODEPOOL_LABEL,
  type Node,
  type ResourceSlice,
} from '#api/objects';
import { readEvent } from '#replay/testing';
import { readDeclarations } from '#state';
import { ObservedDrivers } from '../../../../src/cli/trace/observed-drivers.ts';
import { slice } from '../../engine/dra/build.ts';

const SECRET = 'GPU-secret';
const HEADER = { trace: 'karpenter/v1', name: 'a', start: '2026-01-05T10:00:00Z', seconds: 60 } as const;

const node = (name: string, type: string, nodePool: string): Node => ({
  apiVersion: 'v1',
  kind: 'Node',
  metadata: { name, labels: { [INSTANCE_TYPE_LABEL]: type, [NODEPOOL_LABEL]: nodePool } },
});
const NODES = [node('a', 'g6.xlarge', 'gpu'), node('b', 'g6.xlarge', 'other'), node('c', 'p5.4xlarge', 'mig')];

const gpu = (name: string, type: string, more: Partial<Device> = {}): Device => ({
  name,
  attributes: { type: { string: type }, uuid: { string: SECRET }, 'resource.kubernetes.io/pcieRoot': { string: 'r' } },
  ...more,
});
const published = (nodeName: string, devices: readonly Device[], parts: Parameters<typeof slice>[1] = {}) =>
  slice(devices, { name: `${nodeName}-${parts.driver}`, pool: nodeName, nodeName, driver: 'gpu.nvidia.com', ...parts });

function objectsFor(...slices: readonly ResourceSlice[]): readonly KubeObject[] {
  const drivers = new ObservedDrivers({ get: ({ name }) => NODES.find(({ metadata }) => metadata.name === name) });
  for (const each of slices) drivers.put(each);
  // each object can be read as a line of the trace
  for (const apply of drivers.objects()) readEvent({ at: 0, apply }, HEADER, 0);
  return drivers.objects();
}

interface DriverLike {
  readonly spec: {
    readonly template: {
      readonly metadata: { readonly annotations: Readonly<Record<string, string>> };
      readonly spec: { readonly affinity: { readonly nodeAffinity: Readonly<Record<string, unknown>> } };
    };
  };
}
const templateOf = (object: KubeObject | undefined) => (object as unknown as DriverLike).spec.template;
const nodesOf = (object: KubeObject | undefined) =>
  (
    templateOf(object).spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution as {
      readonly nodeSelectorTerms: readonly [{ readonly matchExpressions: readonly { readonly values: unknown }[] }];
    }
  ).nodeSelectorTerms[0].matchExpressions.map(({ values }) => values);

describe('a driver of a recorded cluster', () => {
  it('publishes the devices of the machine in the NodePools that have such nodes', () => {
    const objects = objectsFor(published('a', [gpu('gpu-0', 'gpu')]), published('b', [gpu('gpu-0', 'gpu')]));
    expect(objects.map(({ kind }) => kind)).toEqual(['DaemonSet']);
    expect(templateOf(objects[0]).metadata.annotations).toEqual({
      'local.karpenter-ts.sh/dra-driver': 'gpu.nvidia.com',
    });
    expect(nodesOf(objects[0])).toEqual([['gpu', 'other']]);
  });

  it.each([
    ['parts of GPUs', { driver: 'gpu.nvidia.com' }, 'mig'],
    ['other drivers', { driver: 'nic.example.com' }, 'gpu'],
  ])('publishes the observed devices for %s, which are declared for new nodes', (_, parts, type) => {
    const devices = [gpu('part-0', type), gpu('part-1', type)];
    const [configMap, daemonSet, ...others] = objectsFor(published('c', devices, parts));
    expect(others).toEqual([]);
    expect(JSON.stringify([configMap, daemonSet])).not.toContain(SECRET);
    const { devices: declared, invalid } = readDeclarations([configMap as ConfigMap]);
    expect(invalid).toEqual([]);
    expect(declared.map(({ template }) => [template.driver, template.pools[0]?.devices])).toEqual([
      [parts.driver, devices.map(({ name }) => ({ name, attributes: { type: { string: type } } }))],
    ]);
    expect(declared[0]?.template.runtime).toMatchObject([{ attribute: 'resource.kubernetes.io/pcieRoot' }]);
    expect(nodesOf(daemonSet)).toEqual([['mig'], ['p5.4xlarge']]);
    const pools = templateOf(daemonSet).metadata.annotations['local.karpenter-ts.sh/dra-pools'] ?? '';
    expect(JSON.parse(pools)).toMatchObject([{ devices: [{ name: 'part-0' }, { name: 'part-1' }] }]);
  });

  it('publishes the newest generation of a pool only', () => {
    const old = published('c', [gpu('old', 'mig')], { generation: 1 });
    const next = published('c', [gpu('new', 'mig')], { generation: 2, name: 'next' });
    expect(JSON.stringify(objectsFor(old, { ...next, metadata: { name: 'next' } }))).not.toContain('"old"');
  });

  it('is not recorded for devices of the network and unknown nodes', () => {
    const network = slice([gpu('nic', 'nic')], { name: 'n', allNodes: true });
    expect(objectsFor(network, published('gone', [gpu('gpu-0', 'gpu')]))).toEqual([]);
  });
});
