/** User-visible costs: `/debug/cost`, `karpenter cost` and `karpenter report`, over HTTP, and after a restart. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import type { Command } from 'commander';
import {
  apiVersionOf,
  CONFIG_MAP,
  EC2_NODE_CLASS,
  type EC2NodeClass,
  type Kind,
  NODE,
  NODE_CLAIM,
  NODE_POOL,
} from '#api/objects';
import {
  Bills,
  blockersCommand,
  type CostHistory,
  type CostNow,
  costCommand,
  type DisruptionAnswer,
  explainNodeClaimCommand,
  reportCommand,
  type SimulationAnswer,
  type SupportReport,
  simulateCommand,
} from '#cli/testing';
import type { CostReport } from '#engine/costs';
import type { NodeBlockers } from '#engine/drain';
import type { NodeClaimExplanation } from '#engine/explanations';
import { DOCUMENT_LABEL } from '#kube/testing';
import type { LiveNode } from '#live/view';
import type { HistoryView } from '#process/server';
import { COST, COST_HISTORY, REPORT } from '../../scripts/reference/outputs/cost.ts';
import { strictly } from '../unit/scripts/strictly.ts';
import { deployment, type Scenario, startScenario } from './harness.ts';
import { BRISK, budgetFor, outgrow, pool } from './pools.ts';

const MINUTE = 60_000;
const NAME = 'karpenter-history';

interface LiveDetails {
  readonly node: LiveNode;
}

let scenario: Scenario;
let folder: string;
let port: number;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'cost-'));
  scenario = await startScenario({ ...BRISK, operator: false });
  await start();
  await scenario.apply(...scenario.example('ec2nodeclass.yaml'));
  await writeFile(join(folder, 'kubeconfig'), scenario.world.kube.kubeconfig());
});
afterEach(async () => {
  await scenario.stop();
  await rm(folder, { recursive: true });
});

const start = async (): Promise<void> => {
  port = (await scenario.startOperator()).metricsPort;
};

/** Returns the JSON output of a command. */
async function printed<T>(command: Command, ...args: readonly string[]): Promise<T> {
  const written = jest.spyOn(process.stdout, 'write').mockReturnValue(true);
  const noted = jest.spyOn(process.stderr, 'write').mockReturnValue(true);
  try {
    await command.parseAsync([...args, '-o', 'json'], { from: 'user' });
    return JSON.parse(written.mock.calls.map(([text]) => String(text)).join('')) as T;
  } finally {
    written.mockRestore();
    noted.mockRestore();
  }
}

const asking = (): readonly string[] => ['--server', `http://127.0.0.1:${port}`];
const served = (): Promise<CostReport> => scenario.debug('cost') as Promise<CostReport>;
const history = (): Promise<HistoryView> => scenario.debug('history') as Promise<HistoryView>;
/** The scenario's clock is ahead of the system clock. */
const AHEAD = ['--now', '2027-06-01T00:00:00Z', '--since', '366d'];

describe('the cost of nodes', () => {
  it('is the same in the local world, in the operator, and for a client that reads only the cluster', async () => {
    await scenario.apply(pool({ cpus: [2, 4] }), deployment('web', 5, {}, { cpu: '700m', memory: '1Gi' }));
    await scenario.until('running pods', async () => (await scenario.running('web')).length === 5);
    const report = await scenario.until('a cost with all pods', async () => {
      const found = await served();
      return found.groups.workload.some(({ name, pods }) => name === 'default/Deployment/web' && pods === 5) && found;
    });
    expect(report.price.instancesUsdPerHour).toBeCloseTo(scenario.world.aws.spending.usdPerHour(), 9);
    expect(report.total.nodes).toBe(scenario.instances().length);

    const byOperator = await printed<CostNow>(costCommand('test'), '--by', 'workload', ...asking());
    expect(strictly(COST, byOperator)).toEqual([]);
    expect(byOperator.groups.map(({ usdPerMonth: _, ...group }) => group)).toEqual(report.groups.workload);
    const byCluster = await printed<CostNow>(
      costCommand('test'),
      ...[
        '--by',
        'workload',
        '--kubeconfig',
        join(folder, 'kubeconfig'),
        '--instance-types',
        `http://127.0.0.1:${port}`,
      ],
    );
    expect(strictly(COST, byCluster)).toEqual([]);
    expect(byCluster.groups.map(({ name }) => name)).toEqual(byOperator.groups.map(({ name }) => name));
    expect(byCluster.price.instancesUsdPerHour).toBeCloseTo(report.price.instancesUsdPerHour, 9);
    expect(byCluster.unknown).toContainEqual(expect.stringMatching(/price book/));
    await scenario.until('the metric', async () =>
      /karpenter_nodepools_cost_usd_per_hour{nodepool="default",part="effective"} 0\.\d/.test(await scenario.metrics()),
    );
  }, 120_000);
});

