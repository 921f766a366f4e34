/** New nodes are planned with the capacity that earlier nodes of the same type reported. */
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { CONFIG_MAP, INSTANCE_TYPE_LABEL, type KubeObject, NODE_CLAIM, POD } from '#api/objects';
import { parseQuantity } from '#api/values';
import { NODE_CAPACITIES_NAME } from '#aws/testing';
import { explainCommand } from '#cli/testing';
import type { InstanceTypeExplanation } from '#engine/explanations';
import { catalogueOf } from '../support/catalogue.ts';
import { type Scenario, startScenario } from './harness.ts';
import { BRISK } from './pools.ts';

const SMALL = 'r5d.4xlarge';
const LARGE = 'r5d.8xlarge';

/** Fits on the predicted disks of the small type, and not on its disks with the metadata of the array. */
const DISK = '513700Mi';

const POOL = {
  apiVersion: 'karpenter.sh/v1',
  kind: 'NodePool',
  metadata: { name: 'raid' },
  spec: {
    disruption: { consolidateAfter: 'Never', consolidationPolicy: 'WhenEmptyOrUnderutilized' },
    template: {
      spec: {
        nodeClassRef: { group: 'karpenter.k8s.aws', kind: 'EC2NodeClass', name: 'default' },
        requirements: [
          { key: 'karpenter.sh/capacity-type', operator: 'In', values: ['on-demand'] },
          { key: INSTANCE_TYPE_LABEL, operator: 'In', values: [SMALL, LARGE] },
        ],
      },
    },
  },
} as KubeObject;

const pod = (name: string): KubeObject =>
  ({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace: 'default', labels: { app: name } },
    spec: {
      terminationGracePeriodSeconds: 0,
      containers: [
        { name: 'c', image: 'x', resources: { requests: { cpu: '1', memory: '256Mi', 'ephemeral-storage': DISK } } },
      ],
    },
  }) as unknown as KubeObject;

describe('a RAID0 array with less room than predicted', () => {
  let scenario: Scenario;
  let server: string;
  /** Names of the nodes that were launched, by instance type. */
  const launched = new Map<string, string>();

  const typesOf = async (): Promise<readonly (string | undefined)[]> =>
    (await scenario.claims()).map(({ metadata }) => metadata.labels?.[INSTANCE_TYPE_LABEL]).sort();
  const launches = (): number => scenario.log.filter(({ message }) => message === 'created nodeclaim').length;
  const runs = (name: string): Promise<unknown> =>
    scenario.until(`${name} to run`, async () => (await scenario.running(name)).length === 1, 240_000);

  beforeAll(async () => {
    scenario = await startScenario({
      ...BRISK,
      env: {},
      aws: { catalogue: catalogueOf(/^(r5d\.[48]xlarge|m5\.large)$/) },
      kubelets: { ...BRISK.kubelets, raid0Overhead: 0.001 },
    });
    const classes = scenario.example('ec2nodeclass.yaml').map((object) => {
      const { spec } = object as KubeObject & { readonly spec?: object };
      return object.kind === 'EC2NodeClass' ? { ...object, spec: { ...spec, instanceStorePolicy: 'RAID0' } } : object;
    });
    await scenario.apply(...classes, POOL, pod('disk'));
    await runs('disk');
    for (const { metadata } of await scenario.nodes())
      launched.set(metadata.labels?.[INSTANCE_TYPE_LABEL] ?? '', metadata.name);
  }, 300_000);
  afterAll(async () => {
    await scenario.stop();
  }, 60_000);

  it('costs one node, after which the pod gets a larger type', async () => {
    expect(launches()).toBe(2);
    expect(await typesOf()).toEqual([SMALL, LARGE]);
  });

  it('is remembered by the next operator although no node is left', async () => {
    await scenario.kube.delete(POD, { name: 'disk', namespace: 'default' });
    for (const { metadata } of await scenario.claims()) await scenario.kube.delete(NODE_CLAIM, { name: metadata.name });
    await scenario.until('no node', async () => (await scenario.nodes()).length === 0, 120_000);
    const { metricsPort } = await scenario.restartOperator(async () => {
      const stored = await scenario.kube.find(CONFIG_MAP, { name: NODE_CAPACITIES_NAME, namespace: 'kube-system' });
      expect(stored?.binaryData).toBeDefined();
    });
    server = `http://127.0.0.1:${metricsPort}`;
    await scenario.until('the stored reports', async () => (await lineOf(server).catch(() => undefined)) !== undefined);
    await scenario.apply(pod('again'));
    await runs('again');
    expect(launches()).toBe(3);
    expect(await typesOf()).toEqual([LARGE]);
  }, 300_000);

  it('is shown by explain instance-type with the node that reported it', async () => {
    const line = await lineOf(server);
    expect(line?.text).toMatch(new RegExp(`^report of node ${launched.get(SMALL)} with image ami-\\w+$`));
    expect(parseQuantity(line?.amount ?? '0')).toBeCloseTo(-600e6, -4);
  });
});

/** Returns the line about the report of the small type's node. */
async function lineOf(server: string) {
  const written = jest.spyOn(process.stdout, 'write').mockReturnValue(true);
  try {
    await explainCommand().parseAsync(['instance-type', SMALL, '--server', server, '-o', 'json'], { from: 'user' });
    const [found] = JSON.parse(written.mock.calls.map(([text]) => String(text)).join('')) as InstanceTypeExplanation[];
    const storage = found?.resources.find(({ resource }) => resource === 'ephemeral-storage');
    return storage?.lines.find(({ text }) => text.startsWith('report of node'));
  } finally {
    written.mockRestore();
  }
}
