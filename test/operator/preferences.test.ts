/** Preferences with a price: launches, reports, and consolidation. */
import { afterEach, describe, expect, it } from '@jest/globals';
import { type KubeObject, PREFERENCE_WORTH_ANNOTATION, PREFERENCES_ANNOTATION } from '#api/objects';
import { deployment, type Scenario, startScenario } from './harness.ts';
import { apart, BRISK, pool } from './pools.ts';

let scenario: Scenario;
afterEach(async () => {
  await scenario.stop();
});

const OPTIONS = { ...BRISK, env: { PACKING: 'cheapest' } };

const policy = (worth: string): KubeObject =>
  ({
    apiVersion: 'karpenter-ts.sh/v1alpha1',
    kind: 'NodePolicy',
    metadata: { name: 'preferences' },
    spec: { preferences: { worth } },
  }) as KubeObject;

const softlyApart = (app: string): Record<string, unknown> => ({
  topologySpreadConstraints: [
    {
      maxSkew: 1,
      topologyKey: 'kubernetes.io/hostname',
      whenUnsatisfiable: 'ScheduleAnyway',
      labelSelector: { matchLabels: { app } },
    },
  ],
});

const web = (): KubeObject => deployment('web', 4, softlyApart('web'), { cpu: '400m' });

const preferencesOfClaims = async (): Promise<readonly (string | undefined)[]> =>
  (await scenario.claims()).map(({ metadata }) => metadata.annotations?.[PREFERENCES_ANNOTATION]);

/** Names of the nodes of the pods. */
const usedNodes = async (): Promise<readonly (string | undefined)[]> =>
  [...new Set((await scenario.running('web')).map(({ spec }) => spec.nodeName))].sort();

describe('a preference', () => {
  it('launches no nodes that cost more than it is worth', async () => {
    scenario = await startScenario(OPTIONS);
    await scenario.apply(...scenario.example('ec2nodeclass.yaml'), pool({ cpus: [2, 4] }), web());
    await scenario.until('running pods', async () => (await scenario.running('web')).length === 4);
    expect(await scenario.nodes()).toHaveLength(1);
    expect(await preferencesOfClaims()).toEqual([
      expect.stringMatching(
        /^default\/web-\S+ and 3 more \(spread by kubernetes.io\/hostname \(weight 100\)\): satisfied 1 of 4; a plan for all would add/,
      ),
    ]);
    const line = scenario.log.find(({ message }) => message === 'computed new nodeclaim(s) to fit pod(s)');
    expect(line?.preferences).toMatch(/satisfied 1 of 4/);
  }, 300_000);

  it('reports a worth that is not valid on the pod', async () => {
    scenario = await startScenario(OPTIONS);
    const { spec, ...rest } = web() as KubeObject & { readonly spec: { readonly template: { metadata: object } } };
    const metadata = { ...spec.template.metadata, annotations: { [PREFERENCE_WORTH_ANNOTATION]: 'much' } };
    const annotated = { ...rest, spec: { ...spec, template: { ...spec.template, metadata } } } as KubeObject;
    await scenario.apply(...scenario.example('ec2nodeclass.yaml'), pool({ cpus: [2, 4] }), annotated);
    await scenario.until('running pods', async () => (await scenario.running('web')).length === 4);
    const events = await scenario.events('InvalidAnnotation');
    expect(events.map(({ message }) => message)).toEqual([
      'Invalid annotation: Deployment default/web: annotation karpenter-ts.sh/preference-worth "much" is not valid, ' +
        'it has no effect; use a share of the price of the pod such as "25%"',
    ]);
  }, 300_000);

  it('launches nodes that it is worth', async () => {
    scenario = await startScenario(OPTIONS);
    await scenario.apply(...scenario.example('ec2nodeclass.yaml'), pool({ cpus: [2] }), policy('2000%'), web());
    await scenario.until('running pods', async () => (await scenario.running('web')).length === 4);
    const line = scenario.log.find(({ message }) => message === 'computed new nodeclaim(s) to fit pod(s)');
    expect(line).toMatchObject({ nodeclaims: 4, preferences: expect.stringMatching(/satisfied 4 of 4/) });
  }, 300_000);

  it('keeps nodes that it is worth during consolidation', async () => {
    scenario = await startScenario(OPTIONS);
    const anchors = (count: number): KubeObject => deployment('anchor', count, apart('anchor'), { cpu: '1' });
    await scenario.apply(...scenario.example('ec2nodeclass.yaml'), pool({ cpus: [2] }), policy('2000%'), anchors(4));
    await scenario.until('a node for each anchor', async () => (await scenario.running('anchor')).length === 4);
    await scenario.apply(web());
    await scenario.until('running pods', async () => (await scenario.running('web')).length === 4);
    expect(await usedNodes()).toHaveLength(4);
    await scenario.apply(anchors(0));
    await scenario.pass(30 * 60_000);
    expect(await usedNodes()).toHaveLength(4);

    await scenario.apply(policy('1%'));
    await scenario.until('merged nodes', async () => (await usedNodes()).length < 4);
    await scenario.until('running pods', async () => (await scenario.running('web')).length === 4);
  }, 300_000);
});
