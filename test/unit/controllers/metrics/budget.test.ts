/** Cost of a scrape in a cluster of 1,000 nodes and 20,000 pods, for the scraper and for the event loop. */
import { beforeAll, describe, expect, it } from '@jest/globals';
import type { Metrics } from '#observe/metrics';
import { seriesBudget } from '#observe/testing';
import { inSteps } from '#process/testing';
import { measuredCluster } from './large-cluster.ts';

const SIZE = { nodes: 1_000, pods: 20_000 };
/**
 * Series that do not grow with the cluster: controllers, queues, calls. `test/operator/metrics.test.ts` counts them.
 */
const BASE = seriesBudget({ nodes: 0, nodePools: 1 });

const seriesOf = (text: string): readonly string[] =>
  text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
const named = (series: readonly string[], name: string): readonly string[] =>
  series.filter((line) => line.startsWith(`${name}{`));
const total = (series: readonly string[]): number =>
  series.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' ') + 1)), 0);

describe('the set of metrics of a large cluster', () => {
  let metrics: Metrics;
  let series: readonly string[];
  beforeAll(async () => {
    metrics = await measuredCluster(SIZE, 'budget');
    series = seriesOf(await metrics.text());
  });

  it('stays within its budget by default', () => {
    expect(series.length).toBeLessThanOrEqual(seriesBudget({ nodes: SIZE.nodes, nodePools: 1 }) - BASE);
    expect(new Set(series.map((line) => line.slice(0, line.lastIndexOf(' ')))).size).toBe(series.length);
  });

  it('is complete if all are enabled', async () => {
    const all = seriesOf(await (await measuredCluster({ nodes: 20, pods: 400 }, 'karpenter')).text());
    expect(named(all, 'karpenter_pods_state')).toHaveLength(400);
    expect(named(all, 'operator_node_status_condition_count')).toHaveLength(20 * 4);
    expect(named(all, 'operator_status_condition_count').length).toBeGreaterThan(20 * 4);
    expect(named(all, 'karpenter_cloudprovider_instance_type_offering_available')).toHaveLength(700 * 9);
    expect(named(all, 'karpenter_nodes_allocatable').filter((line) => line.includes('ephemeral_storage'))).toHaveLength(
      20,
    );
  });

  it('counts pods, nodes and conditions by default', () => {
    expect(total(named(series, 'karpenter_pods_state'))).toBe(SIZE.pods);
    expect(total(named(series, 'operator_node_status_condition_count'))).toBe(4 * SIZE.nodes);
    expect(total(named(series, 'operator_nodeclaim_status_condition_count'))).toBe(4 * SIZE.nodes);
    const allocatable = named(series, 'karpenter_nodes_allocatable');
    expect(total(allocatable.filter((line) => line.includes('resource_type="cpu"')))).toBeCloseTo(15.9 * SIZE.nodes, 3);
    expect(total(allocatable.filter((line) => line.includes('resource_type="nvidia.com/gpu"')))).toBe(SIZE.nodes);
  });

  it('is rendered in parts of at most 50 lines, with a pause after every few parts', async () => {
    const lines: number[] = [];
    let [read, turns] = [0, 0];
    const look = (): void => {
      turns += 1;
      next = setImmediate(look);
    };
    let next = setImmediate(look);
    const counted = async function* (): AsyncGenerator<string> {
      for await (const part of metrics.parts()) {
        lines.push(part.split('\n').filter((line) => line !== '' && !line.startsWith('#')).length);
        read += 1;
        yield part;
      }
    };
    // A clock on which each part takes 1 ms.
    const { length } = await inSteps(counted(), () => read);
    clearImmediate(next);
    expect(length).toBeGreaterThan(1_000_000);
    expect(read).toBeGreaterThan(200);
    expect(Math.max(...lines)).toBeLessThanOrEqual(50);
    expect(turns).toBeGreaterThanOrEqual(Math.floor(read / 5));
  });
});
