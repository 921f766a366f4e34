/** Pods of one namespace are deleted as soon as their launches appear. Launches must be few, and other pods must get nodes. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { getCondition, isTrue, NAMESPACE, NODE_POOL, type NodePool, POD, type Pod } from '#api/objects';
import { type Scenario, startScenario } from './harness.ts';
import { pool } from './pools.ts';

const ATTACK_MS = 161_000;
const STEP_MS = 1_000;
const AT_ONCE = 5;

const podOf = (name: string, namespace: string, spec: Partial<Pod['spec']> = {}): Pod => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name, namespace },
  spec: {
    terminationGracePeriodSeconds: 0,
    containers: [{ name: 'main', image: 'pause', resources: { requests: { cpu: '1' } } }],
    ...spec,
  },
});

describe('a namespace that deletes its pods as soon as their launches appear', () => {
  let scenario: Scenario;
  const created = (): number => scenario.log.filter(({ message }) => message === 'created nodeclaim').length;

  beforeAll(async () => {
    scenario = await startScenario({ env: { BATCH_IDLE_DURATION: '1s' } });
    const { spec, ...any } = pool({ name: 'any' }) as unknown as NodePool;
    const requirements = [...spec.template.spec.requirements, { key: 'team', operator: 'Exists' as const }];
    const template = { ...spec.template, spec: { ...spec.template.spec, requirements } };
    await scenario.apply(...scenario.example('ec2nodeclass.yaml'), { ...any, spec: { ...spec, template } } as NodePool);
    await scenario.kube.create(NAMESPACE, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'attacker' } });
    let alive: readonly string[] = [];
    let before = created();
    for (let passedMs = 0, round = 0; passedMs < ATTACK_MS; passedMs += STEP_MS) {
      if (alive.length === 0 || created() > before) {
        for (const name of alive) await scenario.kube.delete(POD, { name, namespace: 'attacker' });
        alive = Array.from({ length: AT_ONCE }, (_, at) => `x-${round}-${at}`);
        for (const name of alive)
          await scenario.kube.create(POD, podOf(name, 'attacker', { nodeSelector: { team: name } }));
        before = created();
        round += 1;
      }
      await scenario.pass(STEP_MS, 20);
    }
  }, 120_000);
  afterAll(() => scenario.stop());

  it('causes few launches', () => {
    expect(created()).toBeGreaterThanOrEqual(AT_ONCE);
    expect(created()).toBeLessThanOrEqual(15);
  });

  it('is named by the condition and an event of the NodePool', async () => {
    const condition = await scenario.until('the condition', async () => {
      const found = await scenario.kube.find(NODE_POOL, { name: 'any' });
      const written = found && getCondition(found, 'LaunchesProductive');
      return written?.status === 'False' && written;
    });
    expect(condition).toMatchObject({ reason: 'PodsDeleted', message: expect.stringContaining('namespace attacker') });
    const [event] = await scenario.events('LaunchesAbandoned');
    expect(event?.involvedObject).toMatchObject({ kind: 'NodePool', name: 'any' });
    expect(event?.message).toContain('launched for pods of namespace attacker that were deleted');
  });

  it('has no instances after the deletion of its pods', async () => {
    for (const { metadata } of await scenario.pods()) await scenario.kube.delete(POD, metadata);
    await scenario.until('all instances to end', () => scenario.instances().length === 0);
    expect(await scenario.events('LaunchNotNeeded')).not.toEqual([]);
  });

  it('has events that explain why its further pods wait', async () => {
    const messages = (await scenario.events('PodHeld')).map(({ message }) => message);
    expect(messages.join('\n')).toContain('launched for pods of namespace attacker were not used');
  });

  it('does not delay pods of another namespace', async () => {
    await scenario.kube.create(POD, podOf('ordinary', 'default'));
    const isRunning = async (): Promise<boolean> =>
      (await scenario.kube.find(POD, { name: 'ordinary', namespace: 'default' }))?.status?.phase === 'Running';
    await scenario.until('the pod to run', isRunning);
    await scenario.pass(3 * 60_000);
    await scenario.until('the end of the condition', async () => {
      const found = await scenario.kube.find(NODE_POOL, { name: 'any' });
      return found !== undefined && isTrue(found, 'LaunchesProductive');
    });
  });
});
