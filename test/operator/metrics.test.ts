/** What whoever scrapes the operator is served, over real HTTP. */
import { afterEach, describe, expect, it } from '@jest/globals';
import { deployment, type Scenario, startScenario } from './harness.ts';
import { apart } from './pools.ts';

let scenario: Scenario | undefined;
afterEach(async () => {
  await scenario?.stop();
  scenario = undefined;
});

/** Three nodes with a pod each, scraped with the metrics of a process of its own. */
async function threeNodes(env: Readonly<Record<string, string>>) {
  const started = await startScenario({ operator: false, env });
  scenario = started;
  const operator = await started.startOperator();
  operator.metrics.processDefaults();
  await started.apply(...started.example('ec2nodeclass.yaml'), ...started.example('nodepool.yaml'));
  await started.apply(deployment('web', 3, apart('web')));
  await started.until('3 running pods', async () => (await started.running('web')).length === 3);
  await started.pass(120_000);
  expect(await started.nodes()).toHaveLength(3);
  return { started, text: await started.metrics() };
}

const seriesOf = (text: string): readonly string[] =>
  text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));

describe('a scrape of a cluster with 3 nodes', () => {
  it('has at most 3,000 series, and says how many', async () => {
    const { started, text } = await threeNodes({});
    const series = seriesOf(text);
    // the threads' metrics of a process with workers are the only ones that are not here
    expect(series.length).toBeLessThan(2_900);
    expect(text).toContain(`\nkarpenter_metrics_series ${series.length}\n`);
    expect(text).toContain('\nkarpenter_metrics_series_budget 3000\n');
    expect(new Set(series.map((line) => line.slice(0, line.lastIndexOf(' ')))).size).toBe(series.length);
    const sold = new Set(text.match(/(?<=offering_price_estimate\{instance_type=")[^"]+/g));
    const used = new Set(started.instances().map(({ type }) => type));
    expect(sold).toEqual(used);

    // the rest is there for those who look
    const listed = (await started.debug('metrics')) as { readonly name: string; readonly series: number }[];
    const price = listed.find(({ name }) => name === 'karpenter_cloudprovider_instance_type_offering_price_estimate');
    expect(price?.series).toBeGreaterThan(5_000);
  });

  it('has every series of Karpenter when METRICS=karpenter', async () => {
    const { text } = await threeNodes({ METRICS: 'karpenter' });
    expect(seriesOf(text).length).toBeGreaterThan(15_000);
    expect(text.match(/^karpenter_pods_state\{/gm)?.length).toBeGreaterThanOrEqual(3);
    expect(text).toContain('operator_status_condition_count{');
    expect(text).not.toContain('karpenter_metrics_series_budget');
  });
});
