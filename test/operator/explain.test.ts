/** Explanations over HTTP: why a pod is pending, why a node was launched, and why it does not join. */
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import {
  type Condition,
  getCondition,
  INSTANCE_CATEGORY_LABEL,
  INSTANCE_FAMILY_LABEL,
  type KubeObject,
  NODE_POOL,
} from '#api/objects';
import { explainCommand } from '#cli/testing';
import type {
  ExplainedResource,
  InstanceTypeExplanation,
  NodeClaimExplanation,
  PodVerdict,
} from '#engine/explanations';
import type { ReportedInstanceType } from '#engine/testing';
import type { Operator } from '../../src/main.ts';
import { present } from '../support/present.ts';
import { deployment, type Scenario, startScenario } from './harness.ts';
import { pool } from './pools.ts';

const MINUTE = 60_000;

let scenario: Scenario;
let operator: Operator;
beforeAll(async () => {
  scenario = await startScenario({ operator: false });
  operator = await scenario.startOperator();
  await scenario.apply(...scenario.example('ec2nodeclass.yaml'), pool({ cpus: [2, 4] }));
});
afterAll(async () => {
  await scenario.stop();
});

/** Returns the standard output of `karpenter explain`. */
async function explained(...args: readonly string[]): Promise<string> {
  const written = jest.spyOn(process.stdout, 'write').mockReturnValue(true);
  const noted = jest.spyOn(process.stderr, 'write').mockReturnValue(true);
  try {
    await explainCommand().parseAsync([...args], { from: 'user' });
    return written.mock.calls.map(([text]) => String(text)).join('');
  } finally {
    written.mockRestore();
    noted.mockRestore();
  }
}

const byServer = (): readonly string[] => ['--server', `http://127.0.0.1:${operator.metricsPort}`];
const kubeconfig = (): string => scenario.world.kube.kubeconfig();

const podNamed = async (app: string): Promise<string> => {
  const [pod] = await scenario.until(`a pod of ${app}`, async () => {
    const pods = await scenario.pods(app);
    return pods.length > 0 && pods;
  });
  return pod?.metadata.name ?? '';
};

