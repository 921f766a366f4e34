/** Replacement of drifted nodes in stages: a bad image replaces no node beyond the canaries, also after a crash. */
import { afterEach, describe, expect, it } from '@jest/globals';
import { type Condition, EC2_NODE_CLASS, getCondition, type KubeObject, NODE_POOL } from '#api/objects';
import type { PoolBudgets, Verdict } from '#engine/disruption';
import type { FaultRule } from '#local/aws';
import { deployment, type Scenario, startScenario } from './harness.ts';
import { apart, BRISK, leaks, pool } from './pools.ts';

const MINUTE = 60_000;
/** Time scale for waits of half an hour. */
const HURRY = 180;

let scenario: Scenario;
afterEach(async () => {
  await scenario.stop();
});

const policy: KubeObject = {
  apiVersion: 'karpenter-ts.sh/v1alpha1',
  kind: 'NodePolicy',
  metadata: { name: 'careful' },
  spec: { rollout: { canaries: '2', soak: '10m' } },
} as KubeObject;

const NODES = 6;
const begin = async (nodes = NODES): Promise<ReadonlySet<string>> => {
  scenario = await startScenario(BRISK);
  await scenario.apply(...scenario.example('ec2nodeclass.yaml'), pool({ cpus: [2] }), policy);
  await scenario.apply(deployment('web', nodes, apart('web')));
  await scenario.until('running pods', async () => (await scenario.running('web')).length === nodes, 60_000);
  return new Set(scenario.instances().map(({ id }) => id));
};
const edit = (tier: string): Promise<void> => scenario.apply(pool({ cpus: [2], labels: { tier } }));
const left = (old: ReadonlySet<string>): number => scenario.instances().filter(({ id }) => old.has(id)).length;
const rollout = async (): Promise<Condition | undefined> => {
  const found = await scenario.kube.find(NODE_POOL, { name: 'default' });
  return found && getCondition(found, 'DriftRollout');
};
const stage = (wanted: string): Promise<true> =>
  scenario.until(`the stage ${wanted}`, async () => (await rollout())?.reason === wanted, 90_000);
const finished = (old: ReadonlySet<string>): Promise<true> =>
  scenario.until(
    'new nodes only',
    async () =>
      left(old) === 0 && (await leaks(scenario)).length === 0 && (await scenario.running('web')).length === old.size,
    120_000,
  );
/** Changes the user data of the NodeClass. */
const changeImage = (userData: string): Promise<unknown> =>
  scenario.kube.patch(EC2_NODE_CLASS, { name: 'default' }, { spec: { userData } });

/** Number of requests for nodes. */
const launches = (): number =>
  scenario.world.aws.calls.recorded('CreateFleet').filter(({ input }) => input.DryRun !== true).length;

describe('a bad NodeClass on 40 nodes', () => {
  it.each<[string, FaultRule, RegExp]>([
    ['whose nodes do not join', { kind: 'never-joins' }, /was not registered within 10m0s; it starts again when/],
    [
      'whose nodes cannot be launched',
      { kind: 'capacity', code: 'InvalidAMIID.NotFound' },
      /could not be launched, as all others for 5m0s: AMINotFound, .*; it starts again when/,
    ],
  ])(
    '%s replaces at most two nodes, halts with the cause, and resumes when the NodeClass changes',
    async (_, rule, cause) => {
      const old = await begin(40);
      const fault = scenario.world.aws.faults.add(rule);
      await changeImage('#!/bin/bash\nfalse');
      await scenario.pass(12 * MINUTE, HURRY);
      await stage('Halted');
      expect((await rollout())?.message).toMatch(cause);
      const before = launches();
      await scenario.pass(30 * MINUTE, HURRY);
      expect(left(old)).toBeGreaterThanOrEqual(38);
      expect(launches()).toBe(before);
      expect((await scenario.running('web')).length).toBe(40);
      scenario.world.aws.faults.clear(fault);
      await changeImage('#!/bin/bash\ntrue');
      await finished(old);
      await scenario.until('the end', async () => (await rollout()) === undefined);
    },
    300_000,
  );
});

describe('a rollout of a NodePool', () => {
  it('replaces the canaries, soaks over a restart, and then replaces the remaining nodes', async () => {
    const old = await begin();
    await edit('gold');
    await stage('Soak');
    await scenario.until('two replaced nodes', () => left(old) === NODES - 2);
    await scenario.restartOperator();
    await scenario.pass(5 * MINUTE, HURRY);
    expect(left(old)).toBe(NODES - 2);
    expect((await rollout())?.reason).toBe('Soak');
    const verdicts = (await scenario.debug('verdicts')) as readonly Verdict[];
    expect(verdicts.filter(({ code }) => code === 'rollout').length).toBeGreaterThanOrEqual(NODES - 2);
    const budgets = (await scenario.debug('budgets')) as readonly PoolBudgets[];
    expect(budgets[0]?.rollout).toMatchObject({ policy: 'careful', stage: 'Soak', room: 0, drifted: NODES - 2 });
    await finished(old);
    await scenario.until('the end', async () => (await rollout()) === undefined);
    expect((await scenario.events('RolloutStage')).length).toBeGreaterThanOrEqual(2);
    expect(await scenario.events('RolloutHalted')).toEqual([]);
  }, 300_000);

  it('halts if new nodes do not join, keeps all nodes over a restart, and starts again after a change', async () => {
    const old = await begin();
    const fault = scenario.world.aws.faults.add({ kind: 'never-joins' });
    await edit('bad');
    await scenario.pass(8 * MINUTE, HURRY);
    await stage('Halted');
    await scenario.restartOperator();
    await scenario.pass(20 * MINUTE, HURRY);
    const condition = await rollout();
    expect(condition).toMatchObject({ status: 'False', reason: 'Halted' });
    expect(condition?.message).toMatch(
      /was not registered within 10m0s; it starts again when .* kubectl annotate nodepool/,
    );
    expect(left(old)).toBe(NODES);
    expect((await scenario.running('web')).length).toBe(NODES);
    expect((await scenario.events('RolloutHalted')).length).toBeGreaterThanOrEqual(1);
    expect(await scenario.metrics()).toContain(
      `karpenter_nodepools_rollout_drifted_nodes{nodepool="default",stage="Halted"} ${NODES}`,
    );
    scenario.world.aws.faults.clear(fault);
    await edit('good');
    await finished(old);
  }, 300_000);
});
