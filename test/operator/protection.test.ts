/**
 * Protection of nodes against disruption by PodDisruptionBudgets and do-not-disrupt, and the end of that protection.
 */
import { afterEach, describe, expect, it } from '@jest/globals';
import { NODE, NODE_CLAIM } from '#api/objects';
import { deployment, type Scenario, startScenario } from './harness.ts';
import { apart, BRISK, budgetFor, commands, leaks, type PoolShape, pool, taintedNodes } from './pools.ts';

const MINUTE = 60_000;
const ANNOTATION = 'karpenter.sh/do-not-disrupt';

let scenario: Scenario;
afterEach(async () => {
  await scenario.stop();
});

const begin = async (shape: PoolShape = {}): Promise<void> => {
  scenario = await startScenario(BRISK);
  await scenario.apply(...scenario.example('ec2nodeclass.yaml'), pool({ cpus: [2], ...shape }));
};

/** Returns a deployment whose pods carry annotations. */
const annotated = (name: string, replicas: number, annotations: Record<string, string>) => {
  const made = deployment(name, replicas, apart(name)) as ReturnType<typeof deployment> & {
    spec: { template: { metadata: object } };
  };
  Object.assign(made.spec.template.metadata, { annotations });
  return made;
};

const running = (app: string, count: number): Promise<true> =>
  scenario.until(`${count} running pods of ${app}`, async () => (await scenario.running(app)).length === count, 60_000);

/** Drifts every node. */
const edit = (shape: PoolShape = {}): Promise<void> =>
  scenario.apply(pool({ cpus: [2], ...shape, labels: { tier: 'gold' } }));

/**
 * Waits for a DisruptionBlocked event. Earlier events about the same node, such as a nomination, delay it by up to
 * two minutes.
 */
const blocked = (text: string): Promise<true> =>
  scenario.until(
    `an event that says "${text}"`,
    async () => (await scenario.events('DisruptionBlocked')).some(({ message }) => message.includes(text)),
    150_000,
  );

const replaced = async (old: string | undefined, what = 'the node to be replaced'): Promise<void> => {
  await scenario.until(what, () => scenario.instances().every(({ id }) => id !== old), 90_000);
  await scenario.until('a tidy world', async () => (await leaks(scenario)).length === 0, 60_000);
};

describe('a PodDisruptionBudget without allowed disruptions', () => {
  it('keeps a drifted node', async () => {
    await begin();
    await scenario.apply(budgetFor('web', 0), deployment('web', 1));
    await running('web', 1);
    await edit();
    await blocked('prevents pod evictions (PodDisruptionBudget=[default/web])');
    await scenario.pass(MINUTE);
    expect(commands(scenario)).toEqual([]);
    // When the budget allows disruptions, the node is replaced.
    const old = scenario.instances()[0]?.id;
    await scenario.apply(budgetFor('web', 1));
    await replaced(old);
    await running('web', 1);
  }, 300_000);

  it('blocks the termination of a node until its terminationGracePeriod is over', async () => {
    await begin({ terminationGracePeriod: '5m' });
    await scenario.apply(budgetFor('web', 0), deployment('web', 1));
    await running('web', 1);
    const [claim] = await scenario.claims();
    const old = scenario.instances()[0]?.id;
    const [pod] = await scenario.running('web');
    const asked = scenario.world.clock.now();
    await scenario.kube.delete(NODE_CLAIM, claim?.metadata ?? { name: '' });

    await scenario.until('a refusal', async () =>
      /karpenter_pods_eviction_requests_total\{code="429"\} [1-9]/.test(await scenario.metrics()),
    );
    for (const text of [
      '1 pods are waiting to be evicted',
      `evicting pod violates a PDB (Pod=default/${pod?.metadata.name})`,
    ]) {
      await scenario.until(`an event that says "${text}"`, async () =>
        (await scenario.events('FailedDraining')).some(({ message }) => message === `Failed to drain node, ${text}`),
      );
    }
    await scenario.until('a deadline', async () =>
      (await scenario.events('TerminationGracePeriodExpiring')).some(({ message }) =>
        message.startsWith('All pods will be deleted by '),
      ),
    );
    expect(await taintedNodes(scenario)).toHaveLength(1);

    await scenario.pass(3 * MINUTE);
    await scenario.until(
      'the pod to be forced out',
      async () => (await scenario.pods('web')).every(({ metadata }) => metadata.uid !== pod?.metadata.uid),
      60_000,
    );
    await replaced(old);
    await running('web', 1);
    // The pod was never evicted, and was deleted no earlier than at the deadline. This deadline has whole seconds.
    expect(await scenario.metrics()).not.toMatch(/pods_eviction_requests_total\{code="200"\}/);
    const [forced] = await scenario.events('Disrupted');
    expect(Date.parse(forced?.firstTimestamp ?? '')).toBeGreaterThanOrEqual(asked + 5 * MINUTE - 1_000);
  }, 300_000);

  it('delays the drift of a node only for its terminationGracePeriod', async () => {
    await begin({ terminationGracePeriod: '4m' });
    await scenario.apply(budgetFor('web', 0), deployment('web', 1));
    await running('web', 1);
    const old = scenario.instances()[0]?.id;
    await edit({ terminationGracePeriod: '4m' });
    await scenario.until('a command', () => commands(scenario).length > 0, 60_000);
    await scenario.pass(4 * MINUTE);
    await replaced(old);
    await running('web', 1);
  }, 300_000);
});

