/** With POD_NOMINATION, kube-scheduler binds pods to the nodes that were planned for them. */
import { afterEach, describe, expect, it } from '@jest/globals';
import { type KubeObject, NODE, NODE_CLAIM, type NodePool } from '#api/objects';
import { ApiError } from '#kube/client';
import { StatusError } from '#local/testing';
import { deployment, type Scenario, type ScenarioOptions, startScenario } from './harness.ts';
import { BRISK, pool } from './pools.ts';

/** The test removes this startup taint, so that nodes are registered but not usable before. */
const AGENT = { key: 'example.com/agent', effect: 'NoSchedule' } as const;

/** Nodes join before the operator nominates pods, because a failed attempt after a change of the node removes nominations. */
const QUICK = {
  timeScale: 10,
  instances: { startDelayMs: 500, stopDelayMs: 4_000 },
  kubelets: { bootMs: 1_000, readyMs: 1 },
} as const;

let scenario: Scenario;
afterEach(async () => {
  await scenario.stop();
});

function poolWithAgent(): KubeObject {
  const made = pool({ cpus: [8], budgets: [{ nodes: '0' }] }) as NodePool;
  const { template } = made.spec;
  return {
    ...made,
    spec: { ...made.spec, template: { ...template, spec: { ...template.spec, startupTaints: [AGENT] } } },
  } as KubeObject;
}

async function start(options: ScenarioOptions = {}): Promise<void> {
  scenario = await startScenario({ ...QUICK, ...options, env: { ...BRISK.env, POD_NOMINATION: 'true' } });
  await scenario.apply(...scenario.example('ec2nodeclass.yaml'), poolWithAgent());
}

/** Returns the nominated node of each pod of an app, by name of the pod. */
async function nominations(app: string): Promise<ReadonlyMap<string, string>> {
  const pods = await scenario.pods(app);
  return new Map(
    pods.flatMap(({ metadata, status }) =>
      status?.nominatedNodeName ? [[metadata.name, status.nominatedNodeName] as const] : [],
    ),
  );
}

const nominated = (app: string, count: number): Promise<ReadonlyMap<string, string>> =>
  scenario.until(`${count} nominated pods`, async () => {
    const found = await nominations(app);
    return found.size === count && found;
  });

/** Removes the taints of agents. Returns true if no node has one. A conflict with another writer is left for the next attempt. */
async function removeTaints(): Promise<boolean> {
  const tainted = (await scenario.nodes()).filter(({ spec }) => spec?.taints?.some(({ key }) => key === AGENT.key));
  for (const { metadata, spec } of tainted) {
    const taints = (spec?.taints ?? []).filter(({ key }) => key !== AGENT.key);
    const { resourceVersion } = metadata;
    await scenario.kube
      .patch(NODE, metadata, { metadata: { resourceVersion }, spec: { taints } })
      .catch(throwUnlessConflict);
  }
  return tainted.length === 0;
}

function throwUnlessConflict(error: unknown): void {
  if (!(error instanceof ApiError && error.status === 409)) throw error;
}

const withoutTaints = (): Promise<boolean> => scenario.until('no taints of agents', removeTaints);

const running = (app: string, count: number): Promise<boolean> =>
  scenario.until(`${count} running pods`, async () => (await scenario.running(app)).length === count);

/** Returns the node of each pod of an app, by name of the pod. */
const places = async (app: string): Promise<ReadonlyMap<string, string | undefined>> =>
  new Map((await scenario.pods(app)).map(({ metadata, spec }) => [metadata.name, spec.nodeName]));

describe('a nomination', () => {
  it('lets kube-scheduler bind each pod to its planned node', async () => {
    await start();
    await scenario.apply(deployment('web', 4, {}, { cpu: '3' }));
    const planned = await nominated('web', 4);
    expect(new Set(planned.values()).size).toBe(2);
    await withoutTaints();
    await running('web', 4);
    expect(await places('web')).toEqual(planned);
    expect(await nominations('web')).toEqual(new Map());
    expect(await scenario.claims()).toHaveLength(2);
  }, 300_000);

  it('does not keep a pod from another node if the nominated node ends', async () => {
    await start();
    await scenario.apply(deployment('web', 1, {}, { cpu: '3' }));
    const planned = await nominated('web', 1);
    for (const { metadata } of await scenario.claims()) await scenario.kube.delete(NODE_CLAIM, metadata);
    const next = await scenario.until('another node', async () =>
      (await scenario.nodes()).find(({ metadata }) => ![...planned.values()].includes(metadata.name)),
    );
    await scenario.until('the pod on another node', async () => {
      await removeTaints();
      return (await scenario.running('web')).length === 1;
    });
    expect([...(await places('web')).values()]).toEqual([next.metadata.name]);
  }, 300_000);

  it('is left out without the right, which is reported once', async () => {
    await start({ operator: false });
    let denied = 0;
    scenario.world.kube.server.intercept = async ({ method, path }) => {
      if (method !== 'PATCH' || !path.endsWith('/status') || !path.includes('/pods/')) return;
      denied += 1;
      const text = 'User "karpenter" cannot patch resource "pods/status" in API group "" in the namespace "default"';
      throw new StatusError(403, 'Forbidden', `pods "web" is forbidden: ${text}`);
    };
    await scenario.startOperator();
    await scenario.apply(deployment('web', 2, {}, { cpu: '3' }));
    const reports = (): readonly unknown[] =>
      scenario.log.filter(({ message }) => message === 'missing the right to nominate nodes for pods');
    await scenario.until('the report', () => reports().length > 0);
    await scenario.pass(120_000);
    await withoutTaints();
    await running('web', 2);
    expect(reports()).toMatchObject([{ remedy: expect.stringContaining('settings.podNomination') }]);
    expect(denied).toBeLessThanOrEqual(2);
  }, 300_000);
});
