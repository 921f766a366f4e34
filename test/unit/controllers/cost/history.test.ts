/** The operator records costs and decisions across restarts. */
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { CONFIG_MAP, NODE_CLAIM } from '#api/objects';
import { parseAwsSettings } from '#aws/settings';
import { ApiError } from '#kube/client';
import { ConfigMapDocument, writeLast } from '#kube/reconcilers';
import { HISTORY_NAME, newHistory } from '#observe/history';
import { silent } from '#observe/logger';
import { historyView } from '#process/server';
import { historyKeeper, type KeptHistory, openHistory, readCost } from '../../../../src/controllers/cost/index.ts';
import { recordInterrupted } from '../../../../src/controllers/disrupted.ts';
import { present } from '../../../support/present.ts';
import { recordingLog } from '../../kube/fakes.ts';
import { World } from '../harness.ts';

const REF = { name: HISTORY_NAME, namespace: 'karpenter' };
const MINUTE = 60;

let world: World;
beforeEach(() => {
  world = new World();
  world.cloud.types = world.cloud.types.filter(({ name }) => name === 'm.2xlarge');
});
afterEach(() => world.kill());

/** Amounts include only instances. */
const NO_FEE = '--node-hourly-fee=0';

const open = (...args: readonly string[]): KeptHistory | undefined =>
  openHistory(
    {
      settings: parseAwsSettings(['--cluster-name=test', ...args], {}),
      client: world.kube.client(new AbortController().signal),
      clock: world.clock,
      log: silent,
    },
    'karpenter',
  );

/** Starts an operator with a new history. */
const start = (...args: readonly string[]): KeptHistory => {
  const history = open(...args);
  if (history === undefined) throw new Error('a history is expected');
  world.costHistory = history;
  world.start([NO_FEE, ...args]);
  return history;
};

const reading = () => ({
  ...{ clock: world.clock, cluster: world.cluster, cloud: world.cloud, log: silent },
  settings: parseAwsSettings(['--cluster-name=test', NO_FEE], {}),
});

/** Returns the history without the starts of leaders. */
function view(history: KeptHistory, query = '') {
  const { decisions, hours } = historyView(history, new URLSearchParams(query));
  return { hours, decisions: decisions.filter(({ kind }) => kind !== 'leader') };
}

/** Creates a node with 3 of 8 vCPUs requested. */
async function house(): Promise<void> {
  world.nodePool('default', { disruption: { consolidateAfter: '30s', budgets: [{ nodes: '100%' }] } });
  await world.pass(2);
  world.deploy('web', 3);
  await world.pass(70);
  expect(world.nodes).toHaveLength(1);
}