describe('do-not-disrupt', () => {
  it('protects the node of a pod until the pod is gone', async () => {
    await begin();
    await scenario.apply(annotated('web', 1, { [ANNOTATION]: 'true' }));
    await running('web', 1);
    const old = scenario.instances()[0]?.id;
    await edit();
    await blocked('has "karpenter.sh/do-not-disrupt" annotation (Pod=default/web-');
    await scenario.pass(MINUTE);
    expect(commands(scenario)).toEqual([]);
    await scenario.scale('web', 0);
    await replaced(old, 'the node to go');
  }, 300_000);

  it('keeps the node for its duration', async () => {
    await begin();
    await scenario.apply(annotated('web', 1, { [ANNOTATION]: '6m' }));
    await running('web', 1);
    const old = scenario.instances()[0]?.id;
    const startedMs = Date.parse((await scenario.running('web'))[0]?.status?.startTime ?? '');
    await edit();
    await scenario.until('a promise', async () => (await scenario.events('DoNotDisruptUntil')).length > 0);
    await scenario.until('a command', () => commands(scenario).length > 0, 90_000);
    expect(Date.parse(String(commands(scenario)[0]?.time)) - startedMs).toBeGreaterThanOrEqual(6 * MINUTE);
    expect((await scenario.events('DoNotDisruptGracePeriodElapsed')).length).toBeGreaterThan(0);
    await scenario.scale('web', 0);
    await replaced(old);
  }, 300_000);

  it('is reported and ignored if its value is invalid', async () => {
    await begin();
    await scenario.apply(annotated('web', 1, { [ANNOTATION]: 'soon' }));
    await running('web', 1);
    const old = scenario.instances()[0]?.id;
    await edit();
    await replaced(old);
    await running('web', 1);
    expect((await scenario.events('InvalidDoNotDisruptAnnotation')).length).toBeGreaterThan(0);
  }, 300_000);

  it('protects only the annotated node', async () => {
    await begin();
    await scenario.apply(deployment('web', 2, apart('web')));
    await running('web', 2);
    const [kept] = await scenario.nodes();
    await scenario.kube.patch(NODE, kept?.metadata ?? { name: '' }, {
      metadata: { annotations: { [ANNOTATION]: 'true' } },
    });
    const keptId = kept?.spec?.providerID?.split('/').at(-1);
    const other = scenario.instances().find(({ id }) => id !== keptId)?.id;
    await edit();
    await replaced(other);
    await blocked('disruption is blocked through the "karpenter.sh/do-not-disrupt" annotation'.slice(1));
    expect(scenario.instances().map(({ id }) => id)).toContain(keptId);
    expect(commands(scenario)).toHaveLength(1);
    // A user may still delete the node.
    const claim = (await scenario.claims()).find(({ status }) => status?.nodeName === kept?.metadata.name);
    await scenario.kube.delete(NODE_CLAIM, claim?.metadata ?? { name: '' });
    await replaced(keptId);
    await running('web', 2);
  }, 300_000);
});
