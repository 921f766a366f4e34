/** Terms of the built-in catalogue, and the amounts that solves use. */
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { NodePool } from '#api/objects';
import { EBS_DRIVER } from '#api/values';
import { builtInTerms, builtInTypes, type Manifest, worldOf } from '#cli/testing';
import { explainInstanceType } from '../../../src/engine/instance-type-explanation.ts';
import { allocatable } from '../../../src/engine/instance-types.ts';
import { amountOf, quantityOf } from '../../../src/engine/resources.ts';
import { slotResource } from '../../../src/engine/volume-limits.ts';
import { present } from '../../support/present.ts';

const NOW_MS = Date.parse('2026-06-03T10:30:00Z');
const SLOTS = slotResource(EBS_DRIVER);

const POOL = {
  apiVersion: 'karpenter.sh/v1',
  kind: 'NodePool',
  metadata: { name: 'default' },
  spec: {
    template: {
      spec: {
        nodeClassRef: { group: 'karpenter.k8s.aws', kind: 'EC2NodeClass', name: 'default' },
        requirements: [{ key: 'node.kubernetes.io/instance-type', operator: 'NotIn', values: ['t3.nano'] }],
      },
    },
  },
};

const nodeClassOf = (spec: object) => ({
  apiVersion: 'karpenter.k8s.aws/v1',
  kind: 'EC2NodeClass',
  metadata: { name: 'default' },
  spec: {
    role: 'r',
    amiSelectorTerms: [{ alias: 'al2023@latest' }],
    subnetSelectorTerms: [{ id: 'subnet-1' }],
    securityGroupSelectorTerms: [{ id: 'sg-1' }],
    ...spec,
  },
});

const daemonSetOf = (name: string, cpu: string, spec: object = {}) => ({
  apiVersion: 'apps/v1',
  kind: 'DaemonSet',
  metadata: { name, namespace: 'kube-system' },
  spec: {
    selector: { matchLabels: { name } },
    template: {
      metadata: { labels: { name } },
      spec: { containers: [{ name: 'c', image: 'x', resources: { requests: { cpu } } }], ...spec },
    },
  },
});

const manifestsOf = (...objects: readonly object[]): readonly Manifest[] =>
  objects.map((object, at) => ({ object: object as Manifest['object'], where: `document ${at}` }));

async function explain(name: string, objects: readonly object[]) {
  const manifests = manifestsOf(...objects);
  const instanceTypes = builtInTypes(manifests, NOW_MS);
  const world = await worldOf(manifests, { instanceTypes, nowMs: NOW_MS, featureGates: { nodeOverlay: true } });
  const snapshot = { ...world.snapshot, pools: world.allPools };
  const termsOf = builtInTerms(manifests, NOW_MS);
  const [found] = explainInstanceType(name, snapshot, { termsOf, ignoresDevices: true });
  const type = world.allPools[0]?.instanceTypes.find((each) => each.name === name);
  return { found: present(found), type: present(type) };
}

const of = ({ found }: Awaited<ReturnType<typeof explain>>, name: string) =>
  present(found.resources.find(({ resource }) => resource === name));

const NAMES = builtInTypes([], NOW_MS)(POOL as NodePool).map(({ name }) => name);

const SPECS = fc.record(
  {
    instanceStorePolicy: fc.constant('RAID0'),
    amiSelectorTerms: fc.constantFrom(
      ...['al2023', 'bottlerocket', 'windows2022'].map((alias) => [{ alias: `${alias}@latest` }]),
    ),
    blockDeviceMappings: fc.constantFrom(
      [{ deviceName: '/dev/xvda', ebs: { volumeSize: '77Gi' } }],
      [
        { deviceName: '/dev/xvdb', ebs: { volumeSize: '9Gi' } },
        { deviceName: '/dev/xvdz', ebs: { volumeSize: '5Gi' } },
      ],
    ),
    networkInterfaces: fc.constant([
      { networkCardIndex: 0, deviceIndex: 0, interfaceType: 'interface' },
      { networkCardIndex: 0, deviceIndex: 1, interfaceType: 'efa-only' },
    ]),
    kubelet: fc.record(
      {
        maxPods: fc.integer({ min: 1, max: 500 }),
        podsPerCore: fc.integer({ min: 1, max: 10 }),
        kubeReserved: fc.constant({ cpu: '333m', memory: '1Gi' }),
        systemReserved: fc.constant({ cpu: '50m', 'ephemeral-storage': '2Gi' }),
        evictionHard: fc.constantFrom(
          { 'memory.available': '5%' },
          { 'nodefs.available': '15%', 'memory.available': '300Mi' },
        ),
      },
      { requiredKeys: [] },
    ),
  },
  { requiredKeys: [] },
);