describe('the cost of nodes', () => {
  it('is recorded every minute, with equal values in the metric, the history and the view', async () => {
    const { hours } = start();
    await house();
    const { total, groups, nodes } = await readCost(reading());
    expect(total).toMatchObject({ nodes: 1, pods: 3, usdPerHour: 0.16, listUsdPerHour: 0.16 });
    expect(groups.workload.map(({ name, pods }) => [name, pods])).toContainEqual(['default/ReplicaSet/web', 3]);
    expect(nodes).toMatchObject([{ nodePool: 'default', pods: 3, usdPerHour: 0.16 }]);
    await world.pass(MINUTE);
    const text = await world.metrics.text();
    const part = (name: string): number =>
      Number(
        new RegExp(`karpenter_nodepools_cost_usd_per_hour{nodepool="default",part="${name}"} (.+)`).exec(text)?.[1],
      );
    const amounts = ['list', 'effective', 'idle', 'daemonsets', 'surplus'].map(part);
    expect(amounts).toEqual([0.16, 0.16, total.idleUsdPerHour, 0, 0]);
    expect(hours.hours[0]?.minutes).toBeGreaterThan(1);
    expect(hours.hours[0]?.nodePools.get('default')?.idle).toBeLessThanOrEqual(total.idleUsdPerHour);
  });

  it('includes the surplus CPU credits of burstable nodes, and reports them separately', async () => {
    const cpuBurst = { baseline: 400, utilization: 0.5, usdPerVcpuHour: 0.04 };
    world.cloud.types = world.cloud.types.map((type) => ({ ...type, cpuBurst }));
    const history = start();
    await house();
    await world.pass(MINUTE);
    const { total, planning } = await readCost(reading());
    // (3 vCPU × 0.5 − 0.4) × 0.04
    expect(planning.surplusCreditsUsdPerHour).toBeCloseTo(0.044, 9);
    expect(total.usdPerHour).toBeCloseTo(0.16, 9);
    expect(await world.metrics.text()).toMatch(
      /karpenter_nodepools_cost_usd_per_hour{nodepool="default",part="surplus"} 0\.044/,
    );
    const [hour] = view(history).hours;
    const [bought] = view(history).decisions;
    expect(bought).toMatchObject({
      usdPerHour: expect.closeTo(0.16, 9),
      surplusCreditsUsdPerHour: expect.closeTo(0.044, 9),
    });
    expect(hour?.nodePools.default?.surplusCredits).toBeGreaterThan(0);
  });

  it('is no longer reported for a NodePool without nodes', async () => {
    start();
    await house();
    world.deploy('web', 0);
    await world.pass(6 * MINUTE);
    expect(world.nodes).toHaveLength(0);
    await world.pass(2 * MINUTE);
    expect(await world.metrics.text()).not.toMatch(/karpenter_nodepools_cost_usd_per_hour{/);
  });

  it('is unknown for nodes whose NodePool has no prices', async () => {
    start();
    await house();
    const cloud = Object.assign(Object.create(world.cloud), {
      instanceTypes: () => Promise.reject(new Error('no prices')),
    });
    const report = await readCost({ ...reading(), cloud });
    expect(report).toMatchObject({ total: { nodes: 0, usdPerHour: 0 }, unpriced: { nodes: 1 } });
  });

  it('is not recorded if neither metrics nor a history are enabled', async () => {
    world.start(['--disable-cluster-state-observability']);
    await house();
    expect(await world.metrics.text()).not.toMatch(/controller="cost"/);
  });
});

describe('a decision', () => {
  it('contains a launch with its pods, a deletion, or savings', async () => {
    const history = start();
    await house();
    world.deploy('web', 0);
    await world.pass(6 * MINUTE);
    const [first, second, ...others] = view(history).decisions;
    expect(others).toEqual([]);
    expect(first).toMatchObject({
      ...{ kind: 'bought', nodePool: 'default', reason: 'provisioned', pods: 3, instanceType: 'm.2xlarge' },
      ...{ usdPerHour: expect.closeTo(0.16, 9), capacityType: 'spot' },
    });
    expect(second).toMatchObject({
      ...{ kind: 'disrupted', method: 'emptiness', decision: 'delete', reason: 'empty', nodePools: ['default'] },
      ...{ nodes: 1, pods: 0, replacements: 0, predictedUsdPerHour: expect.closeTo(0.16, 9) },
    });
    expect(second).not.toHaveProperty('outcome');
    await world.pass(31 * MINUTE);
    const [, ended] = view(history).decisions;
    expect(ended).toMatchObject({ outcome: { predictedUsd: expect.closeTo(0.08, 9) } });
  });

  it('contains a deletion for another reason or an interruption', async () => {
    const history = start();
    await house();
    const [claim] = world.claims;
    if (claim === undefined) throw new Error('a NodeClaim is expected');
    recordInterrupted(
      { clock: world.clock, cluster: world.cluster, decisions: history.decisions },
      claim,
      'spot_interrupted',
    );
    expect(view(history).decisions.at(-1)).toMatchObject({
      ...{ kind: 'interrupted', nodeClaim: claim.metadata.name, reason: 'spot_interrupted', pods: 3 },
      ...{ instanceType: 'm.2xlarge', capacityType: 'spot' },
    });
    world.kube.patch(NODE_CLAIM, claim.metadata, { spec: { expireAfter: '1s' } });
    await world.pass(5);
    expect(view(history).decisions.find(({ kind }) => kind === 'deleted')).toMatchObject({
      ...{ nodeClaim: claim.metadata.name, nodePool: 'default', reason: 'expired', pods: 3 },
    });
  });

  it('can be filtered by a start time, which must be valid', async () => {
    const history = start();
    await house();
    expect(view(history, 'since=2100-01-01T00:00:00Z')).toEqual({ hours: [], decisions: [] });
    expect(view(history, 'since=2000-01-01T00:00:00Z').decisions).toHaveLength(1);
    expect(() => view(history, 'since=soon')).toThrow('since: "soon" is not a valid time');
  });
});

describe('a history', () => {
  it('is loaded and continued by the next operator', async () => {
    const first = start();
    await house();
    await writeLast([present(first.keeper)], { clock: world.clock, log: silent });
    world.kill();
    const second = start();
    // Decompression takes real time.
    for (let tries = 0; tries < 200 && view(second).decisions.length === 0; tries += 1) await world.pass(1);
    expect(view(second).decisions).toEqual(view(first).decisions);
    world.deploy('web', 0);
    await world.pass(6 * MINUTE);
    expect(view(second).decisions.map(({ kind }) => kind)).toEqual(['bought', 'disrupted']);
    expect(second.hours.hours[0]?.minutes).toBeGreaterThan(first.hours.hours[0]?.minutes ?? 0);
  });

  it('is written at most every five minutes, and only if it changed', async () => {
    start('--disable-cluster-state-observability');
    await world.pass(21 * MINUTE);
    const writes = () => world.kube.writes.filter((write) => write.endsWith('configmaps'));
    expect(writes()).toEqual(['create configmaps']);
    await house();
    await world.pass(21 * MINUTE);
    // compression takes real time, while virtual time continues
    expect(writes().length).toBeLessThanOrEqual(4);
    expect(writes().slice(0, 2)).toEqual(['create configmaps', 'update configmaps']);
    const { history, keeper } = keeping();
    await keeper.reconcile();
    history.decisions.record({
      kind: 'deleted',
      at: '2026-01-01T00:00:00Z',
      nodeClaim: 'a',
      nodePool: 'b',
      reason: 'c',
      pods: 0,
    });
    await keeper.reconcile();
    const before = world.kube.writes.length;
    await keeper.reconcile();
    expect(world.kube.writes).toHaveLength(before);
  });

  it('is not written before the stored history has been loaded', async () => {
    const { history, keeper, fail, lines } = keeping();
    fail(new ApiError(403, 'Forbidden', 'configmaps "karpenter-history" is forbidden'));
    history.hours.sample(0, new Map());
    expect(await keeper.reconcile()).toEqual({ kind: 'after', waitMs: 60_000 });
    await keeper.write();
    expect(world.kube.writes).toEqual([]);
    await keeper.reconcile();
    expect(lines.map(({ message }) => message)).toEqual(['failed storing a document in its ConfigMap']);
    fail(undefined);
    expect(await keeper.reconcile()).toEqual({ kind: 'after', waitMs: 300_000 });
    await keeper.reconcile();
    expect(world.kube.writes).toEqual(['create configmaps']);
  });

  it('is reported and kept beside a new one if it cannot be read', async () => {
    const { keeper, document, lines, history } = keeping();
    await document.write(['{"version":9}']);
    await keeper.reconcile();
    expect(lines.map(({ message }) => message)).toEqual([
      'failed reading the stored document, keeping it and starting with an empty one',
    ]);
    history.hours.sample(0, new Map());
    await keeper.reconcile();
    expect(await document.read()).toMatch(/^{"version":1,/);
    expect(await document.readUnread()).toBe('{"version":9}');
  });

  it('does not exist if it is disabled', async () => {
    expect(open('--cost-history=false')).toBeUndefined();
    world.start(['--cost-history=false']);
    await house();
    expect(world.kube.find(CONFIG_MAP, REF)).toBeUndefined();
  });

  it('is kept only in memory if no namespace is known', () => {
    const settings = parseAwsSettings(['--cluster-name=test'], {});
    const client = world.kube.client(new AbortController().signal);
    expect(openHistory({ settings, client, clock: world.clock, log: silent }, undefined)).not.toHaveProperty('keeper');
  });

  it('does not prevent the process from exiting if the API server is unavailable', async () => {
    const history = start();
    await world.pass(10);
    history.hours.sample(0, new Map());
    world.kube.beforeWrite = () => {
      throw new Error('connection refused');
    };
    await expect(writeLast([present(history.keeper)], { clock: world.clock, log: silent })).resolves.toBeUndefined();
  });
});

function keeping() {
  const { log, lines } = recordingLog();
  const client = world.kube.client(new AbortController().signal);
  let failure: Error | undefined;
  const find: typeof client.find = (...args) => (failure ? Promise.reject(failure) : client.find(...args));
  const document = new ConfigMapDocument({ client: { ...client, find }, log, ...REF });
  const history = newHistory();
  const fail = (error: Error | undefined): void => {
    failure = error;
  };
  return { history, document, keeper: historyKeeper(history, document, world.clock), lines, fail };
}
