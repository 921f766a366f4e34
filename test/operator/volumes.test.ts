/** Pods with volumes get all their nodes in one solve, and no node has more volumes than its instance attaches. */
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { CSI_NODE, type KubeObject, VOLUME_ATTACHMENT } from '#api/objects';
import { explainCommand } from '#cli/testing';
import type { PodVerdict } from '#engine/explanations';
import type { Operator } from '../../src/main.ts';
import { deployment, type Scenario, startScenario } from './harness.ts';
import { BRISK, pool } from './pools.ts';

const PODS = 60;
/** m6a.xlarge has 27 attachments, of which the root volume and three further interfaces use four. */
const MOST_VOLUMES = 23;

const EPHEMERAL = { volumeClaimTemplate: { spec: claimSpec() } };

function claimSpec(): object {
  return { storageClassName: 'ebs', accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } };
}

describe('a burst of pods with volumes', () => {
  let scenario: Scenario;
  let operator: Operator;
  beforeAll(async () => {
    scenario = await startScenario({ ...BRISK, env: {}, operator: false });
    operator = await scenario.startOperator();
    await scenario.apply(
      ...scenario.example('ec2nodeclass.yaml'),
      {
        apiVersion: 'storage.k8s.io/v1',
        kind: 'StorageClass',
        metadata: { name: 'ebs' },
        provisioner: 'ebs.csi.aws.com',
        volumeBindingMode: 'WaitForFirstConsumer',
      } as KubeObject,
      onlyOf('m6a.xlarge'),
      deployment('db', PODS, { volumes: [{ name: 'data', ephemeral: EPHEMERAL }] }, { cpu: '10m' }),
    );
    await scenario.until('all pods to run', async () => (await scenario.running('db')).length === PODS, 120_000);
  }, 300_000);
  afterAll(async () => {
    await scenario.stop();
  }, 60_000);

  it('launches all nodes in one solve', async () => {
    expect(await scenario.claims()).toHaveLength(Math.ceil(PODS / MOST_VOLUMES));
    expect(scenario.log.filter(({ message }) => message === 'created nodeclaim')).toHaveLength(3);
  });

  it('never exceeds the attachments of a node', async () => {
    const attachments = (await scenario.kube.list(VOLUME_ATTACHMENT)).items;
    const limits = new Map(
      (await scenario.kube.list(CSI_NODE)).items.map(({ metadata, spec }) => [
        metadata.name,
        spec.drivers?.[0]?.allocatable?.count ?? 0,
      ]),
    );
    const counts = Map.groupBy(attachments, ({ spec }) => spec.nodeName);
    expect(attachments).toHaveLength(PODS);
    for (const [node, { length }] of counts) expect(length).toBeLessThanOrEqual(limits.get(node) ?? 0);
  });

  it('refuses a pod with more volumes than any instance type attaches, and names this cause', async () => {
    const before = (await scenario.claims()).length;
    const volumes = Array.from({ length: MOST_VOLUMES + 1 }, (_, at) => ({ name: `data-${at}`, ephemeral: EPHEMERAL }));
    await scenario.apply(deployment('huge', 1, { volumes }, { cpu: '10m' }));
    const event = await scenario.until('its event', async () =>
      (await scenario.events('FailedScheduling')).find(
        ({ involvedObject, message, source }) =>
          source?.component === 'karpenter' &&
          involvedObject.name.startsWith('huge-') &&
          message.includes(`${MOST_VOLUMES + 1} volumes`),
      ),
    );
    expect(event.message).toMatch(new RegExp(`at most ${MOST_VOLUMES}\\b`));
    const verdict = JSON.parse(await explainedPod(event.involvedObject.name)) as PodVerdict;
    expect(verdict).toMatchObject({ code: 'unschedulable', cause: { code: 'volume-limit' } });
    expect(await scenario.claims()).toHaveLength(before);
  });

  /** Returns the output of `karpenter explain pod` with the operator's answer. */
  async function explainedPod(name: string): Promise<string> {
    const written = jest.spyOn(process.stdout, 'write').mockReturnValue(true);
    try {
      const server = `http://127.0.0.1:${operator.metricsPort}`;
      await explainCommand().parseAsync(['pod', name, '--server', server, '-o', 'json'], { from: 'user' });
      return written.mock.calls.map(([text]) => String(text)).join('');
    } finally {
      written.mockRestore();
    }
  }
});

/** Returns a NodePool of one instance type. */
function onlyOf(type: string): KubeObject {
  const made = pool({ consolidateAfter: 'Never', cpus: [4] }) as KubeObject & {
    spec: { template: { spec: { requirements: object[] } } };
  };
  made.spec.template.spec.requirements.push({
    key: 'node.kubernetes.io/instance-type',
    operator: 'In',
    values: [type],
  });
  return made;
}
