/** Capacity buffers: room for future pods, so that they start immediately. */
import { afterEach, describe, expect, it } from '@jest/globals';
import { CAPACITY_BUFFER, type CapacityBufferSpec, getCondition, isTrue, POD_TEMPLATE } from '#api/objects';
import { deployment, type Scenario, startScenario } from './harness.ts';
import { BRISK, commands, leaks, pool } from './pools.ts';

let scenario: Scenario;
afterEach(async () => {
  await scenario.stop();
});

const NAMESPACE = 'default';

const begin = async (): Promise<void> => {
  scenario = await startScenario(BRISK);
  await scenario.apply(...scenario.example('ec2nodeclass.yaml'), pool({ cpus: [2] }));
};

const buffer = (spec: CapacityBufferSpec): Promise<unknown> =>
  scenario.kube.create(CAPACITY_BUFFER, {
    apiVersion: 'autoscaling.x-k8s.io/v1beta1',
    kind: 'CapacityBuffer',
    metadata: { name: 'spare', namespace: NAMESPACE },
    spec,
  });

const annotate = (annotations: Record<string, string>): Promise<unknown> =>
  scenario.kube.patch(CAPACITY_BUFFER, { name: 'spare', namespace: NAMESPACE }, { metadata: { annotations } });

const says = (text: string): Promise<true> =>
  scenario.until(
    `the buffer to say ${text}`,
    async () => {
      const found = await scenario.kube.find(CAPACITY_BUFFER, { name: 'spare', namespace: NAMESPACE });
      const condition = found && getCondition(found, 'Provisioning');
      return `${condition?.status} ${condition?.reason}` === text;
    },
    60_000,
  );

const nodesOf = (count: number): Promise<true> =>
  scenario.until(
    `tidy world of ${count} nodes`,
    async () => (await scenario.nodes()).length === count && (await leaks(scenario)).length === 0,
    60_000,
  );

describe('a CapacityBuffer', () => {
  it('keeps empty nodes for a PodTemplate, which consolidation ignores until it is deleted', async () => {
    await begin();
    await scenario.kube.create(POD_TEMPLATE, {
      apiVersion: 'v1',
      kind: 'PodTemplate',
      metadata: { name: 'roomy', namespace: NAMESPACE },
      template: { spec: { containers: [{ name: 'main', image: 'pause', resources: { requests: { cpu: '1500m' } } }] } },
    });
    await buffer({ podTemplateRef: { name: 'roomy' }, replicas: 2 });
    await nodesOf(2);
    await says('True FitsExistingCapacity');
    await scenario.pass(2 * 60_000);
    expect(await scenario.nodes()).toHaveLength(2);
    expect(commands(scenario)).toEqual([]);
    expect(await scenario.pods()).toEqual([]);

    await scenario.kube.delete(CAPACITY_BUFFER, { name: 'spare', namespace: NAMESPACE });
    await nodesOf(0);
  }, 300_000);

  it('makes room for the next replica of a Deployment and is then refilled', async () => {
    await begin();
    await scenario.apply(deployment('web', 1, {}, { cpu: '1500m' }));
    await scenario.until('a running pod', async () => (await scenario.running('web')).length === 1);
    await buffer({ scalableRef: { apiGroup: 'apps', kind: 'Deployment', name: 'web' }, percentage: 10 });
    await nodesOf(2);
    await says('True FitsExistingCapacity');
    const before = new Set((await scenario.nodes()).map(({ metadata }) => metadata.name));

    await scenario.scale('web', 2);
    await scenario.until('two running pods', async () => (await scenario.running('web')).length === 2);
    for (const { spec } of await scenario.pods('web')) expect(before).toContain(spec.nodeName);
    await nodesOf(3);
    await says('True FitsExistingCapacity');
  }, 300_000);

  it('gives its room to pods only once if it is not filled again', async () => {
    await begin();
    await scenario.apply(deployment('web', 0, {}, { cpu: '1500m' }));
    await buffer({ scalableRef: { apiGroup: 'apps', kind: 'Deployment', name: 'web' }, replicas: 1 });
    await annotate({ 'karpenter-ts.sh/buffer-refill': 'never' });
    await nodesOf(1);
    await says('True FitsExistingCapacity');
    await scenario.scale('web', 1);
    await scenario.until('a running pod', async () => (await scenario.running('web')).length === 1);
    await scenario.until('the end of the buffer', async () => {
      const found = await scenario.kube.find(CAPACITY_BUFFER, { name: 'spare', namespace: NAMESPACE });
      return found !== undefined && isTrue(found, 'Fulfilled') && found.status?.replicas === 0;
    });
    await scenario.pass(60_000);
    expect(await scenario.nodes()).toHaveLength(1);
  }, 300_000);

  it('keeps no room while an annotation is not valid, and reports the remedy', async () => {
    await begin();
    await scenario.apply(deployment('web', 1, {}, { cpu: '1500m' }));
    await buffer({ scalableRef: { apiGroup: 'apps', kind: 'Deployment', name: 'web' }, replicas: 1 });
    await nodesOf(2);
    await annotate({ 'karpenter-ts.sh/buffer-schedule': 'daily' });
    const [event] = await scenario.until('an event', async () => {
      const events = await scenario.events('InvalidAnnotation');
      return events.length > 0 ? events : undefined;
    });
    expect(event?.message).toContain('set karpenter-ts.sh/buffer-schedule-duration to a duration such as "10h"');
    await says('False NotReadyForProvisioning');
    await nodesOf(1);
  }, 300_000);
});
