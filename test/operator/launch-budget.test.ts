/**
 * Unproductive launches for several reasons: one agent taints new nodes, and another deletes NodeClaims. Few nodes
 * must be launched, the NodePool must report the cause, and unaffected pods must get nodes.
 */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import {
  CAPACITY_BUFFER,
  type Condition,
  getCondition,
  isTrue,
  type KubeObject,
  NODE,
  NODE_CLAIM,
  NODE_POOL,
  NODEPOOL_LABEL,
  type NodePool,
  POD,
  POD_TEMPLATE,
  type Pod,
} from '#api/objects';
import { deployment, type Scenario, startScenario } from './harness.ts';
import { budgetFor, pool } from './pools.ts';

const AGENT = { key: 'agent', effect: 'NoSchedule' } as const;
const TAINTED = ['leaving', 'buffered', 'anew'];
const MINUTE_MS = 60_000;
const on = (name: string) => ({ nodeSelector: { [NODEPOOL_LABEL]: name } });

const podOf = (name: string, cpu: string, spec: Partial<Pod['spec']>): Pod => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name, namespace: 'default' },
  spec: {
    terminationGracePeriodSeconds: 0,
    containers: [{ name: 'main', image: 'pause', resources: { requests: { cpu } } }],
    ...spec,
  },
});