describe('the explanation of an instance type', () => {
  it('has lines that add up to the amounts of solves, for any type and NodeClass', async () => {
    const daemons = [
      daemonSetOf('aws-node', '25m'),
      daemonSetOf('gpu', '1', { nodeSelector: { 'karpenter.k8s.aws/instance-category': 'g' } }),
    ];
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...NAMES), SPECS, async (name, spec) => {
        const { found, type } = await explain(name, [POOL, nodeClassOf(spec), ...daemons]);
        const free = allocatable(type);
        for (const { resource, lines, ...results } of found.resources) {
          const sumOf = (...steps: readonly string[]): string =>
            quantityOf(
              resource,
              lines
                .filter(({ step }) => steps.includes(step))
                .reduce((sum, { amount }) => sum + amountOf(resource, amount), 0),
            );
          expect(results).toEqual({
            capacity: sumOf('capacity'),
            allocatable: sumOf('capacity', 'reserved'),
            forPods: sumOf('capacity', 'reserved', 'daemonsets'),
          });
          expect(amountOf(resource, results.allocatable)).toBe(free[resource] ?? type.volumeLimits?.[EBS_DRIVER]);
          for (const { text } of lines) expect(text).not.toMatch(/NodeOverlays|CSINodes|huge pages/);
        }
        const shown = new Set(found.resources.map(({ resource }) => resource));
        for (const [resource, amount] of Object.entries(type.capacity))
          expect(shown.has(resource) || amount === 0).toBe(true);
      }),
      { numRuns: 15 },
    );
  }, 120_000);

  it('names the source of each term', async () => {
    const kubelet = { podsPerCore: 5, kubeReserved: { cpu: '200m' }, evictionHard: { 'memory.available': '5%' } };
    const blockDeviceMappings = [{ deviceName: '/dev/xvda', ebs: { volumeSize: '77Gi' } }];
    const found = await explain('m6i.large', [POOL, nodeClassOf({ kubelet, blockDeviceMappings })]);
    const texts = (name: string) => of(found, name).lines.map(({ text, amount }) => `${amount} ${text}`);
    expect(texts('cpu')).toEqual(['2 vCPUs that EC2 reports', '-200m kube-reserved, spec.kubelet.kubeReserved.cpu']);
    expect(texts('pods')).toEqual([
      '27 3 network interfaces with 9 addresses for pods each',
      '2 pods of the host network',
      '-19 limit by spec.kubelet.podsPerCore 5',
    ]);
    expect(texts('memory')).toContain('-397253018 eviction threshold, spec.kubelet.evictionHard.memory.available 5%');
    expect(texts('ephemeral-storage')[0]).toBe('77Gi volume /dev/xvda of spec.blockDeviceMappings');
    expect(texts(SLOTS)[0]).toBe('27 attachments of EC2, shared with network interfaces');
  });

  it('subtracts the DaemonSets that run on the type', async () => {
    const gpu = { nodeSelector: { 'karpenter.k8s.aws/instance-category': 'g' } };
    const objects = [POOL, nodeClassOf({}), daemonSetOf('all', '25m'), daemonSetOf('gpu', '1', gpu)];
    const cpuOf = async (name: string) =>
      of(await explain(name, objects), 'cpu').lines.filter(({ step }) => step === 'daemonsets');
    const all = { step: 'daemonsets', text: 'DaemonSet kube-system/all', amount: '-25m' };
    expect(await cpuOf('m6i.large')).toEqual([all]);
    expect(await cpuOf('g5.xlarge')).toEqual([
      all,
      { step: 'daemonsets', text: 'DaemonSet kube-system/gpu', amount: '-1' },
    ]);
  });

  it('shows resources of NodeOverlays, and huge pages that reduce the memory', async () => {
    const overlay = {
      apiVersion: 'karpenter.sh/v1alpha1',
      kind: 'NodeOverlay',
      metadata: { name: 'o' },
      spec: { requirements: [], capacity: { 'example.com/dongle': '3', 'hugepages-2Mi': '1Gi' } },
    };
    const found = await explain('m6i.large', [POOL, nodeClassOf({}), overlay]);
    expect(of(found, 'example.com/dongle').lines).toEqual([
      { step: 'capacity', text: 'amount in the list of instance types, or of NodeOverlays', amount: '3' },
    ]);
    expect(of(found, 'memory').lines.at(-1)).toEqual({ step: 'reserved', text: 'huge pages', amount: '-1Gi' });
  });

  it('shows the lower limit that CSINodes report', async () => {
    const labels = {
      'node.kubernetes.io/instance-type': 'm6i.large',
      'karpenter.sh/nodepool': 'default',
      'karpenter.sh/initialized': 'true',
    };
    const node = {
      apiVersion: 'v1',
      kind: 'Node',
      metadata: { name: 'n', labels },
      spec: { providerID: 'aws:///us-west-2a/i-1' },
    };
    const drivers = [{ name: EBS_DRIVER, nodeID: 'i-1', allocatable: { count: 20 } }];
    const csiNode = { apiVersion: 'storage.k8s.io/v1', kind: 'CSINode', metadata: { name: 'n' }, spec: { drivers } };
    const found = await explain('m6i.large', [POOL, nodeClassOf({}), node, csiNode]);
    expect(of(found, SLOTS)).toMatchObject({ capacity: '20', forPods: '20' });
    expect(of(found, SLOTS).lines.at(-1)?.text).toBe('limit that CSINodes of such nodes report');
  });

  it('has the reason if the NodePool does not allow the type', async () => {
    expect((await explain('t3.nano', [POOL, nodeClassOf({})])).found.excluded).toMatch(
      /^key node.kubernetes.io\/instance-type/,
    );
    expect((await explain('m6i.large', [POOL, nodeClassOf({})])).found).not.toHaveProperty('excluded');
  });
});
