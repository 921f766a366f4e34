/** What a cluster of 1,000 nodes and 20,000 pods costs whoever scrapes it, and the event loop that answers. */
import { beforeAll, describe, expect, it } from '@jest/globals';
import { seriesBudget } from '../../../../src/observe/metric-views.ts';
import type { Metrics } from '../../../../src/observe/metrics.ts';
import { inSteps } from '../../../../src/observe/rendered-answer.ts';
import { measuredCluster } from './large-cluster.ts';

const SIZE = { nodes: 1_000, pods: 20_000 };
/** What does not grow with the cluster: controllers, queues, calls. `test/operator/metrics.test.ts` counts them. */
const BASE = seriesBudget(0);

const seriesOf = (text: string): readonly string[] =>
  text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
const named = (series: readonly string[], name: string): readonly string[] =>
  series.filter((line) => line.startsWith(`${name}{`));
const total = (series: readonly string[]): number =>
  series.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' ') + 1)), 0);

describe('the metrics of a large cluster', () => {
  let metrics: Metrics;
  let series: readonly string[];
  beforeAll(async () => {
    metrics = await measuredCluster(SIZE, 'budget');
    series = seriesOf(await metrics.text());
  });

  it('stay within their budget by default', () => {
    expect(series.length).toBeLessThanOrEqual(seriesBudget(SIZE.nodes) - BASE);
    expect(new Set(series.map((line) => line.slice(0, line.lastIndexOf(' ')))).size).toBe(series.length);
  });

  it('are all there when all are wanted', async () => {
    const all = seriesOf(await (await measuredCluster({ nodes: 20, pods: 400 }, 'karpenter')).text());
    expect(named(all, 'karpenter_pods_state')).toHaveLength(400);
    expect(named(all, 'operator_node_status_condition_count')).toHaveLength(20 * 4);
    expect(named(all, 'operator_status_condition_count').length).toBeGreaterThan(20 * 4);
    expect(named(all, 'karpenter_cloudprovider_instance_type_offering_available')).toHaveLength(700 * 9);
    expect(named(all, 'karpenter_nodes_allocatable').filter((line) => line.includes('ephemeral_storage'))).toHaveLength(
      20,
    );
  });

  it('count by default as many pods, nodes and conditions as there are', () => {
    expect(total(named(series, 'karpenter_pods_state'))).toBe(SIZE.pods);
    expect(total(named(series, 'operator_node_status_condition_count'))).toBe(4 * SIZE.nodes);
    expect(total(named(series, 'operator_nodeclaim_status_condition_count'))).toBe(4 * SIZE.nodes);
    const allocatable = named(series, 'karpenter_nodes_allocatable');
    expect(total(allocatable.filter((line) => line.includes('resource_type="cpu"')))).toBeCloseTo(15.9 * SIZE.nodes, 3);
    expect(total(allocatable.filter((line) => line.includes('resource_type="nvidia.com/gpu"')))).toBe(SIZE.nodes);
  });

  it('are read in steps that hold nobody up', async () => {
    await inSteps(metrics.parts());
    const turns = watchTurns();
    const pieces = await inSteps(metrics.parts());
    const { longestMs, count } = turns.stop();
    expect(Buffer.concat(pieces).length).toBeGreaterThan(1_000_000);
    expect(count).toBeGreaterThan(10);
    // 10 ms or less, and what the collector of garbage takes of a turn
    expect(longestMs).toBeLessThan(30);
  });
});

/** Processor time of the longest turn of the event loop: what other processes take from this one is left out. */
function watchTurns(): { stop(): { readonly longestMs: number; readonly count: number } } {
  const usedMs = (): number => {
    const { user, system } = process.threadCpuUsage();
    return (user + system) / 1_000;
  };
  let [longestMs, count, beganMs] = [0, 0, usedMs()];
  const look = (): void => {
    const nowMs = usedMs();
    longestMs = Math.max(longestMs, nowMs - beganMs);
    count += 1;
    beganMs = nowMs;
    next = setImmediate(look);
  };
  let next = setImmediate(look);
  return {
    stop() {
      clearImmediate(next);
      return { longestMs, count };
    },
  };
}