describe('an unproductive launch', () => {
  let scenario: Scenario;
  let agent: Promise<void>;
  let isOver = false;
  /** Nodes that existed before the agent. */
  const spared = new Set<string>();

  async function taintNewNodes(): Promise<void> {
    for (const { metadata, spec } of await scenario.nodes()) {
      const taints = spec?.taints ?? [];
      const isNew =
        metadata.labels?.['karpenter.sh/registered'] === 'true' && !taints.some(({ key }) => key === AGENT.key);
      if (!isNew || spared.has(metadata.name) || !TAINTED.includes(metadata.labels?.[NODEPOOL_LABEL] ?? '')) continue;
      const patch = {
        metadata: { resourceVersion: metadata.resourceVersion },
        spec: { taints: [...taints, AGENT] },
      };
      await scenario.kube.patch(NODE, { name: metadata.name }, patch).catch(() => undefined);
    }
  }

  async function deleteNewClaims(): Promise<void> {
    for (const claim of await scenario.claims()) {
      const { metadata } = claim;
      if (metadata.labels?.[NODEPOOL_LABEL] !== 'fixed' || metadata.deletionTimestamp || !isTrue(claim, 'Launched'))
        continue;
      await scenario.kube.delete(NODE_CLAIM, { name: metadata.name }).catch(() => undefined);
    }
  }

  async function runAgent(): Promise<void> {
    while (!isOver) {
      await taintNewNodes();
      await deleteNewClaims();
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }

  const launched = (name: string): number =>
    scenario.log.filter(
      ({ message, NodePool }) =>
        message === 'created nodeclaim' && (NodePool as { name?: string } | undefined)?.name === name,
    ).length;
  const condition = async (name: string): Promise<Condition | undefined> =>
    getCondition(await poolNamed(name), 'LaunchesProductive');
  async function poolNamed(name: string): Promise<NodePool> {
    const found = await scenario.kube.find(NODE_POOL, { name });
    if (found === undefined) throw new Error(`there is no NodePool ${name}`);
    return found;
  }
  const isRunning = async (name: string): Promise<boolean> =>
    (await scenario.kube.find(POD, { name, namespace: 'default' }))?.status?.phase === 'Running';

  beforeAll(async () => {
    scenario = await startScenario({ env: { FEATURE_GATES: 'CapacityBuffer=true,StaticCapacity=true' } });
    const fixed = pool({ name: 'fixed' }) as unknown as { readonly spec: object };
    await scenario.apply(
      ...scenario.example('ec2nodeclass.yaml'),
      ...TAINTED.map((name) => pool({ name, consolidationPolicy: 'WhenEmpty', consolidateAfter: 'Never' })),
      deployment('web', 1, on('leaving')),
    );
    await scenario.until('the pod to run', async () => (await scenario.running('web')).length === 1);
    for (const { metadata } of await scenario.nodes()) spared.add(metadata.name);
    // the budget blocks now, but would not block with another pod
    const budget = { ...budgetFor('web', 0), spec: { minAvailable: 1, selector: { matchLabels: { app: 'web' } } } };
    await scenario.apply(budget as unknown as KubeObject);
    agent = runAgent();
    await scenario.kube.create(POD_TEMPLATE, {
      apiVersion: 'v1',
      kind: 'PodTemplate',
      metadata: { name: 'small', namespace: 'default' },
      template: { spec: { ...podOf('small', '1', {}).spec, ...on('buffered') } },
    });
    await scenario.kube.create(CAPACITY_BUFFER, {
      apiVersion: 'autoscaling.x-k8s.io/v1beta1',
      kind: 'CapacityBuffer',
      metadata: { name: 'spare', namespace: 'default' },
      spec: { replicas: 1, podTemplateRef: { name: 'small' } },
    });
    await scenario.apply({ ...fixed, spec: { ...fixed.spec, replicas: 1 } } as unknown as KubeObject);
    for (const { metadata } of await scenario.claims())
      if (metadata.labels?.[NODEPOOL_LABEL] === 'leaving')
        await scenario.kube.delete(NODE_CLAIM, { name: metadata.name });
    for (let round = 0; round < 24; round += 1) {
      await scenario.kube.create(POD, podOf(`anew-${round}`, `${1000 + round}m`, on('anew')));
      await scenario.pass(5_000, 20);
      await scenario.kube.delete(POD, { name: `anew-${round}`, namespace: 'default' });
    }
    await scenario.pass(8 * MINUTE_MS);
  }, 180_000);
  afterAll(async () => {
    isOver = true;
    await agent;
    await scenario.stop();
  }, 60_000);

  it.each([
    {
      name: 'leaving',
      most: 1 + 3,
      reason: 'TaintNotTolerated',
      why: 'pods of a leaving node whose eviction is blocked',
    },
    { name: 'buffered', most: 3, reason: 'TaintNotTolerated', why: 'a capacity buffer' },
    { name: 'anew', most: 6, reason: 'TaintNotTolerated', why: 'a pod that is created anew with 1m more CPU' },
    { name: 'fixed', most: 8, reason: 'NodesTerminated', why: 'a static NodePool' },
  ])('is rare for $why, and the NodePool reports the reason', async ({ name, most, reason }) => {
    expect(launched(name)).toBeLessThanOrEqual(most);
    expect(launched(name)).toBeGreaterThan(1);
    expect(await condition(name)).toMatchObject({ status: 'False', reason });
    expect((await condition(name))?.message).toMatch(/: \d+ nodes, \$0\.\d*[1-9]\d*, next attempt at 20\d\d-/);
    expect(isTrue(await poolNamed(name), 'Ready')).toBe(true);
    const events = await scenario.events('LaunchesUnproductive');
    expect(events.filter(({ involvedObject }) => involvedObject.name === name)).not.toEqual([]);
  });

  it('is shown by metrics and at /debug/launches', async () => {
    const metrics = await scenario.metrics();
    for (const name of TAINTED)
      expect(metrics).toMatch(
        new RegExp(
          `^karpenter_nodepools_launches_unproductive_total\\{nodepool="${name}",cause="taint"\\} [1-6]$`,
          'm',
        ),
      );
    expect(metrics).toMatch(/^karpenter_nodepools_launch_back_off_seconds\{nodepool="buffered",cause="taint"\} \d/m);
    expect(await scenario.debug('launches')).toContainEqual(
      expect.objectContaining({ nodePool: 'buffered', cause: 'taint', nextAttempt: expect.any(String) }),
    );
  });

  it('does not prevent a node for an unaffected pod of the same NodePool', async () => {
    await scenario.kube.create(
      POD,
      podOf('healthy', '6', { ...on('anew'), tolerations: [{ key: 'agent', operator: 'Exists' }] }),
    );
    await scenario.until('the healthy pod to run', () => isRunning('healthy'));
  });
});
