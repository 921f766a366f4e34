/** Explanations of a registered node that is not initialized: the same sentence for its pods, its NodeClaim and the node. */
import { afterEach, describe, expect, it } from '@jest/globals';
import { isTrue, NODE, type NodePool } from '#api/objects';
import type { Verdict } from '#engine/disruption';
import type { NodeClaimExplanation, PodVerdict } from '#engine/explanations';
import { deployment, type Scenario, startScenario } from './harness.ts';
import { pool } from './pools.ts';

const MINUTE = 60_000;
const TAINT = { key: 'example.com/mirror', value: 'true', effect: 'NoSchedule' as const };

let scenario: Scenario;
afterEach(async () => {
  await scenario.stop();
});

const withStartupTaint = (): NodePool => {
  const made = pool({ cpus: [2, 4] }) as NodePool;
  const { template } = made.spec;
  return {
    ...made,
    spec: { ...made.spec, template: { ...template, spec: { ...template.spec, startupTaints: [TAINT] } } },
  };
};

describe('a startup taint that stays', () => {
  it('is named with its age for the pod, the NodeClaim and the node', async () => {
    scenario = await startScenario();
    await scenario.apply(...scenario.example('ec2nodeclass.yaml'), withStartupTaint(), deployment('kafka', 1));
    const [claim] = await scenario.until('a registered NodeClaim', async () => {
      const claims = await scenario.claims();
      return claims.some((each) => isTrue(each, 'Registered')) && claims;
    });
    await scenario.pass(12 * MINUTE);
    const sentence =
      /node \S+ has been registered for 1\dm\d+s but is not initialized: StartupTaint "example\.com\/mirror=true:NoSchedule" still exists; the component that the taint waits for must remove it/;
    const [pod] = await scenario.pods('kafka');
    const ofPod = (await scenario.debug(`pods?pod=default/${pod?.metadata.name}`)) as PodVerdict;
    expect(ofPod).toMatchObject({ code: 'joining', text: expect.stringMatching(sentence) });
    const ofClaim = (await scenario.debug(`nodeclaims?name=${claim?.metadata.name}`)) as NodeClaimExplanation;
    expect(ofClaim.join).toMatchObject({ stage: 'initializing', text: expect.stringMatching(sentence) });
    const [ofNode] = (await scenario.debug('verdicts')) as readonly Verdict[];
    expect(ofNode).toMatchObject({ code: 'not-initialized', nearestMiss: expect.stringMatching(sentence) });

    // the explanation ends with the taint
    const [node] = await scenario.nodes();
    const taints = (node?.spec?.taints ?? []).filter(({ key }) => key !== TAINT.key);
    await scenario.kube.patch(NODE, { name: node?.metadata.name ?? '' }, { spec: { taints } });
    await scenario.until('a running pod', async () => (await scenario.running('kafka')).length === 1);
    const later = (await scenario.debug(`nodeclaims?name=${claim?.metadata.name}`)) as NodeClaimExplanation;
    expect(later.join).toBeUndefined();
  }, 300_000);
});
