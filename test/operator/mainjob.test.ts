/** The main job: nodes are launched for pending pods, and removed again. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { CAPACITY_TYPE_LABEL, isTrue, NODE_POOL } from '#api/objects';
import { allowedActions } from '../unit/examples/iam.ts';
import { type Scenario, startScenario } from './harness.ts';

describe('the main job', () => {
  let scenario: Scenario;
  beforeAll(async () => {
    scenario = await startScenario();
    await scenario.apply(
      ...scenario.example('ec2nodeclass.yaml'),
      ...scenario.example('nodepool.yaml'),
      ...scenario.example('inflate.yaml'),
    );
    // Pods that are created earlier would cause an error in the log.
    await scenario.until('a ready NodePool', async () => {
      const pool = await scenario.kube.find(NODE_POOL, { name: 'default' });
      return pool !== undefined && isTrue(pool, 'Ready');
    });
  });
  afterAll(async () => {
    await scenario.stop();
  });

  it('launches nodes for pending pods, which then run on them', async () => {
    await scenario.scale('inflate', 20);
    await scenario.until('20 running pods', async () => (await scenario.running('inflate')).length === 20);

    const [claims, nodes] = [await scenario.claims(), await scenario.nodes()];
    expect(nodes).toHaveLength(claims.length);
    expect(scenario.instances()).toHaveLength(claims.length);
    const providerIds = new Set(claims.map((claim) => claim.status?.providerID));
    expect(new Set(nodes.map((node) => node.spec?.providerID))).toEqual(providerIds);
    for (const pod of await scenario.running('inflate'))
      expect(nodes.map((node) => node.metadata.name)).toContain(pod.spec.nodeName);
  });

  it('logs each step', () => {
    const messages = new Set(scenario.log.map((line) => line.message));
    for (const message of [
      'found provisionable pod(s)',
      'computed new nodeclaim(s) to fit pod(s)',
      'created nodeclaim',
      'launched nodeclaim',
      'registered nodeclaim',
      'initialized nodeclaim',
    ])
      expect(messages).toContain(message);
    expect(scenario.log.filter((line) => line.level === 'ERROR')).toEqual([]);
  });

  it('drains and replaces an interrupted spot node', async () => {
    const spot = scenario.instances().find((instance) => instance.capacityType === 'spot');
    if (spot === undefined) throw new Error('no spot instance was bought');
    const before = new Set((await scenario.claims()).map((claim) => claim.metadata.uid));
    scenario.world.aws.faults.interrupt(spot.id);
    await scenario.until('the interrupted claim to go', async () =>
      (await scenario.claims()).every((claim) => !claim.status?.providerID?.endsWith(spot.id)),
    );
    await scenario.until('20 running pods', async () => (await scenario.running('inflate')).length === 20);

    expect(scenario.instances().map((instance) => instance.id)).not.toContain(spot.id);
    expect((await scenario.events('SpotInterrupted')).length).toBeGreaterThan(0);
    // An interruption marks the offering as unavailable, so that it is not launched again immediately.
    const again = (await scenario.claims()).filter((claim) => claim.metadata.labels?.[CAPACITY_TYPE_LABEL] === 'spot');
    const same = again.filter(
      (claim) =>
        claim.metadata.labels?.['node.kubernetes.io/instance-type'] === spot.type &&
        claim.metadata.labels?.['topology.kubernetes.io/zone'] === spot.zone &&
        !before.has(claim.metadata.uid),
    );
    expect(same).toEqual([]);
  });

  it('removes every node after its pods are gone', async () => {
    await scenario.scale('inflate', 0);
    await scenario.until('no claims', async () => (await scenario.claims()).length === 0);
    await scenario.until('no instances', () => scenario.instances().length === 0);
    expect(await scenario.nodes()).toEqual([]);
    expect(scenario.log.map((line) => line.message)).toContain('disrupting node(s)');
  });

  it('makes only AWS calls that the documented policies allow', () => {
    const asked = new Set(scenario.world.aws.calls.recorded().map(({ service, action }) => `${service}:${action}`));
    const allowed = allowedActions();
    expect(asked.size).toBeGreaterThan(10);
    expect([...asked].filter((action) => !allowed.has(action))).toEqual([]);
  });
});
