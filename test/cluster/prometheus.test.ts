/** A Prometheus scrapes the operator in the local world, and evaluates every query of the dashboards and alerts. */
import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { deployment, type Scenario, startScenario } from '../operator/harness.ts';
import { apart } from '../operator/pools.ts';
import { queries, RULES_FILE, ruleName, rules, seriesIn } from '../support/queries.ts';
import { eventually } from './harness/processes.ts';
import { type Prometheus, prometheusBinaries, startPrometheus } from './harness/prometheus.ts';

/** Metrics of events that do not occur in this test, or of a separate process. */
const NOT_HERE = [
  'karpenter_capacity_reservations_idle_usd_per_day',
  'karpenter_cloudprovider_instance_launch_failures_total',
  'karpenter_cloudprovider_instance_type_price_estimated',
  'karpenter_engine_worker_restarts_total',
  'karpenter_memory_limit_bytes',
  'karpenter_memory_near_limit',
  'karpenter_nodepools_launch_back_off_seconds',
  'karpenter_nodepools_rollout_drifted_nodes',
  'karpenter_voluntary_disruption_moves_total',
  'karpenter_voluntary_disruption_savings_usd',
  'leader_election_master_status',
];

describe('a Prometheus', () => {
  let folder: string;
  let scenario: Scenario;
  let prometheus: Prometheus;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'karpenter-prometheus-'));
    scenario = await startScenario({ operator: false });
    const operator = await scenario.startOperator();
    operator.metrics.processDefaults();
    prometheus = await startPrometheus(folder, operator.metricsPort);
    await comeAndGo(scenario);
    await scraped(prometheus);
  }, 300_000);
  afterAll(async () => {
    await prometheus?.stop();
    await scenario?.stop();
    await rm(folder, { recursive: true, force: true });
  }, 60_000);

  it('scrapes the operator without an error, and accepts every series', async () => {
    const { activeTargets } = await prometheus.get<{ activeTargets: { health: string; lastError: string }[] }>(
      'targets',
    );
    expect(activeTargets).toMatchObject([{ health: 'up', lastError: '' }]);
    const value = async (query: string): Promise<number> => {
      const { result } = await prometheus.get<{ result: { value: [number, string] }[] }>('query', { query });
      return Number(result[0]?.value[1]);
    };
    // One query, as the number of series changes between two scrapes.
    expect(await value('scrape_samples_scraped - on (instance) karpenter_metrics_series')).toBe(0);
  });

  it('has every metric that is queried', async () => {
    const names = new Set(await prometheus.get<string[]>('label/__name__/values'));
    const asked = new Set(queries().flatMap(({ expr }) => seriesIn(expr)));
    expect([...asked].filter((name) => !names.has(name) && !NOT_HERE.includes(name))).toEqual([]);
  });

  it.each(queries().map(({ of, expr }) => [of, expr] as const))('evaluates "%s": %s', async (_, query) => {
    const { resultType } = await prometheus.get<{ resultType: string }>('query', { query });
    expect(resultType).toBe('vector');
  });

  it('evaluates the rules without an alert', async () => {
    const { prometheus: path, promtool } = await prometheusBinaries();
    expect(path).not.toBe('');
    const { stdout } = await promisify(execFile)(promtool, ['check', 'rules', RULES_FILE]);
    expect(stdout).toContain(`SUCCESS: ${rules().length} rules found`);
    const { groups } = await prometheus.get<{ groups: { rules: { name: string; health: string; state: string }[] }[] }>(
      'rules',
    );
    const evaluated = groups.flatMap((group) => group.rules);
    expect(evaluated.map(({ name, health, state }) => ({ name, health, isFiring: state === 'firing' }))).toEqual(
      rules().map((rule) => ({ name: ruleName(rule), health: 'ok', isFiring: false })),
    );
  });
});

/** Launches, interrupts and terminates nodes, so that every metric has samples. */
async function comeAndGo(scenario: Scenario): Promise<void> {
  await scenario.apply(...scenario.example('ec2nodeclass.yaml'), ...scenario.example('nodepool.yaml'));
  await scenario.apply(...scenario.example('features/ceilings.yaml'));
  await scenario.apply(deployment('web', 3, apart('web')));
  await scenario.until('3 running pods', async () => (await scenario.running('web')).length === 3);
  const spot = scenario.instances().find(({ capacityType }) => capacityType === 'spot');
  if (spot === undefined) throw new Error('no spot instance was bought');
  scenario.world.aws.faults.interrupt(spot.id);
  await scenario.until('the interrupted instance to go', () => !scenario.instances().some(({ id }) => id === spot.id));
  await scenario.until('3 running pods', async () => (await scenario.running('web')).length === 3);
  await scenario.scale('web', 2);
  await scenario.until('two nodes', async () => (await scenario.claims()).length === 2, 60_000);
}

/** Waits for two scrapes of the current state, so that rates can be computed. */
async function scraped(prometheus: Prometheus): Promise<void> {
  const query = 'count_over_time(karpenter_nodes_terminated_total[5m]) > 3';
  await eventually(
    'scrapes of the nodes that went',
    async () =>
      (await prometheus.get<{ result: unknown[] }>('query', { query })).result.length > 0 ? true : undefined,
    60_000,
  );
}
