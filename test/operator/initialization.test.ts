/** Explanations of a registered node that is not initialized: the same sentence for its pods, its NodeClaim and the node. */
import { afterEach, describe, expect, it } from '@jest/globals';
import {
  getCondition,
  isTrue,
  type Kind,
  type KubeObject,
  NODE,
  NODE_READINESS_RULE,
  type NodePool,
  type NodeReadinessRule,
} from '#api/objects';
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

const CRD: Kind = {
  group: 'apiextensions.k8s.io',
  version: 'v1',
  kind: 'CustomResourceDefinition',
  plural: 'customresourcedefinitions',
  namespaced: false,
};
/** Minimal definition of the kind of the NodeReadinessController. */
const RULES = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: `${NODE_READINESS_RULE.plural}.${NODE_READINESS_RULE.group}` },
  spec: {
    group: NODE_READINESS_RULE.group,
    scope: 'Cluster',
    names: {
      kind: 'NodeReadinessRule',
      listKind: 'NodeReadinessRuleList',
      plural: 'nodereadinessrules',
      singular: 'nodereadinessrule',
    },
    versions: [
      {
        name: NODE_READINESS_RULE.version,
        served: true,
        storage: true,
        schema: {
          openAPIV3Schema: {
            type: 'object',
            properties: { spec: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
          },
        },
      },
    ],
  },
} as unknown as KubeObject;

describe('a NodeReadinessRule', () => {
  it('delays the initialization of a node without its taint, and is named for the NodeClaim', async () => {
    scenario = await startScenario({ operator: false });
    await scenario.kube.create(CRD, RULES);
    await scenario.kube.create(NODE_READINESS_RULE, {
      apiVersion: 'readiness.node.x-k8s.io/v1alpha1',
      kind: 'NodeReadinessRule',
      metadata: { name: 'network' },
      spec: {
        conditions: [{ type: 'example.com/NetworkReady', requiredStatus: 'True' }],
        enforcementMode: 'bootstrap-only',
        taint: { key: 'readiness.k8s.io/network', effect: 'NoSchedule' },
      },
    } as NodeReadinessRule);
    await scenario.apply(...scenario.example('ec2nodeclass.yaml'), pool({ cpus: [2] }));
    await scenario.startOperator();
    await scenario.apply(deployment('web', 1));
    await scenario.until('a running pod', async () => (await scenario.running('web')).length === 1);
    const claim = await scenario.until('the reason', async () =>
      (await scenario.claims()).find((each) => getCondition(each, 'Initialized')?.reason === 'ReadinessRuleNotMet'),
    );
    expect(getCondition(claim, 'Initialized')?.message).toBe(
      'NodeReadinessRule "network" requires the condition example.com/NetworkReady=True',
    );
    const [node] = await scenario.nodes();
    const known = node?.status?.conditions ?? [];
    const conditions = [...known, { type: 'example.com/NetworkReady', status: 'True' }];
    await scenario.kube.patch(
      NODE,
      { name: node?.metadata.name ?? '' },
      { status: { conditions } },
      { subresource: 'status' },
    );
    await scenario.until('an initialized node', async () =>
      (await scenario.claims()).some((each) => isTrue(each, 'Initialized')),
    );
    expect(scenario.instances()).toHaveLength(1);
  }, 120_000);
});

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
