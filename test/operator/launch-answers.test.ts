/** Every error of EC2 leads to another attempt, and the explanations show the error and the time of the next attempt. */
import { afterEach, describe, expect, it } from '@jest/globals';
import { CAPACITY_TYPE_LABEL, INSTANCE_TYPE_LABEL, isTrue, type KubeObject, NODE_POOL } from '#api/objects';
import type { NodeClaimExplanation, PodVerdict } from '#engine/explanations';
import { deployment, type Scenario, type ScenarioOptions, startScenario } from './harness.ts';

const MINUTE = 60_000;

let scenario: Scenario;
const begin = async (options: ScenarioOptions = {}): Promise<Scenario> => {
  scenario = await startScenario(options);
  await scenario.apply(...scenario.example('ec2nodeclass.yaml'));
  return scenario;
};
afterEach(async () => {
  await scenario.stop();
});

const nodePool = (instanceType: string, spec: Readonly<Record<string, unknown>> = {}): KubeObject =>
  ({
    apiVersion: 'karpenter.sh/v1',
    kind: 'NodePool',
    metadata: { name: 'default' },
    spec: {
      disruption: { consolidateAfter: 'Never', budgets: [{ nodes: '100%' }] },
      template: {
        spec: {
          nodeClassRef: { group: 'karpenter.k8s.aws', kind: 'EC2NodeClass', name: 'default' },
          requirements: [
            { key: CAPACITY_TYPE_LABEL, operator: 'In', values: ['on-demand', 'spot'] },
            { key: INSTANCE_TYPE_LABEL, operator: 'In', values: [instanceType] },
          ],
        },
      },
      ...spec,
    },
  }) as KubeObject;

describe('a spot offering that EC2 refuses', () => {
  it.each([
    'SpotMaxPriceTooLow',
    'UnauthorizedOperation',
    'InvalidParameterValue',
    'SomeNewCode',
  ])('is replaced by on-demand within a minute with %s', async (code) => {
    const { world } = await begin();
    world.aws.faults.add({ kind: 'capacity', instanceType: 'c5.2xlarge', capacityType: 'spot', code });
    await scenario.apply(nodePool('c5.2xlarge'), deployment('mp', 1, {}, { cpu: '6', memory: '1Gi' }));
    const startedMs = world.clock.now();
    await scenario.until('a running pod', async () => (await scenario.running('mp')).length === 1);
    expect(world.clock.now() - startedMs).toBeLessThan(3 * MINUTE);
    const [claim] = await scenario.claims();
    expect(claim?.metadata.labels?.[CAPACITY_TYPE_LABEL]).toBe('on-demand');
  }, 300_000);
});

const verdictOf = async (app: string): Promise<PodVerdict> => {
  const [pod] = await scenario.until(`a pod of ${app}`, async () => {
    const pods = await scenario.pods(app);
    return pods.length > 0 && pods;
  });
  return (await scenario.debug(`pods?pod=default/${pod?.metadata.name}`)) as PodVerdict;
};

const secondsUntil = (time: string | undefined): number =>
  (Date.parse(time ?? '') - scenario.world.clock.now()) / 1_000;

describe('an answer of EC2 for all offerings', () => {
  it('is shown for the pod with the time of the next attempt, and the pod gets a node when it ends', async () => {
    const { world } = await begin();
    const fault = world.aws.faults.add({ kind: 'capacity', code: 'SomeNewCode' });
    await scenario.apply(nodePool('c5.2xlarge'), deployment('mp', 1, {}, { cpu: '6', memory: '1Gi' }));
    const refused = await scenario.until('the verdict', async () => {
      const verdict = await verdictOf('mp');
      return verdict.code === 'unschedulable' && verdict;
    });
    expect(refused.text).toMatch(
      /^NodePool "default" matches, but its capacity is not available now: the last launches of on-demand and spot c5\.2xlarge in .* failed with SomeNewCode\. The operator tries again at \S+Z; /,
    );
    expect(secondsUntil(refused.nextAttempt)).toBeLessThan(180);
    const ended = await scenario.until('a NodeClaim that could not be launched', async () => {
      const verdict = await verdictOf('mp');
      return verdict.text.includes('could not be launched') && verdict;
    });
    expect(ended.text).toContain('SomeNewCode: No ');
    world.aws.faults.clear(fault);
    await scenario.pass(3 * MINUTE);
    await scenario.until('a running pod', async () => (await scenario.running('mp')).length === 1);
  }, 300_000);

  it('is shown for the pod and its NodeClaim while the NodeClaim is retried', async () => {
    const { world } = await begin();
    await scenario.apply(nodePool('c5.2xlarge'));
    // the NodeClass would not be ready with this fault
    await scenario.until('a ready NodePool', async () => {
      const found = await scenario.kube.find(NODE_POOL, { name: 'default' });
      return found !== undefined && isTrue(found, 'Ready');
    });
    world.aws.faults.add({ kind: 'error', action: 'CreateFleet', code: 'UnauthorizedOperation' });
    await scenario.apply(deployment('mp', 1, {}, { cpu: '6', memory: '1Gi' }));
    await scenario.until('several attempts', () => world.aws.calls.recorded('CreateFleet').length >= 5);
    const verdict = await verdictOf('mp');
    expect(verdict).toMatchObject({ code: 'bought', text: expect.stringContaining('UnauthorizedOperation') });
    expect(verdict.text).toContain('; the next attempt is at ');
    expect(secondsUntil(verdict.nextAttempt)).toBeLessThan(70);
    const [claim] = await scenario.claims();
    const explained = (await scenario.debug(`nodeclaims?name=${claim?.metadata.name}`)) as NodeClaimExplanation;
    expect(explained.answer?.errors[0]?.text).toContain('UnauthorizedOperation');
    expect(explained.join?.text).toContain('UnauthorizedOperation');
    expect(secondsUntil(explained.join?.nextAttempt)).toBeLessThan(70);
  }, 300_000);
});

describe('a static NodePool without capacity', () => {
  it('creates its NodeClaims only while an offering is available, and all nodes when capacity returns', async () => {
    const { world } = await begin({ env: { FEATURE_GATES: 'StaticCapacity=true' } });
    const fault = world.aws.faults.add({ kind: 'capacity', instanceType: 'r5.large' });
    const created = async (): Promise<number> =>
      Number(/karpenter_nodeclaims_created_total\{[^}]*\} (\d+)/.exec(await scenario.metrics())?.[1] ?? 0);
    await scenario.apply(nodePool('r5.large', { replicas: 3 }));
    await scenario.until('NodeClaims', async () => (await created()) > 0);
    await scenario.pass(18 * MINUTE);
    // spot, then on-demand, every three minutes
    expect(await created()).toBeLessThanOrEqual(2 * 3 * 7);
    expect(scenario.instances()).toEqual([]);
    world.aws.faults.clear(fault);
    await scenario.pass(3.5 * MINUTE);
    await scenario.until('three nodes', async () => (await scenario.nodes()).length === 3);
  }, 300_000);
});
