/** Reports of nodes that have registered. */
import { describe, expect, it } from '@jest/globals';
import { EC2_NODE_CLASS, type EC2NodeClass, NODE_CLAIM, type Node, type NodeClaim } from '#api/objects';
import type { InstanceType } from '#engine/model';
import { realClock } from '#lib/clock';
import { silent } from '#observe/logger';
import { capacityDiscovery } from '../../../../src/aws/instancetypes/capacity-discovery.ts';
import type { InstanceTypes } from '../../../../src/aws/instancetypes/instancetypes.ts';
import type { CapacityReport } from '../../../../src/aws/instancetypes/stored-capacities.ts';
import { MemoryKube } from '../../../support/memory-kube.ts';

const GIB = 2 ** 30;
const REGISTERED = { 'karpenter.sh/registered': 'true' };

const TYPE: InstanceType = {
  name: 'm5.large',
  requirements: [{ key: 'kubernetes.io/arch', operator: 'In', values: ['amd64'] }],
  capacity: { cpu: 2_000, memory: 8 * GIB, pods: 29, 'nvidia.com/gpu': 0 },
  overhead: { kubeReserved: { cpu: 100, memory: GIB }, systemReserved: {}, evictionThreshold: { memory: GIB } },
  offerings: [],
};

const NODE_CLASS = {
  metadata: { name: 'default' },
  spec: {},
  status: { amis: [{ id: 'ami-1', requirements: TYPE.requirements }] },
} as unknown as EC2NodeClass;

const claim = (imageID = 'ami-1'): NodeClaim =>
  ({
    metadata: { name: 'claim' },
    spec: { nodeClassRef: { name: 'default' } },
    status: { providerID: 'aws:///zone/i-1', imageID },
  }) as unknown as NodeClaim;

const node = (status: NonNullable<Node['status']>, labels: Record<string, string> = {}): Node => ({
  apiVersion: 'v1',
  kind: 'Node',
  metadata: {
    name: 'ip-1',
    uid: 'uid-1',
    labels: { 'node.kubernetes.io/instance-type': 'm5.large', ...REGISTERED, ...labels },
  },
  spec: { providerID: 'aws:///zone/i-1' },
  status,
});

const CAPACITY = { cpu: '2', memory: '7Gi', pods: '29' };

/** Returns the reports after the node was reconciled. */
async function reportsOf(
  each: Node,
  {
    claims = [claim()],
    classes = [NODE_CLASS],
  }: { claims?: readonly NodeClaim[]; classes?: readonly EC2NodeClass[] } = {},
): Promise<readonly (readonly [string, CapacityReport])[]> {
  const kube = new MemoryKube(realClock(), 0);
  for (const object of claims) kube.put(NODE_CLAIM, object);
  for (const object of classes) kube.put(EC2_NODE_CLASS, object);
  const reports: (readonly [string, CapacityReport])[] = [];
  const types = {
    list: async () => [TYPE],
    recordCapacity: (name: string, _: EC2NodeClass, report: CapacityReport) => reports.push([name, report]) > 0,
  } as unknown as InstanceTypes;
  const { reconcile } = capacityDiscovery(kube.informers(), types);
  await reconcile(each, { log: silent } as Parameters<typeof reconcile>[1]);
  return reports;
}

const capacityIn = async (status: NonNullable<Node['status']>) => (await reportsOf(node(status)))[0]?.[1].capacity;

describe('capacityDiscovery', () => {
  it('records the capacity of a node with its name and image', async () => {
    expect(await reportsOf(node({ capacity: CAPACITY }))).toEqual([
      ['m5.large', { uid: 'uid-1', node: 'ip-1', image: 'ami-1', capacity: { cpu: 2_000, memory: 7 * GIB, pods: 29 } }],
    ]);
  });

  it('subtracts resources that the kubelet reserves beyond the overhead of the type', async () => {
    const allocatable = { cpu: '1900m', memory: '4Gi', pods: '29' };
    expect(await capacityIn({ capacity: CAPACITY, allocatable })).toEqual({ cpu: 2_000, memory: 6 * GIB, pods: 29 });
  });

  it('leaves out resources of other types, and amounts that are missing, invalid or not exact', async () => {
    const capacity = { cpu: '2', memory: '1e40', pods: 'many', 'nvidia.com/gpu': '0', 'example.com/dongle': '3' };
    expect(await capacityIn({ capacity })).toEqual({ cpu: 2_000 });
    expect(await capacityIn({})).toEqual({});
  });

  it.each([
    ['has another image than new nodes', node({ capacity: CAPACITY }), { claims: [claim('ami-0')] }],
    ['has no NodeClaim', node({ capacity: CAPACITY }), { claims: [] }],
    ['has no NodeClass', node({ capacity: CAPACITY }), { classes: [] }],
    ['has an unknown type', node({ capacity: CAPACITY }, { 'node.kubernetes.io/instance-type': 'x9.large' }), {}],
  ])('records nothing if the node %s', async (_, each, objects) => {
    expect(await reportsOf(each, objects)).toEqual([]);
  });

  it('reads a node when it registers, and existing nodes after a restart', () => {
    const { filter } = capacityDiscovery(new MemoryKube(realClock()).informers(), {} as InstanceTypes);
    const [registered, joining] = [node({}), node({}, { 'karpenter.sh/registered': '' })];
    expect(filter?.(registered, 'added', undefined)).toBe(true);
    expect(filter?.(registered, 'updated', joining)).toBe(true);
    expect(filter?.(registered, 'updated', registered)).toBe(false);
    expect(filter?.(joining, 'added', undefined)).toBe(false);
  });
});