it('is one price of a node in every output, and the fee is apart', async () => {
  await scenario.stop();
  scenario = await startScenario({ ...BRISK, operator: false, env: { ...BRISK.env, LIVE_PAGE: '127.0.0.1:0' } });
  await start();
  await writeFile(join(folder, 'kubeconfig'), scenario.world.kube.kubeconfig());
  const web = deployment('web', 1, {}, { cpu: '1500m', memory: '512Mi' });
  await scenario.apply(...scenario.example('ec2nodeclass.yaml'), pool({ cpus: [2] }), budgetFor('web', 0), web);
  await scenario.until('a running pod', async () => (await scenario.running('web')).length === 1);
  const { nodes, price, planning } = await scenario.until('a cost with the pod', async () => {
    const found = await served();
    return found.nodes.some(({ pods }) => pods === 1) && found;
  });
  const [node] = nodes;
  const usd = node?.usdPerHour ?? 0;
  expect(price.volumesUsdPerHour).toBeGreaterThan(0);
  expect(usd).toBeCloseTo(price.instancesUsdPerHour + price.volumesUsdPerHour + price.publicIpv4UsdPerHour, 8);
  expect(planning.feesUsdPerHour).toBe(0.015);

  const objects = async (...kinds: readonly Kind[]) =>
    (
      await Promise.all(
        kinds.map(async (kind) => {
          const { items } = await scenario.kube.list(kind);
          return items.map((item) => ({ ...item, apiVersion: apiVersionOf(kind), kind: kind.kind }));
        }),
      )
    ).flat();
  const written = async (name: string, items: readonly object[]): Promise<string> => {
    const path = join(folder, name);
    await writeFile(path, JSON.stringify({ apiVersion: 'v1', kind: 'List', items }));
    return path;
  };
  const own = await objects(NODE_POOL, EC2_NODE_CLASS);
  const [empty, pending] = [
    await written('empty.json', [...own, ...(await objects(NODE, NODE_CLAIM))]),
    await written('pending.json', [...own, web]),
  ];
  const server = `http://127.0.0.1:${port}`;
  const url = String(scenario.log.find(({ message }) => message === 'serving the live page')?.url);
  const [nodeClass] = (await scenario.kube.list(EC2_NODE_CLASS)).items as readonly EC2NodeClass[];
  const { instances, spending } = scenario.world.aws;
  const simulated = (...args: readonly string[]) =>
    printed<never>(simulateCommand(), ...args, '--instance-types', server, '--now', clockText());
  const clockText = (): string => new Date(scenario.world.clock.now() + 600_000).toISOString();
  const plan = (await simulated('-f', pending)) as SimulationAnswer;
  const disruption = (await simulated('--disruption', '-f', empty)) as DisruptionAnswer;
  const figures = {
    cost: (await printed<CostNow>(costCommand('test'), ...asking())).total.usdPerHour,
    'cost of the cluster': (
      await printed<CostNow>(
        costCommand('test'),
        ...['--kubeconfig', join(folder, 'kubeconfig'), '--instance-types', server],
      )
    ).total.usdPerHour,
    report: (await printed<SupportReport>(reportCommand(), ...asking(), ...AHEAD)).now.usdPerHour,
    blockers: (await printed<readonly NodeBlockers[]>(blockersCommand(), '--all', ...asking()))[0]?.usdPerHour,
    'explain nodeclaim': (
      await printed<NodeClaimExplanation>(explainNodeClaimCommand(), node?.nodeClaim ?? '', ...asking())
    ).launched?.usdPerHour,
    'launch decision': (await history()).decisions.flatMap((each) =>
      each.kind === 'bought' ? [each.usdPerHour] : [],
    )[0],
    demo: new Bills({ instances, spending, nodeClass: () => nodeClass }).usdPerHour,
    simulate: plan.totalBilledPrice,
    'savings of its deletion': disruption.first?.commands[0]?.savings,
    'nodes before the disruption': disruption.end?.before.billedPrice,
  };
  expect(plan.nodeClaims).toMatchObject([{ cheapest: node?.instanceType, price: price.instancesUsdPerHour }]);
  expect(figures).toEqual(Object.fromEntries(Object.keys(figures).map((name) => [name, expect.closeTo(usd, 5)])));
  await scenario.until('the same price on the live page', async () => {
    const { node: row } = (await (await fetch(new URL(`/api/node?name=${node?.node}`, url))).json()) as LiveDetails;
    return Math.abs((row.usdPerHour ?? 0) - usd) < 1e-8;
  });
  await scenario.until('the metrics', async () => {
    const text = await scenario.metrics();
    const value = (name: string): number =>
      Number(
        text
          .split('\n')
          .find((line) => line.startsWith(name))
          ?.split(' ')[1],
      );
    return (
      Math.abs(value('karpenter_nodepools_cost_usd_per_hour{nodepool="default",part="effective"}') - usd) < 1e-6 &&
      Math.abs(value('karpenter_nodepools_cost_total{nodepool="default"}') - price.instancesUsdPerHour) < 1e-6
    );
  });
}, 120_000);

