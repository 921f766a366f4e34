/** Pods that are resized in place: the room that they use, and the room that their successors need. */
import { afterEach, describe, expect, it } from '@jest/globals';
import { getCondition, type KubeObject, POD, type Pod } from '#api/objects';
import { present } from '../support/present.ts';
import { deployment, type Scenario, startScenario } from './harness.ts';
import { BRISK, commands, pool } from './pools.ts';

let scenario: Scenario;
afterEach(async () => {
  await scenario.stop();
});

/** Starts pods on nodes of 4 vCPUs, one on each. */
async function begin(replicas: number, cpu = '2500m'): Promise<readonly Pod[]> {
  scenario = await startScenario(BRISK);
  const shape = { cpus: [4], consolidateAfter: '30s' };
  await scenario.apply(...scenario.example('ec2nodeclass.yaml'), pool(shape), deployment('web', replicas, {}, { cpu }));
  await scenario.until('the pods to run', async () => (await scenario.running('web')).length === replicas);
  expect(await scenario.nodes()).toHaveLength(replicas);
  return scenario.running('web');
}

async function resize({ metadata, spec }: Pod, cpu: string): Promise<void> {
  const [{ name } = { name: '' }] = spec.containers;
  const path = `/api/v1/namespaces/${metadata.namespace}/pods/${metadata.name}/resize`;
  const answer = await fetch(`${scenario.world.kube.server.url}${path}`, {
    method: 'PATCH',
    headers: { 'content-type': 'application/strategic-merge-patch+json' },
    body: JSON.stringify({ spec: { containers: [{ name, resources: { requests: { cpu } } }] } }),
  });
  expect(answer.status).toBe(200);
}

const newest = async ({ metadata }: Pod): Promise<Pod> => present(await scenario.kube.find(POD, metadata));

const untilPod = (what: string, pod: Pod, holds: (pod: Pod) => boolean): Promise<unknown> =>
  scenario.until(what, async () => holds(await newest(pod)));

const allocated = ({ status }: Pod) => status?.containerStatuses?.[0]?.allocatedResources?.cpu;
const inEffect = ({ status }: Pod) => status?.containerStatuses?.[0]?.resources?.requests?.cpu;

const single = (name: string, cpu: string): KubeObject =>
  ({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace: 'default', labels: { app: name } },
    spec: { containers: [{ name: 'app', image: 'x', resources: { requests: { cpu } } }] },
  }) as KubeObject;

describe('a resize', () => {
  it('does not merge nodes that are too small for the successors of their pods', async () => {
    // a successor of 3600m does not fit beside a pod of 500m
    const pods = await begin(2, '3600m');
    for (const pod of pods) await resize(pod, '500m');
    for (const pod of pods) await untilPod('the resize', pod, (now) => inEffect(now) === '500m');
    await scenario.pass(6 * 60_000);
    expect(commands(scenario)).toEqual([]);
    expect((await scenario.running('web')).map(({ metadata }) => metadata.uid).sort()).toEqual(
      pods.map(({ metadata }) => metadata.uid).sort(),
    );
  }, 300_000);

  it('leaves its room to other pods while it is infeasible', async () => {
    const pod = present((await begin(1))[0]);
    await resize(pod, '100');
    await untilPod('the refusal', pod, (now) => getCondition(now, 'PodResizePending')?.reason === 'Infeasible');
    await scenario.apply(single('small', '1'));
    await scenario.until('the small pod to run', async () => (await scenario.running('small')).length === 1);
    expect(scenario.instances()).toHaveLength(1);
  }, 300_000);

  it('keeps its room until a decrease is complete', async () => {
    const pod = present((await begin(1))[0]);
    await scenario.kube.patch(POD, pod.metadata, {
      metadata: { annotations: { 'local.karpenter-ts.sh/resize': 'false' } },
    });
    await resize(pod, '500m');
    await untilPod('the decrease in progress', pod, (now) => allocated(now) === '500m' && inEffect(now) === '2500m');
    await scenario.apply(single('large', '3'));
    await scenario.until('the large pod to run', async () => (await scenario.running('large')).length === 1);
    const [large] = await scenario.running('large');
    expect(large?.spec.nodeName).not.toBe(pod.spec.nodeName);
  }, 300_000);
});