describe('a pod that no NodePool can serve', () => {
  const sentence = `NodePool "default" allows instance categories c, m, r; the pod requires instance family g5. Add "g" to ${INSTANCE_CATEGORY_LABEL}.`;
  let name: string;
  beforeAll(async () => {
    await scenario.apply(deployment('gpu', 1, { nodeSelector: { [INSTANCE_FAMILY_LABEL]: 'g5' } }));
    name = await podNamed('gpu');
    await scenario.until('its event', async () =>
      (await scenario.events('FailedScheduling')).some(({ message }) => message.startsWith('Failed to schedule pod, ')),
    );
  });

  it('has an event that starts with the requirement and the remedy', async () => {
    const events = await scenario.events('FailedScheduling');
    const [event] = events.filter(({ source }) => source?.component === 'karpenter');
    expect(event?.message.slice(0, 200)).toContain(sentence);
    expect(event?.message).toContain(` All reasons: karpenter explain pod ${name} -n default`);
    expect(event?.message.length).toBeLessThanOrEqual(400);
  });

  it('is explained by the operator with the same cause', async () => {
    const text = await explained('pod', name, ...byServer());
    expect(text).toContain(`verdict  unschedulable\n  because  ${sentence}`);
    const verdict = JSON.parse(await explained('pod', name, '-o', 'json', ...byServer())) as PodVerdict;
    expect(verdict.cause).toMatchObject({ code: 'requirements', field: INSTANCE_CATEGORY_LABEL });
    expect(await explained('pod', ...byServer())).toContain(`default/${name}`);
  });

  it('is explained from the objects of the cluster if the operator cannot be found', async () => {
    const text = await explained('pod', name, '--kubeconfig', kubeconfig());
    expect(text).toContain(`because  ${sentence}`);
    expect(text).toMatch(/event {4}FailedScheduling at .*: Failed to schedule pod, NodePool "default"/);
  });

  it('has a remedy that the operator checks, or a solve of the objects of the cluster', async () => {
    for (const source of [byServer(), ['--kubeconfig', kubeconfig()]]) {
      const text = await explained('pod', name, '--check-remedy', ...source);
      expect(text).toContain(`because  ${sentence}`);
      expect(text).toMatch(
        /checked {2}if "g" is allowed for .*, the pod goes to a new node of NodePool default \(g5\./,
      );
    }
  });

  it('is an error if it does not exist', async () => {
    await expect(explained('pod', 'nobody', ...byServer())).rejects.toThrow(
      'pod "default/nobody" not found by the operator',
    );
    await expect(explained('pod', 'nobody', '--kubeconfig', kubeconfig())).rejects.toThrow(
      'pod "nobody" not found in namespace default of the cluster',
    );
  });
});

describe('a node that never joins', () => {
  let claim: string;
  beforeAll(async () => {
    scenario.world.aws.faults.add({ kind: 'never-joins' });
    await scenario.apply(deployment('web', 1));
    claim = await scenario.until('a launched NodeClaim', async () => {
      const [found] = (await scenario.claims()).filter(({ status }) => status?.providerID !== undefined);
      return found?.metadata.name;
    });
    await scenario.pass(2.5 * MINUTE);
  });

  it('is reported after two minutes, with the most probable cause', async () => {
    const [event] = await scenario.until('the event', async () => {
      const events = await scenario.events('NotJoined');
      return events.length > 0 && events;
    });
    expect(event?.involvedObject).toMatchObject({ kind: 'NodeClaim', name: claim });
    expect(event?.message).toMatch(/^instance i-\w+ was launched 2m\S+ ago, and its Node has not appeared/);
    expect(event?.message).toContain('aws ec2 get-console-output');
  });

  it('is explained with its pods, alternatives, deadline and checks', async () => {
    const text = await explained('nodeclaim', claim, ...byServer());
    expect(text).toContain(`for pods  default/${await podNamed('web')}`);
    expect(text).toMatch(/PROBABLE CAUSES\n {2}1\. user-data: /);
    expect(text).toMatch(/EC2 +requested one on-demand instance of \d+ types; launched i-/);
    const found = JSON.parse(await explained('nodeclaim', claim, '-o', 'json', ...byServer())) as NodeClaimExplanation;
    expect(found.alternatives.length).toBeLessThanOrEqual(10);
    expect(found.excluded[0]).toMatchObject({ code: 'nodepool', text: expect.stringMatching(/^the NodePool allows /) });
    expect(text).toMatch(/^EXCLUDED BECAUSE +OFFERINGS +CHEAPEST$/m);
    expect(found.join?.stage).toBe('registering');
    expect(found.capacityType).toBe('on-demand, because the NodePool allows only on-demand');
  });

  it('does not count as a node on which the pod fits', async () => {
    const text = await explained('pod', await podNamed('web'), ...byServer());
    expect(text).toMatch(/verdict {2}(joining|bought)\n/);
    expect(text).toContain('its Node has not appeared in the cluster');
    expect(await explained('pod', await podNamed('web'), '--kubeconfig', kubeconfig())).toMatch(/verdict {2}joining\n/);
  });

  it('is an error if it does not exist', async () => {
    await expect(explained('nodeclaim', 'nobody', ...byServer())).rejects.toThrow(
      `NodeClaim "nobody" not found by the operator at ${byServer()[1]}; existing names: ${claim}`,
    );
  });
});

describe('an instance type', () => {
  const resourceIn = (text: string, name: string): ExplainedResource | undefined =>
    (JSON.parse(text) as readonly InstanceTypeExplanation[])[0]?.resources.find(({ resource }) => resource === name);

  it('is explained by the operator line by line, with the capacity that solves use', async () => {
    const types = await scenario.debug('instancetypes');
    const { instanceTypes } = types as { readonly instanceTypes: readonly ReportedInstanceType[] };
    const [{ name = '', capacity = {} } = {}] = instanceTypes as readonly Partial<ReportedInstanceType>[];
    const text = await explained('instance-type', name, ...byServer());
    expect(text).toMatch(new RegExp(`^${name} in NodePool default \\(EC2NodeClass default\\)\n`));
    expect(text).toMatch(/-\S+Mi {2}estimate for hypervisor and kernel \(VM_MEMORY_OVERHEAD_PERCENT 0\.075\)\n/);
    const memory = resourceIn(await explained('instance-type', name, '-o', 'json', ...byServer()), 'memory');
    expect(memory?.capacity).toBe(capacity.memory);
  });

  it('is explained from the objects of the cluster if the operator cannot be found', async () => {
    const args = ['instance-type', 'm5.large', '-o', 'json'];
    const fromOperator = await explained(...args, ...byServer());
    const fromObjects = await explained(...args, '--kubeconfig', kubeconfig());
    expect(resourceIn(fromObjects, 'cpu')).toEqual(resourceIn(fromOperator, 'cpu'));
  });

  it('is an error with the closest names if it does not exist', async () => {
    await expect(explained('instance-type', 'm5.lrge', ...byServer())).rejects.toThrow(
      `instance type "m5.lrge" not found by the operator at ${byServer()[1]}; existing names: m5.large, `,
    );
  });
});

describe('a NodePool at its limit', () => {
  const limited = { ...pool({ name: 'limited', cpus: [2], labels: { team: 'limited' } }) } as {
    spec: object;
  } & KubeObject;
  const demand = (replicas: number) =>
    deployment('batch', replicas, { nodeSelector: { team: 'limited' } }, { cpu: '1200m', memory: '1Gi' });
  const conditionOf = async (): Promise<Condition | undefined> =>
    getCondition(present(await scenario.world.kube.client.find(NODE_POOL, { name: 'limited' })), 'WithinLimits');

  it('has a condition with usage and limit, and its pods are listed together', async () => {
    await scenario.apply({ ...limited, spec: { ...limited.spec, limits: { cpu: '3' } } } as KubeObject);
    await scenario.apply(demand(3));
    // while its node is launched, the condition names it as planned
    await scenario.until(
      'the condition',
      async () => (await conditionOf())?.message?.includes('cpu 2 of 3 in use') === true,
    );
    expect(await conditionOf()).toMatchObject({
      status: 'False',
      reason: 'LimitReached',
      message: 'cpu 2 of 3 in use; no node is launched for pending pods. Increase spec.limits.cpu of the NodePool.',
    });
    const text =
      /\n2 pods {2}unschedulable\n {2}NodePool "limited" has reached its limit: cpu 2 of 3 in use( or planned)?\. .*\n {2}default\/batch-[^ ]+, default\/batch-[^ ]+\n/;
    // The pod that fits is bound, and the others have one verdict, only after the next passes.
    await scenario.until('both pods in one list', async () => text.test(await explained('pod', ...byServer())));
    await scenario.until('the same by kubeconfig', async () =>
      text.test(await explained('pod', '--kubeconfig', kubeconfig())),
    );
    expect((await scenario.events('LimitReached'))[0]?.involvedObject).toMatchObject({
      kind: 'NodePool',
      name: 'limited',
    });
  });

  it('loses the condition when the pods fit', async () => {
    await scenario.apply({ ...limited, spec: { ...limited.spec, limits: { cpu: '30' } } } as KubeObject);
    await scenario.until('the end of the condition', async () => (await conditionOf())?.status === 'True');
    expect(await explained('pod', ...byServer())).not.toContain('has reached its limit');
  });
});