it('includes the same surplus CPU credits of a burstable node in every view', async () => {
  await scenario.stop();
  scenario = await startScenario({ ...BRISK, operator: false, env: { LIVE_PAGE: '127.0.0.1:0' } });
  await start();
  const nodePool = pool({ cpus: [2], categories: ['t'] });
  const web = deployment('web', 1, {}, { cpu: '1500m', memory: '512Mi' });
  await scenario.apply(...scenario.example('ec2nodeclass.yaml'), nodePool, web);
  await scenario.until('a running pod', async () => (await scenario.running('web')).length === 1);
  const report = await scenario.until('a cost with the pod', async () => {
    const found = await served();
    return found.nodes.some(({ pods }) => pods === 1) && found;
  });
  // 0.7 of 1.5 vCPU is used, t3a.small includes 0.4 vCPU, and a vCPU-hour costs $0.05
  const surplus = (1.5 * 0.7 - 0.4) * 0.05;
  expect(report.groups.instanceType.map(({ name }) => name)).toEqual(['t3a.small']);
  expect(report.planning.surplusCreditsUsdPerHour).toBeCloseTo(surplus, 9);
  const { instancesUsdPerHour, volumesUsdPerHour, publicIpv4UsdPerHour } = report.price;
  expect(report.total.usdPerHour).toBeCloseTo(instancesUsdPerHour + volumesUsdPerHour + publicIpv4UsdPerHour, 8);

  const url = String(scenario.log.find(({ message }) => message === 'serving the live page')?.url);
  const [node] = report.nodes;
  await scenario.until('the same price on the live page', async () => {
    const { node: row } = (await (await fetch(new URL(`/api/node?name=${node?.node}`, url))).json()) as LiveDetails;
    const isSame = Math.abs((row.usdPerHour ?? 0) - (node?.usdPerHour ?? 1)) < 1e-8;
    return isSame && Math.abs((row.surplusCreditsUsdPerHour ?? 0) - surplus) < 1e-8;
  });
  await scenario.until('the same price as a metric', async () => {
    const text = await scenario.metrics();
    const part = /karpenter_nodepools_cost_usd_per_hour{nodepool="default",part="surplus"} (.+)/.exec(text)?.[1];
    return Math.abs(Number(part) - surplus) < 1e-8;
  });
  const printedReport = await printed<SupportReport>(reportCommand(), ...asking(), ...AHEAD);
  expect(strictly(REPORT, printedReport)).toEqual([]);
  expect(printedReport.now.surplusCreditsUsdPerHour).toBeCloseTo(surplus, 9);
}, 120_000);

describe('the history', () => {
  it('survives a restart of the operator, and a report contains a consolidation', async () => {
    await outgrow(scenario, { cpus: [2, 4, 8] }, { nodes: 2, small: 3 }, async () => {
      await scenario.restartOperator(() => scenario.apply(pool({ cpus: [2, 4, 8] })));
    });
    await scenario.until(
      'one node in place of two',
      async () => scenario.instances().length === 1 && (await scenario.running('small')).length === 3,
      60_000,
    );
    const before = await scenario.until('a decision to disrupt', async () => {
      const found = (await scenario.debug('history')) as HistoryView;
      return found.decisions.some(({ kind }) => kind === 'disrupted') && found;
    });
    // launched before the restart within `outgrow`, and replaced after it
    expect(before.decisions.map(({ kind }) => kind)).toEqual([
      ...['leader', 'bought', 'bought'],
      ...['leader', 'bought', 'disrupted'],
    ]);
    expect(before.decisions.at(-1)).toMatchObject({ decision: 'replace', nodes: 2, replacements: 1, pods: 3 });

    await scenario.pass(31 * MINUTE, 180);
    const ended = await scenario.until('what it saved', async () => {
      const last = (await history()).decisions.findLast(({ kind }) => kind === 'disrupted');
      return last?.kind === 'disrupted' && last.outcome !== undefined && last;
    });
    expect(ended.outcome?.realisedUsd).toBeLessThan(ended.outcome?.predictedUsd ?? 0);
    expect(ended.outcome?.realisedUsd).toBeGreaterThan(0);

    port = (await scenario.restartOperator()).metricsPort;
    const kept = (await scenario.kube.list(CONFIG_MAP)).items.find(({ metadata }) => metadata.name === NAME);
    expect(kept?.metadata.namespace).toBe('kube-system');
    expect(kept?.metadata.labels).toEqual({ [DOCUMENT_LABEL]: NAME });
    const after = await scenario.until('the history', async () => {
      const found = await history();
      return found.decisions.some(({ kind }) => kind === 'disrupted') && found;
    });
    expect(after.decisions).toContainEqual(ended);

    const report = await printed<SupportReport>(reportCommand(), ...asking(), ...AHEAD);
    expect(strictly(REPORT, report)).toEqual([]);
    expect(report).toMatchObject({
      purchases: { nodes: 3, replacements: 1, failed: 0 },
      moves: { moves: 1, nodes: 2, pods: 3, ended: 1, undone: 0, realisedUsd: ended.outcome?.realisedUsd },
      podsDisturbed: 3,
      now: { nodes: 1 },
    });
    expect(report.wasteful).toHaveLength(1);
    const spent = await printed<CostHistory>(costCommand('test'), '--history', '--per', 'hour', ...asking(), ...AHEAD);
    expect(strictly(COST_HISTORY, spent)).toEqual([]);
    expect(spent.total.usd).toBeGreaterThan(0);
    const fromCluster = await printed<CostHistory>(
      costCommand('test'),
      ...['--history', '--per', 'hour', '--kubeconfig', join(folder, 'kubeconfig'), ...AHEAD],
    );
    // an hour that has just begun is not written yet
    const written = fromCluster.points.map(({ at }) => at);
    expect(written.length).toBeGreaterThan(0);
    expect(written).toEqual(spent.points.map(({ at }) => at).slice(0, written.length));
  }, 300_000);

  it('is logged once and started afresh if its document is corrupt', async () => {
    await scenario.stop();
    scenario = await startScenario({ ...BRISK, operator: false });
    const metadata = { name: NAME, namespace: 'kube-system', labels: { [DOCUMENT_LABEL]: NAME } };
    const binaryData = { 'document.json.gz': 'bm8gZ3ppcA==' };
    await scenario.kube.create(CONFIG_MAP, { apiVersion: 'v1', kind: 'ConfigMap', metadata, binaryData });
    await start();
    await scenario.apply(...scenario.example('ec2nodeclass.yaml'), pool({ cpus: [2] }), deployment('web', 1));
    await scenario.until('a running pod', async () => (await scenario.running('web')).length === 1);
    await scenario.pass(11 * MINUTE);
    const lines = scenario.log.filter(({ message }) => message.includes('starting with an empty one'));
    expect(lines).toEqual([expect.objectContaining({ level: 'ERROR', remedy: expect.any(String) })]);
    port = (await scenario.restartOperator()).metricsPort;
    await scenario.until('the history', async () => (await history()).decisions.some(({ kind }) => kind === 'bought'));
  }, 120_000);
});
